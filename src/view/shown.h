// Decides when a line of a family of states or reasons is on the page; a column of the tables of
// families.
//
// Most states never become active, and a series that is always 0 costs Prometheus as much as any
// other.  A state that has been active keeps its line, so its end shows as 0 and not as a gap.
// Plain data; any thread.
#pragma once

#include <cstdint>

namespace podgpu {

enum class Shown : uint8_t {
  kAlways,
  kOnceSeen,   // Shown from the first number that is not 0 until podgpu ends.
  kWhileSeen,  // Shown only while the number is not 0.
};

}  // namespace podgpu
