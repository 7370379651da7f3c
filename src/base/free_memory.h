// Gives memory that the program no longer uses back to the system.
//
// The allocator keeps freed memory that lies below the last live allocation. After an answer of
// tens of megabytes, the process and its cgroup would stay that large until the process ends. The
// thread that handled such an answer calls ReturnFreeMemory after it has released everything made
// from the answer.
#pragma once

#include <cstddef>

namespace podgpu {

// Walks the free memory of all threads; takes some milliseconds when there is much of it. Any
// thread.
void ReturnFreeMemory();

// Tells a thread that handles answers repeatedly when to call ReturnFreeMemory.
class MemoryReturnSchedule {
 public:
  // An answer with `huge` or more objects counts as huge. `calls` is the number of later answers
  // after which everything made from the huge one has been released.
  constexpr MemoryReturnSchedule(size_t huge, int calls) : huge_(huge), calls_(calls) {}

  // Called before each request; returns whether it is time to call ReturnFreeMemory.
  bool IsDue();
  void Took(size_t objects);

 private:
  const size_t huge_;
  const int calls_;
  int left_ = 0;
};

}  // namespace podgpu
