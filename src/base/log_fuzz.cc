// A log line from any message and attribute. Invariants of both forms: one line of valid UTF-8
// without control characters. A JSON parser gets back the message and the value that went in.
// Input: message and value, separated by the first zero byte.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/status.h"
#include "base/text.h"

namespace {

using podgpu::LogForm;

// Returns the control character that JSON writes as \uXXXX.
char ControlOf(std::string_view digits) {
  unsigned value = 0;
  const auto [next, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  PODGPU_CHECK(error == std::errc{} && next == digits.data() + 4 && value < 0x80);
  return static_cast<char>(value);
}

// Returns the unescaped JSON string after `key` in `line`.
std::string StringBehind(std::string_view key, std::string_view line) {
  const std::string mark = "\"" + std::string(key) + "\":\"";
  size_t at = line.find(mark);
  PODGPU_CHECK(at != std::string_view::npos);
  std::string text;
  for (at += mark.size(); line.at(at) != '"'; ++at) {
    if (line[at] != '\\') {
      text += line[at];
      continue;
    }
    const char escape = line.at(++at);
    if (escape == 'u') {
      text += ControlOf(line.substr(at + 1, 4));
      at += 4;
    } else {
      PODGPU_CHECK(escape == '"' || escape == '\\' || escape == 'n');
      text += escape == 'n' ? '\n' : escape;
    }
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view message = input.substr(0, input.find('\0'));
  const std::string value(input.substr(std::min(message.size() + 1, input.size())));
  for (const LogForm form : {LogForm::kText, LogForm::kJson}) {
    const std::string line = podgpu::FormatLogLine(form, podgpu::LogLevel::kInfo, 1'700'000'000'123,
                                                   message, {{"value", value}});
    PODGPU_CHECK(line.ends_with('\n') && line.find('\n') == line.size() - 1);
    PODGPU_CHECK(std::ranges::none_of(line.substr(0, line.size() - 1),
                                      [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; }));
    PODGPU_CHECK(podgpu::CleanUtf8(line) == line);
    if (form == LogForm::kJson) {
      PODGPU_CHECK(StringBehind("msg", line) == podgpu::CleanUtf8(message));
      PODGPU_CHECK(StringBehind("value", line) == podgpu::CleanUtf8(value));
    }
  }
  return 0;
}
