// Compares a frame with its golden file, tests/golden/top/NAME.txt.
//
// For the tests of this room, which share it: frame_test.cc defines it.  With
// PODGPU_UPDATE_GOLDEN=1 it writes the file first.  One thread.
#pragma once

#include <string>

namespace podgpu {

void ExpectGoldenFrame(const std::string& name, const std::string& text);

}  // namespace podgpu
