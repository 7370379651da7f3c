// Who a pid is: its start time, its name, its container and pod, from /proc.
//
// NVML tells pids of the host's pid namespace.  They mean something only in a /proc of that
// namespace (hostPID, or a mount of the host's); View() says whether this one is, and every failure
// says which it was: gone, hidden, or not the host's.  Costs some file reads and may wait for a
// kernel lock: for the thread that reads the lists of processes, never for the tick.  Holds no
// state; borrows `files`, which outlives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "process/cgroup_path.h"
#include "process/keys.h"
#include "process/proc_stat.h"

namespace podgpu {

// Which /proc we look at.
enum class ProcView : uint8_t {
  kHost,          // Its pids are those that NVML tells.
  kOwnNamespace,  // A container's: pids mean other processes, or none.
  kHidden,        // Mounted with hidepid: processes of others are not shown.
  kMissing,       // No /proc at all.
};

// What is known of a process from its birth on, and does not change.
struct ProcessIdentity {
  ProcessKey key;
  std::string name;
  CgroupPlace place;
  std::optional<uint32_t> inner_pid;  // In its own pid namespace, if that is another one.
  std::optional<WallTime> started_at;
};

class ProcReader {
 public:
  // `root` is where /proc is mounted.
  explicit ProcReader(const Files& files, std::string root = "/proc")
      : files_(files), root_(std::move(root)) {}

  ProcView View() const;

  // The start time of a pid: one read, to see whether it is still the same process.
  StatusOr<uint64_t> StartTicks(uint32_t pid) const;

  // All of it.  kNotFound: gone, also when the pid was given to another process meanwhile;
  // kFailedPrecondition: this /proc does not show it, with what helps; kInvalidArgument: its files
  // say something else.
  StatusOr<ProcessIdentity> Identify(uint32_t pid) const;

 private:
  std::string PathOf(uint32_t pid, std::string_view file) const;
  Status Gone(uint32_t pid, const Status& cause) const;
  // Borrows from `text`, what reading the file `stat` gave.
  StatusOr<ProcStat> StatIn(uint32_t pid, const StatusOr<std::string>& text) const;
  std::optional<WallTime> StartedAt(uint64_t start_ticks) const;

  const Files& files_;
  std::string root_;
};

}  // namespace podgpu
