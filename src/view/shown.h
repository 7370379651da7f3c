// Which lines of a family of states or reasons are on the page: a column of the tables of families.
//
// Most states never hold, and a line that is always 0 costs its reader as much as one that tells
// something.  A state that has held keeps its line, so that its end shows as 0 and not as a gap.
// Plain data; any thread.
#pragma once

#include <cstdint>

namespace podgpu {

enum class Shown : uint8_t {
  kAlways,
  kOnceSeen,   // From the first time that the number is not 0 until podgpu ends.
  kWhileSeen,  // Only while the number is not 0.
};

}  // namespace podgpu
