// Counts the heap allocations of the calling thread, to show that a path allocates nothing or a
// known number of times.
//
// A test program that links this gets its own operator new and delete, which count and call malloc
// and free. Allocations of other threads do not count. For tests only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace podgpu {

struct Allocations {
  uint64_t count = 0;
  uint64_t bytes = 0;

  Allocations operator-(const Allocations& earlier) const {
    return {count - earlier.count, bytes - earlier.bytes};
  }
};

// Allocations of this thread since it began.
Allocations AllocationsOfThisThread();

}  // namespace podgpu
