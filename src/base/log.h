// One line per event, on standard error: time, level, constant message, attributes.
//
//   time=2026-05-12T13:12:48.123Z level=INFO msg="waiting for the kubelet" socket=/var/lib/...
//   next_look_s=5
//
// `msg` is constant per event and variables are attributes, so that logs can be searched and
// counted; the JSON form carries the same keys.  Repeats of one state are the caller's to count (a
// state is logged when it changes). Secrets never come here.  Any thread: each line is one write.
// Level and form are process-wide, set once in main.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace podgpu {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarn, kError };
enum class LogForm : uint8_t { kText, kJson };

// One attribute of a line.  Numbers are given as text by the maker.
struct LogAttribute {
  std::string_view key;
  std::string value;
};

// Sets what is printed and how; called once, before threads start.
void ConfigureLog(LogLevel lowest, LogForm form);

// Prints one line if `level` is at or above the lowest level.
void Log(LogLevel level, std::string_view message,
         std::initializer_list<LogAttribute> attributes = {});

// The line that Log would print at `unix_ms` milliseconds since 1970, newline included.
std::string FormatLogLine(LogForm form, LogLevel level, int64_t unix_ms, std::string_view message,
                          std::initializer_list<LogAttribute> attributes);

}  // namespace podgpu
