// Pure parsers for the few facts that podgpu takes from files of /proc.
//
// A process chooses its own name, and any process may share a GPU: blanks, parentheses and line
// feeds in a name must neither shift a number nor break a page. Based on proc(5) of Linux 6.1.
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

// Parses /proc/PID/stat; returns nothing when it is incomplete or malformed.
std::optional<ProcStat> ParseProcStat(std::string_view text);

// Parses NSpid of /proc/PID/status. Returns the pid in the innermost pid namespace; nothing for a
// process of the reader's own namespace.
std::optional<uint32_t> ParseInnerPid(std::string_view status);

// Parses the boot time in /proc/stat, in seconds since 1970.
std::optional<uint64_t> ParseBootSeconds(std::string_view stat);

// Parses /proc/loadavg. Returns its last word: the pid that the kernel gave out last.
std::optional<uint32_t> ParseLastPid(std::string_view loadavg);

// Returns a name for a label: `comm`, or, if the process has emptied that, the last path element of
// the first word of `cmdline`. Valid UTF-8 without control characters, at most 64 bytes.
std::string ProcessName(std::string_view comm, std::string_view cmdline);

}  // namespace podgpu
