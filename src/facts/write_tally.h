// How often something was written to a disk, how often that failed, and the reason of the last
// failure.
//
// A copy of the counts of the writing thread (pages/write_counts.h) at one moment.  Plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace podgpu {

struct WriteTally {
  uint64_t written = 0;
  uint64_t failed = 0;
  std::shared_ptr<const std::string> failure = nullptr;  // Null unless the last write failed.
};

}  // namespace podgpu
