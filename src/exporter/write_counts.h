// How often something was written to a disk, and how often that failed.
//
// The writer's thread counts, any thread reads; whoever made the counts owns them and outlives
// both.
#pragma once

#include <atomic>
#include <cstdint>

namespace podgpu {

struct WriteCounts {
  std::atomic<uint64_t> written = 0;
  std::atomic<uint64_t> failed = 0;
};

// The same at one moment.
struct WriteTally {
  uint64_t written = 0;
  uint64_t failed = 0;
};
inline WriteTally TallyOf(const WriteCounts& counts) {
  return {.written = counts.written.load(std::memory_order_relaxed),
          .failed = counts.failed.load(std::memory_order_relaxed)};
}

}  // namespace podgpu
