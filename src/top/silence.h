// What a frame says while it gets no answer that it can show: for how long, why, and the next try.
//
// The frames of a node and of a fleet share it.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace podgpu {

// A server that has given no status for a while, and why.
struct Silence {
  std::string name;           // Name of the node, or the URL before the first answer.
  std::string failure;        // Failure of the newest request.
  bool has_answered = false;  // Something answers there, but not as top needs it.
  int64_t silent_for_ms = 0, next_try_in_ms = 0;
};

// Returns for example "podgpu top NAME  no answer for 7 s (connection refused), next try in 2 s".
std::string SilenceText(const Silence& silence);

// Returns the same without the cause if it is wider than `columns`; `cause` then gets the cause as
// a sentence, for another place of the frame.
std::string SilenceHead(const Silence& silence, size_t columns, std::string& cause);

}  // namespace podgpu
