// CPU time, memory, file descriptors and threads of this process.
//
// Read from the kernel (getrusage and /proc/self) once per tick for the process_* families, without
// allocating. Values that /proc does not give are absent. Any thread.
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

// Start of the process in seconds since 1970; absent when /proc does not tell. Reads several files:
// call it once.
std::optional<double> ProcessStartSeconds();

}  // namespace podgpu
