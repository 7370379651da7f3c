// Gives memory that the program no longer uses back to the system.
//
// The allocator keeps what is freed below the last thing that still lives: after an answer of tens
// of megabytes the process would stay that large until its end, and its cgroup with it.  The
// thread that has handled such an answer calls this, once what was made of it is gone.
#pragma once

#include <cstddef>

namespace podgpu {

// Walks the free memory of all threads: some milliseconds where there is much of it.  Any thread.
void ReturnFreeMemory();

// Says when to call it, to a thread that handles an answer from time to time.
class MemoryTide {
 public:
  // An answer with so many objects counts as huge; `calls`: how many answers later what was made of
  // it is surely gone.
  constexpr MemoryTide(size_t huge, int calls) : huge_(huge), calls_(calls) {}

  // Whether it is time to call ReturnFreeMemory, before an answer is asked for.
  bool IsDue();
  void Took(size_t objects);

 private:
  const size_t huge_;
  const int calls_;
  int left_ = 0;
};

}  // namespace podgpu
