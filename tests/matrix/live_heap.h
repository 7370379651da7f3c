// The number of live heap bytes of this program, counted at every new and delete.
//
// Linking this file replaces the program's global operators; malloc of C libraries is not counted.
// Under a sanitizer, which has its own operators, nothing is counted and LiveHeapIsCounted is
// false.  Any thread.
#pragma once

#include <cstdint>

namespace podgpu {

bool LiveHeapIsCounted();
int64_t LiveHeapBytes();

}  // namespace podgpu
