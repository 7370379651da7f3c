// Counts what the calling thread takes from the heap, to show that a path takes nothing or a known
// number of pieces.
//
// A test program that links this gets its own operator new and delete, which count and hand on to
// malloc and free.  Only the calling thread is counted: others may do as they like meanwhile.  For
// tests only.
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

// Of this thread since it began.
Allocations AllocationsOfThisThread();

}  // namespace podgpu
