// The cost of another process of this machine, as the kernel counts it.
//
// For the benchmarks of whole programs.  CPU time is that of all threads, in nanoseconds of the
// scheduler, so one tick of a tenth of a millisecond is visible; memory comes from smaps_rollup.
// The process must belong to this user.  Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>

namespace podgpu {

struct Memory {
  double resident_kib = 0;
  double private_dirty_kib = 0;
};

// 0 when the process has ended.
Memory MemoryOf(pid_t pid);
double CpuMsOf(pid_t pid);
// The same, by thread name.
std::map<std::string, double> CpuMsByThread(pid_t pid);
int64_t ThreadsOf(pid_t pid);
int64_t DescriptorsOf(pid_t pid);

}  // namespace podgpu
