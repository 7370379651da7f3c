#include "process/proc_stat.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/text.h"

namespace podgpu {
namespace {

constexpr size_t kLongestNameBytes =
    64;  // The kernel's own names end at 63, those of others at 15.

// Returns the text after `key` on its line.
std::optional<std::string_view> ValueOf(std::string_view text, std::string_view key) {
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with(key)) {
      return Trim(line.substr(key.size()));
    }
  }
  return std::nullopt;
}

// Returns the last of several words as a number.
std::optional<uint32_t> LastNumber(std::string_view words) {
  const size_t last = words.find_last_of("\t ");
  if (last == std::string_view::npos) {
    return std::nullopt;
  }
  const std::optional<uint64_t> number = ParseDecimal(words.substr(last + 1));
  if (!number || *number > std::numeric_limits<uint32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(*number);
}

// Returns at most `limit` bytes of `text`, without an incomplete character at the end.
std::string_view CutBytes(std::string_view text, size_t limit) {
  if (text.size() <= limit) {
    return text;
  }
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) {
    --limit;
  }
  return text.substr(0, limit);
}

}  // namespace

std::optional<ProcStat> ParseProcStat(std::string_view text) {
  constexpr size_t kStartIndex = 22 - 3;  // Fields count from 1; the first behind the name is 3.
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  const std::vector<std::string_view> fields = Split(Trim(text.substr(close + 1)), ' ');
  if (fields.size() <= kStartIndex) {
    return std::nullopt;
  }
  const std::optional<uint64_t> start_ticks = ParseDecimal(fields[kStartIndex]);
  if (!start_ticks) {
    return std::nullopt;
  }
  return ProcStat{.name = text.substr(open + 1, close - open - 1), .start_ticks = *start_ticks};
}

std::optional<uint32_t> ParseInnerPid(std::string_view status) {
  const std::optional<std::string_view> pids = ValueOf(status, "NSpid:");
  return pids ? LastNumber(*pids) : std::nullopt;
}

std::optional<uint32_t> ParseLastPid(std::string_view loadavg) { return LastNumber(Trim(loadavg)); }

std::optional<uint64_t> ParseBootSeconds(std::string_view stat) {
  const std::optional<std::string_view> seconds = ValueOf(stat, "btime ");
  return seconds ? ParseDecimal(*seconds) : std::nullopt;
}

std::string ProcessName(std::string_view comm, std::string_view cmdline) {
  std::string_view name = comm;
  if (Trim(name).empty()) {
    name = cmdline.substr(0, cmdline.find('\0'));
    name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));
  }
  std::string clean = CleanUtf8(name);
  std::ranges::replace_if(
      clean, [](char c) { return (c >= 0 && c < ' ') || c == '\x7F'; }, ' ');
  return std::string(CutBytes(clean, kLongestNameBytes));
}

}  // namespace podgpu
