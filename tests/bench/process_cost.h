// The cost of another process of this machine, as the kernel counts it.
//
// For the benchmarks of whole programs.  Counts of wake-ups and of page faults are the same on a
// busy machine; times are not.  CPU time is that of all threads, in nanoseconds of the scheduler,
// so one tick of a tenth of a millisecond is visible; memory comes from smaps_rollup. The process
// must belong to this user.  Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

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
// How often each thread slept, and how many pages it touched that had to be mapped, since its
// start.
std::map<std::string, double> WakeupsByThread(pid_t pid);
std::map<std::string, double> MinorFaultsByThread(pid_t pid);
int64_t ThreadsOf(pid_t pid);
int64_t DescriptorsOf(pid_t pid);

// The exponent with which a cost grows: the slope of the straight line that fits the points (size,
// cost) best on logarithmic scales; 1 is linear growth.  Two points or more, of different sizes,
// all positive.
double GrowthExponent(const std::vector<std::pair<double, double>>& points);

}  // namespace podgpu
