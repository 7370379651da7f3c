// CPU time, memory, file descriptors and threads of this process.
//
// Read from the kernel (getrusage and /proc/self) for the process_* families, without allocating.
// Values that /proc does not give are absent. The functions may be called from any thread;
// RecentProcessUsage belongs to one.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

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

// Keeps the usage for a caller that asks often, for example at each tick. A read of /proc takes as
// long as making a small page. So all but the CPU time is read every 10 s, and more often while the
// process is young and its size still changes.
class RecentProcessUsage {
 public:
  static constexpr std::chrono::seconds kKeptFor{10};

  // Returns the usage at `now`: the CPU time of now, and the rest at most kKeptFor old.
  const ProcessUsage& At(Instant now);

 private:
  std::optional<Instant> first_at_;
  Instant read_at_{};
  ProcessUsage usage_;
};

// Start of the process in seconds since 1970; absent when /proc does not tell. Reads several files:
// call it once.
std::optional<double> ProcessStartSeconds();

}  // namespace podgpu
