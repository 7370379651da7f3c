// The processes of a simulated node, as the kernel shows them under /proc.
//
// Pids of a scenario are plain numbers, not processes of this machine; a program that looks them up
// reads this tree, which podgpu-sim alone keeps up to date.  Each process has stat, status, comm,
// cmdline, cgroup and ns/pid in the kernel's form; its cgroup is its container's, with the
// scenario's cgroup version, driver and runtime, as the host or the pod `seen_from` sees it.  The
// tree also has the first two processes of every machine, and /proc/stat with the boot time.  A
// process appears and disappears with one rename, so a reader sees all of it or nothing.  One
// thread; the directory outlives the object.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "sim/world/world.h"

namespace podgpu::sim {

// A container as its cgroup names it; both texts are empty for a process in no container.
struct CgroupIds {
  std::string pod_uid, container_id;
};
// The content of /proc/PID/cgroup for a process in this container.  `seen_from`: the uid of the pod
// in which the reader has a container and a cgroup namespace of its own; empty: the host's.
std::string CgroupText(const World& world, const CgroupIds& ids, std::string_view seen_from);

class ProcTree {
 public:
  // Writes a new proc/ below `directory` and removes that of an earlier node; `epoch_us` is the
  // civil time of world time 0, in microseconds since 1970.
  static StatusOr<ProcTree> Create(const std::string& directory, int64_t epoch_us);

  // Shows the processes that live at `now`.  Costs one comparison while no process starts or ends.
  Status Show(const World& world, TimeUs now);

  // Whether a process starts or ends after the last shown state.
  bool changes() const { return next_change_ != kNever; }

 private:
  static constexpr TimeUs kNever = INT64_MAX;

  ProcTree(std::string folder, int64_t epoch_us);

  struct Process {
    std::string name, cgroup;
    bool in_container = false;
    TimeUs started = 0;
  };
  std::map<int, Process> LivingAt(const World& world, TimeUs now) const;
  Status Add(int pid, const Process& process) const;
  Status Remove(int pid) const;
  Status Replace(int pid, const std::map<std::string, std::string>& files,
                 const Process& process) const;

  std::string folder_;
  int64_t epoch_us_, boot_s_;
  const World* shown_world_ = nullptr;  // Compared only, never read.
  TimeUs shown_at_ = 0, next_change_ = 0;
  std::map<int, TimeUs> shown_;  // Start of each shown process.
};

}  // namespace podgpu::sim
