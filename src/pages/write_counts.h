// How often something was written to a disk, how often that failed, and why the last time.
//
// The writer's thread counts, any thread reads; the maker of the counts owns them and outlives
// both.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/published.h"
#include "facts/write_tally.h"

namespace podgpu {

struct WriteCounts {
  std::atomic<uint64_t> written = 0;
  std::atomic<uint64_t> failed = 0;
  Published<std::string> failure;  // Null while all that is due can be written.
};

// The same at one moment.
inline WriteTally TallyOf(const WriteCounts& counts) {
  return {.written = counts.written.load(std::memory_order_relaxed),
          .failed = counts.failed.load(std::memory_order_relaxed),
          .failure = counts.failure.Get()};
}

}  // namespace podgpu
