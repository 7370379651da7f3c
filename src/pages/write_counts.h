// How often something was written to a disk, how often that failed, and the reason of the last
// failure.
//
// The writing thread counts; any thread may read.  The Exporter owns the counts, which outlive all
// these threads.
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
  Published<std::string> failure;  // Null unless the last write failed.
};

// Returns a copy of the counts.
inline WriteTally TallyOf(const WriteCounts& counts) {
  return {.written = counts.written.load(std::memory_order_relaxed),
          .failed = counts.failed.load(std::memory_order_relaxed),
          .failure = counts.failure.Get()};
}

}  // namespace podgpu
