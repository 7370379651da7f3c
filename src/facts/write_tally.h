// How often something was written to a disk until a moment, how often that failed, and why the last
// time.
//
// The counts of the thread that writes (pages/write_counts.h), taken once.  Plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace podgpu {

struct WriteTally {
  uint64_t written = 0;
  uint64_t failed = 0;
  std::shared_ptr<const std::string> failure = nullptr;  // Null while all that is due is written.
};

}  // namespace podgpu
