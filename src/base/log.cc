#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <mutex>
#include <poll.h>
#include <unistd.h>

#include "absl/strings/str_format.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/time_text.h"

namespace podgpu {
namespace {

// Level and form, set once by main.cc, and the count of dropped lines.
struct LogSettings {
  std::atomic<LogLevel> lowest{LogLevel::kInfo};
  std::atomic<LogForm> form{LogForm::kText};
  std::atomic<uint64_t> dropped{0};
  std::mutex writing;
  uint64_t told = 0;    // Part of `dropped`; `writing` guards it and is_cut.
  bool is_cut = false;  // The last line was written in part.
};

LogSettings& Settings() {
  static LogSettings settings;
  return settings;
}

constexpr std::string_view LevelName(LogLevel level) {
  constexpr std::string_view kNames[] = {"DEBUG", "INFO", "WARN", "ERROR"};
  return kNames[static_cast<size_t>(level)];
}

// Returns for example "2026-11-24T12:00:00.250Z".
std::string Stamp(int64_t unix_ms) {
  std::string text = Rfc3339(unix_ms / 1000);
  text.pop_back();
  return absl::StrFormat("%s.%03dZ", text, unix_ms % 1000);
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

// Writes to standard error what it takes at once; returns the number of bytes.  A pipe is reported
// as writable only while it takes PIPE_BUF bytes, so a longer text is written in parts.  Setting
// O_NONBLOCK instead would change the descriptor for every process that shares it.
size_t WriteAtOnce(std::string_view text) {
  size_t written = 0;
  while (written < text.size()) {
    pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) {
      break;
    }
    const std::string_view part = text.substr(written, PIPE_BUF);
    const ssize_t count = ::write(STDERR_FILENO, part.data(), part.size());
    if (count < 0) {
      break;
    }
    written += static_cast<size_t>(count);
  }
  return written;
}

}  // namespace

uint64_t DroppedLogLines() { return Settings().dropped; }

void ConfigureLog(LogLevel lowest, LogForm form) {
  Settings().lowest = lowest;
  Settings().form = form;
}

std::string FormatLogLine(LogForm form, LogLevel level, int64_t unix_ms, std::string_view message,
                          std::initializer_list<LogAttribute> attributes) {
  std::string line;
  if (form == LogForm::kJson) {
    line = absl::StrFormat("{\"time\":\"%s\",\"level\":\"%s\",\"msg\":%s", Stamp(unix_ms),
                           LevelName(level), QuoteValue(message));
    for (const LogAttribute& attribute : attributes) {
      absl::StrAppendFormat(&line, ",%s:%s", QuoteValue(attribute.key),
                            QuoteValue(attribute.value));
    }
    return line + "}\n";
  }
  line = absl::StrFormat("time=%s level=%s msg=%s", Stamp(unix_ms), LevelName(level),
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
  LogSettings& settings = Settings();
  const std::string line = FormatLogLine(settings.form, level, unix_ms, message, attributes);
  const std::scoped_lock lock(settings.writing);
  const uint64_t untold = settings.dropped - settings.told;
  std::string text = settings.is_cut ? "\n" : "";
  if (untold > 0) {
    text += FormatLogLine(settings.form, LogLevel::kWarn, unix_ms,
                          "log lines were dropped, since nothing read them",
                          {{"lines", std::to_string(untold)}});
  }
  const size_t head = text.size();
  text += line;
  const size_t written = WriteAtOnce(text);
  settings.told += written >= head ? untold : 0;
  settings.dropped += written < text.size() ? 1 : 0;
  settings.is_cut = written < text.size() && (settings.is_cut || written > 0);
}

}  // namespace podgpu
