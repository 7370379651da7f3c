#include "sim/program/units.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace podgpu::sim {
namespace {

struct Unit {
  std::string_view name;
  int64_t microseconds;
};

// Longer names come before their own endings.
constexpr std::array<Unit, 5> kUnits = {
    {{"min", 60'000'000}, {"us", 1}, {"ms", 1'000}, {"s", 1'000'000}, {"h", 3'600'000'000}}};

constexpr uint64_t kMaxSpeed = 1'000'000;
constexpr uint64_t kMaxTime =
    1'000'000'000;  // In any unit; in hours it is a hundred thousand years.
constexpr size_t kMaxFractionDigits = 9;

// `digits` as a fraction of `unit`; empty when the result is not a whole number.
std::optional<int64_t> ParseFraction(std::string_view digits, int64_t unit) {
  const std::optional<uint64_t> number = ParseDecimal(digits);
  if (!number || digits.size() > kMaxFractionDigits) {
    return std::nullopt;
  }
  int64_t scale = 1;
  for (size_t i = 0; i < digits.size(); ++i) {
    scale *= 10;
  }
  const Int128 scaled = Int128{static_cast<int64_t>(*number)} * unit;
  if (scaled % scale != 0) {
    return std::nullopt;
  }
  return static_cast<int64_t>(scaled / scale);
}

}  // namespace

std::optional<TimeUs> ParseTime(std::string_view text) {
  const auto* const unit = std::find_if(
      kUnits.begin(), kUnits.end(), [text](const Unit& one) { return text.ends_with(one.name); });
  if (unit == kUnits.end()) {
    return std::nullopt;
  }
  const std::string_view number = text.substr(0, text.size() - unit->name.size());
  const size_t point = number.find('.');
  const std::optional<uint64_t> whole = ParseDecimal(number.substr(0, point));
  if (!whole || *whole > kMaxTime) {
    return std::nullopt;
  }
  const std::optional<int64_t> fraction =
      point == std::string_view::npos ? 0
                                      : ParseFraction(number.substr(point + 1), unit->microseconds);
  if (!fraction) {
    return std::nullopt;
  }
  return static_cast<int64_t>(*whole) * unit->microseconds + *fraction;
}

std::optional<Speed> ParseSpeed(std::string_view text) {
  const size_t slash = text.find('/');
  const std::optional<uint64_t> numerator = ParseDecimal(text.substr(0, slash));
  const std::optional<uint64_t> denominator =
      slash == std::string_view::npos ? 1 : ParseDecimal(text.substr(slash + 1));
  if (!numerator || *numerator < 1 || *numerator > kMaxSpeed || !denominator || *denominator < 1 ||
      *denominator > kMaxSpeed) {
    return std::nullopt;
  }
  return Speed{static_cast<int64_t>(*numerator), static_cast<int64_t>(*denominator)};
}

std::string FormatTime(TimeUs t) {
  std::string text = std::to_string(t / 1'000'000);
  std::string fraction = std::to_string(t % 1'000'000);
  if (fraction != "0") {
    fraction.insert(0, 6 - fraction.size(), '0');
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += "." + fraction;
  }
  return text + "s";
}

std::string FormatInteger(Int128 number) {
  __extension__ using Unsigned = unsigned __int128;
  const bool negative = number < 0;
  Unsigned rest = negative ? -static_cast<Unsigned>(number) : static_cast<Unsigned>(number);
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  if (negative) {
    digits.push_back('-');
  }
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace podgpu::sim
