// How many bytes of this program's own heap are alive, counted at every new and delete.
//
// Linking this file replaces the global operators of the program that links it; what C libraries
// allocate by malloc is not seen.  Under a sanitizer, which has operators of its own, nothing is
// counted and LiveHeapIsCounted is false.  Any thread.
#pragma once

#include <cstdint>

namespace podgpu {

bool LiveHeapIsCounted();
int64_t LiveHeapBytes();

}  // namespace podgpu
