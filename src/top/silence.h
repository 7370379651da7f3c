// The header of a frame while the server does not answer: for how long, why, and the next try.
//
// The frames of a node and of a fleet share it.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace podgpu {

// A server that has given no answer for a while, and why.
struct Silence {
  std::string name;     // Name of the node, or the URL before the first answer.
  std::string failure;  // Failure of the newest request.
  int64_t silent_for_ms = 0, next_try_in_ms = 0;
};

// Returns for example "podgpu top NAME  no answer for 7 s (connection refused), next try in 2 s".
std::string SilenceText(const Silence& silence);

}  // namespace podgpu
