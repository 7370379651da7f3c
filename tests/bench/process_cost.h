// What another process of this machine costs, as the kernel counts it.
//
// For the benchmarks of whole programs.  CPU time is that of all threads, in nanoseconds as the
// scheduler counts them, so that one tick of a tenth of a millisecond can be seen; memory is what
// smaps_rollup says.  The process must be ours.  Any thread.
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

// 0 for a process that is gone.
Memory MemoryOf(pid_t pid);
double CpuMsOf(pid_t pid);
// The same by the names of its threads.
std::map<std::string, double> CpuMsByThread(pid_t pid);
int64_t ThreadsOf(pid_t pid);
int64_t DescriptorsOf(pid_t pid);

}  // namespace podgpu
