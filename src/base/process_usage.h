// What this process itself uses: processor time, memory, descriptors, threads.
//
// Read from the kernel (getrusage and /proc/self) once per tick for the process_* families, without
// allocating. Values that /proc does not give are absent.  Any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace podgpu {

struct ProcessUsage {
  double cpu_seconds = 0;
  std::optional<int64_t> resident_bytes;
  std::optional<int64_t> virtual_bytes;
  std::optional<int64_t> open_descriptors;
  std::optional<int64_t> max_descriptors;
  std::optional<int64_t> threads;
};

ProcessUsage ReadProcessUsage();

// When the process started, in seconds since 1970; absent when /proc does not say.  Costs a few
// reads: once.
std::optional<double> ProcessStartSeconds();

}  // namespace podgpu
