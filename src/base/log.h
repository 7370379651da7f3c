// One line per event, on standard error: time, level, constant message, attributes.
//
//   time=2026-05-12T13:12:48.123Z level=INFO msg="waiting for the kubelet" socket=/var/lib/...
//   next_look_s=5
//
// `msg` is constant per event and variables are attributes, so operators can search and count log
// lines. The JSON form has the same keys. Callers log a state when it changes and count its repeats
// themselves. Secrets must never be logged. Any thread: each line is one write. A thread that logs
// never waits: while nothing reads a full standard error, lines are dropped and counted, and the
// next line that fits tells how many. Level and form are process-wide, set once in main.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace podgpu {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarn, kError };
enum class LogForm : uint8_t { kText, kJson };

// One attribute of a line. The caller formats numbers as text.
struct LogAttribute {
  std::string_view key;
  std::string value;
};

// Sets the lowest level and the form of the lines; called once, before threads start.
void ConfigureLog(LogLevel lowest, LogForm form);

// Prints one line if `level` is at or above the lowest level.
void Log(LogLevel level, std::string_view message,
         std::initializer_list<LogAttribute> attributes = {});

// Number of lines dropped since the start.
uint64_t DroppedLogLines();

// The line that Log would print at `unix_ms` milliseconds since 1970, newline included.
std::string FormatLogLine(LogForm form, LogLevel level, int64_t unix_ms, std::string_view message,
                          std::initializer_list<LogAttribute> attributes);

}  // namespace podgpu
