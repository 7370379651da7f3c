#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <unistd.h>

#include "absl/strings/str_format.h"

#include "base/clock.h"
#include "base/text.h"

namespace podgpu {
namespace {

// Level and form, set once by main.cc. The only mutable global besides the signal flag.
struct LogSettings {
  std::atomic<LogLevel> lowest{LogLevel::kInfo};
  std::atomic<LogForm> form{LogForm::kText};
};

LogSettings& Settings() {
  static LogSettings settings;
  return settings;
}

constexpr std::string_view LevelName(LogLevel level) {
  constexpr std::string_view kNames[] = {"DEBUG", "INFO", "WARN", "ERROR"};
  return kNames[static_cast<size_t>(level)];
}

std::string Rfc3339(int64_t unix_ms) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                         parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                         unix_ms % 1000);
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// Both forms use the same escapes: backslash, quote, and control bytes that would break the line.
std::string QuoteValue(std::string_view text) {
  std::string out = "\"";
  for (const char c : CleanUtf8(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (IsControl(c)) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string QuoteIfNeeded(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return !IsControl(c) && c != ' ' && c != '"' && c != '=' && c != '\\';
  });
  return plain ? CleanUtf8(text) : QuoteValue(text);
}

}  // namespace

void ConfigureLog(LogLevel lowest, LogForm form) {
  Settings().lowest = lowest;
  Settings().form = form;
}

std::string FormatLogLine(LogForm form, LogLevel level, int64_t unix_ms, std::string_view message,
                          std::initializer_list<LogAttribute> attributes) {
  std::string line;
  if (form == LogForm::kJson) {
    line = absl::StrFormat("{\"time\":\"%s\",\"level\":\"%s\",\"msg\":%s", Rfc3339(unix_ms),
                           LevelName(level), QuoteValue(message));
    for (const LogAttribute& attribute : attributes) {
      absl::StrAppendFormat(&line, ",%s:%s", QuoteValue(attribute.key),
                            QuoteValue(attribute.value));
    }
    return line + "}\n";
  }
  line = absl::StrFormat("time=%s level=%s msg=%s", Rfc3339(unix_ms), LevelName(level),
                         QuoteValue(message));
  for (const LogAttribute& attribute : attributes) {
    absl::StrAppendFormat(&line, " %s=%s", attribute.key, QuoteIfNeeded(attribute.value));
  }
  return line + "\n";
}

void Log(LogLevel level, std::string_view message, std::initializer_list<LogAttribute> attributes) {
  if (level < Settings().lowest) {
    return;
  }
  const int64_t unix_ms = ToMicroseconds(SystemClock().WallNow()) / 1000;
  const std::string line = FormatLogLine(Settings().form, level, unix_ms, message, attributes);
  // A full or closed standard error must not stop the program, so a failed write is ignored.
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) {
    return;
  }
}

}  // namespace podgpu
