// The processes of a simulated node, as the kernel shows them under /proc.
//
// Pids of a scenario are numbers, no processes of this machine; who wants to know more of them
// looks into this tree, which is kept in step by podgpu-sim alone.  Each process has stat, status,
// comm, cmdline, cgroup and ns/pid in the kernel's form; its cgroup is that of its container, with
// the scenario's cgroup version, driver and runtime.  Beside them stand the first two processes of
// every machine, and stat with the time of its boot.  A process comes and goes with one rename, so
// that a reader sees all of it or nothing.  One thread; the directory outlives the object.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "sim/world/world.h"

namespace podgpu::sim {

// The content of /proc/PID/cgroup for a process in this container, or for one in none (both texts
// empty).
std::string CgroupText(const World& world, std::string_view pod_uid, std::string_view container_id);

class ProcTree {
 public:
  // Writes proc/ below `directory` anew, over what an earlier node left; `epoch_us` is the civil
  // time of world time 0, in microseconds since 1970.
  static StatusOr<ProcTree> Create(const std::string& directory, int64_t epoch_us);

  // Shows who lives at `now`.  Costs a comparison while nobody comes or goes.
  Status Show(const World& world, TimeUs now);

  // Whether somebody comes or goes after what was last shown.
  bool changes() const { return next_change_ != kNever; }

 private:
  static constexpr TimeUs kNever = INT64_MAX;

  ProcTree(std::string folder, int64_t epoch_us);

  struct Process {
    std::string name, pod_uid, container_id;
    TimeUs started = 0;
  };
  std::map<int, Process> LivingAt(const World& world, TimeUs now) const;
  Status Add(const World& world, int pid, const Process& process) const;
  Status Remove(int pid) const;
  Status Replace(int pid, const std::map<std::string, std::string>& files, bool in_container) const;

  std::string folder_;
  int64_t epoch_us_, boot_s_;
  const World* shown_world_ = nullptr;  // Never looked into: whether it is another one.
  TimeUs shown_at_ = 0, next_change_ = 0;
  std::map<int, TimeUs> shown_;  // When each process that is shown began.
};

}  // namespace podgpu::sim
