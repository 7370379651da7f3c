#include "base/percent.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/text.h"

namespace podgpu {
namespace {

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

}  // namespace

std::string PercentEncode(std::string_view text) {
  constexpr std::string_view kHexDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (IsUnreserved(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += kHexDigits[byte >> 4U];
      encoded += kHexDigits[byte & 15U];
    }
  }
  return encoded;
}

std::string PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  while (!text.empty()) {
    unsigned char byte = 0;
    if (text[0] == '%' && text.size() >= 3) {
      const auto [next, error] = std::from_chars(text.data() + 1, text.data() + 3, byte, 16);
      if (error == std::errc{} && next == text.data() + 3) {
        decoded += static_cast<char>(byte);
        text.remove_prefix(3);
        continue;
      }
    }
    decoded += text[0];
    text.remove_prefix(1);
  }
  return decoded;
}

std::vector<std::pair<std::string_view, std::string>> QueryParameters(std::string_view query) {
  std::vector<std::pair<std::string_view, std::string>> parameters;
  for (const std::string_view parameter : Split(query, '&')) {
    if (parameter.empty()) {
      continue;
    }
    const size_t equals = parameter.find('=');
    std::string value(equals == std::string_view::npos ? "" : parameter.substr(equals + 1));
    std::ranges::replace(value, '+', ' ');
    parameters.emplace_back(parameter.substr(0, equals), PercentDecode(value));
  }
  return parameters;
}

}  // namespace podgpu
