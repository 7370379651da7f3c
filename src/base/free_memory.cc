#include "base/free_memory.h"

#include <malloc.h>

namespace podgpu {

void ReturnFreeMemory() { ::malloc_trim(0); }

bool MemoryReturnSchedule::IsDue() {
  const bool is_due = left_ > 0;
  left_ -= is_due ? 1 : 0;
  return is_due;
}

void MemoryReturnSchedule::Took(size_t objects) { left_ = objects >= huge_ ? calls_ : left_; }

}  // namespace podgpu
