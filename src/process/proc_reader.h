// Identifies a pid through /proc: start time, name, container and pod.
//
// NVML returns pids of the host's pid namespace, which are valid only in a /proc of that namespace
// (hostPID, or a mount of the host's). View() tells whether this /proc is one. Every failure says
// whether the process is gone, hidden, or not visible because this /proc is not the host's.
// Identify reads several files and may wait for a kernel lock: call it on the thread that reads the
// process lists, never on the tick's. Holds no state; borrows `files`, which outlives it.
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

// Kind of the mounted /proc.
enum class ProcView : uint8_t {
  kHost,          // Its pids are those that NVML returns.
  kOwnNamespace,  // A container's: the pids mean other processes, or none.
  kHidden,        // Mounted with hidepid: processes of other users are not visible.
  kMissing,       // There is no /proc.
};

// Facts about a process that never change.
struct ProcessIdentity {
  ProcessKey key;
  std::string name;
  CgroupPlace place;
  std::optional<uint32_t> inner_pid;  // Pid in its own pid namespace, if that differs.
  std::optional<WallTime> started_at;
};

// Returns whether the kernel can have given out the pid between two results of LastPid, if it gave
// out fewer than all pids.
bool WasGivenOut(uint32_t pid, uint32_t earlier, uint32_t last);

class ProcReader {
 public:
  // `root` is where /proc is mounted.
  explicit ProcReader(const Files& files, std::string root = "/proc")
      : files_(files), root_(std::move(root)) {}

  ProcView View() const;

  // Returns the mark of the pid's folder, at about an eighth of the cost of StartTicks, which grows
  // with the threads of the process.  While it stays, the pid is the same process.
  std::optional<FileMark> Mark(uint32_t pid) const;

  // Returns the pid that the kernel gave out last, to a process or a thread. It gives out pids in
  // ascending order and begins again after the largest. Nothing where this /proc is not that of
  // podgpu's own pid namespace, for which the kernel would answer (fs/proc/loadavg.c).
  std::optional<uint32_t> LastPid() const;

  // Reads the start time of a pid: one read, to check that it is still the same process.
  StatusOr<uint64_t> StartTicks(uint32_t pid) const;

  // Reads all facts. kNotFound: gone, also when another process got the pid in the meantime.
  // kFailedPrecondition: this /proc does not show it; the message has a remedy. kInvalidArgument:
  // its files cannot be parsed.
  StatusOr<ProcessIdentity> Identify(uint32_t pid) const;

 private:
  std::string PathOf(uint32_t pid, std::string_view file) const;
  Status Gone(uint32_t pid, const Status& cause) const;
  // `text` is the result of reading the file `stat`; the returned ProcStat borrows from it.
  StatusOr<ProcStat> StatIn(uint32_t pid, const StatusOr<std::string>& text) const;
  std::optional<WallTime> StartedAt(uint64_t start_ticks) const;

  const Files& files_;
  std::string root_;
};

}  // namespace podgpu
