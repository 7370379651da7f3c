#include "base/go_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace podgpu {
namespace {

struct Based {
  int base;
  std::string_view digits;
};

// Splits off a base prefix with the rules of Go.
Based SplitBase(std::string_view text) {
  constexpr std::pair<char, int> kPrefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};
  if (text.size() > 1 && text[0] == '0') {
    for (const auto& [letter, base] : kPrefixes) {
      if ((text[1] | 0x20) == letter) {
        return {base, text.substr(2)};
      }
    }
    return {8, text.substr(1)};
  }
  return {10, text};
}

// Go allows underscores between digits and after a prefix.
std::optional<std::string> WithoutUnderscores(std::string_view digits, bool after_prefix) {
  std::string plain;
  bool last_was_digit = after_prefix;
  for (const char c : digits) {
    if (c == '_') {
      if (!last_was_digit) {
        return std::nullopt;
      }
      last_was_digit = false;
    } else {
      plain += c;
      last_was_digit = true;
    }
  }
  if (!last_was_digit || plain.empty()) {
    return std::nullopt;
  }
  return plain;
}

}  // namespace

std::optional<int64_t> ParseGoInt(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  if (text == "0") {
    return 0;
  }
  const Based based = SplitBase(text);
  const std::optional<std::string> digits = WithoutUnderscores(based.digits, based.base != 10);
  if (!digits) {
    return std::nullopt;
  }
  // The sign goes back in front, or the smallest 64-bit number would not fit.
  const std::string signed_digits = (negative ? "-" : "") + *digits;
  if (digits->front() == '-' || digits->front() == '+') {
    return std::nullopt;
  }
  int64_t value = 0;
  const char* end = signed_digits.data() + signed_digits.size();
  const auto [next, error] = std::from_chars(signed_digits.data(), end, value, based.base);
  return error == std::errc{} && next == end ? std::optional<int64_t>(value) : std::nullopt;
}

std::optional<bool> ParseGoBool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "true", "TRUE", "True"};
  constexpr std::array<std::string_view, 6> kFalse = {"0", "f", "F", "false", "FALSE", "False"};
  if (std::ranges::count(kTrue, text) > 0) {
    return true;
  }
  if (std::ranges::count(kFalse, text) > 0) {
    return false;
  }
  return std::nullopt;
}

std::optional<std::chrono::nanoseconds> ParseGoDuration(std::string_view text) {
  // Longer names first, so that "ms" is not read as "m".
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ms", 1e6},   {"us", 1e3}, {"\xC2\xB5s", 1e3}, {"ns", 1},
      {"h", 3600e9}, {"m", 60e9}, {"s", 1e9}};
  constexpr double kLongestNs = 9.2e18;
  if (text == "0") {
    return std::chrono::nanoseconds(0);
  }
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  double total_ns = 0;
  do {
    const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view number = text.substr(0, digits);
    double value = 0;
    const auto [next, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc{} || next != number.data() + number.size()) {
      return std::nullopt;
    }
    text.remove_prefix(digits);
    const auto* const unit =
        std::ranges::find_if(kUnits, [&](const auto& row) { return text.starts_with(row.first); });
    if (unit == std::end(kUnits)) {
      return std::nullopt;
    }
    total_ns += value * unit->second;
    text.remove_prefix(unit->first.size());
  } while (!text.empty());
  if (total_ns > kLongestNs) {
    return std::nullopt;
  }
  const std::chrono::nanoseconds duration(static_cast<int64_t>(total_ns));
  return negative ? -duration : duration;
}

}  // namespace podgpu
