// The few facts that podgpu takes from files of /proc: pure parsers.
//
// A process chooses its own name, and any process may share a GPU: a name with blanks, parentheses
// and line feeds must neither move a number nor break a page.  Facts: proc(5) of Linux 6.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace podgpu {

struct ProcStat {
  std::string_view name;     // Between the outermost parentheses: raw, borrowed from the text.
  uint64_t start_ticks = 0;  // Field 22: clock ticks since boot.
  bool operator==(const ProcStat&) const = default;
};

// Of /proc/PID/stat; nothing when it is cut short or says something else.
std::optional<ProcStat> ParseProcStat(std::string_view text);

// The pid of the process in the innermost pid namespace, from NSpid of /proc/PID/status, when that
// is not the one that it is looked at from; nothing for a process of the same namespace.
std::optional<uint32_t> ParseInnerPid(std::string_view status);

// When the machine booted, in seconds since 1970, from /proc/stat.
std::optional<uint64_t> ParseBootSeconds(std::string_view stat);

// A name for a label: `comm`, or where a process has made that empty the last element of the
// first word of `cmdline`.  Valid UTF-8 without control characters, at most 64 bytes.
std::string ProcessName(std::string_view comm, std::string_view cmdline);

}  // namespace podgpu
