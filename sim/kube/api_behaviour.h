// How a simulated API server misbehaves: what a client of a cluster meets on a bad day.
//
// Plain data, all of it harmless by default.  Who decides what goes wrong when is not in here: the
// faults of a node.  What has changed is met at once, also by who has an open watch: those end.
#pragma once

#include <chrono>
#include <cstdint>

namespace podgpu::sim {

struct ApiBehaviour {
  bool is_down = false;       // The port refuses.
  bool is_forbidden = false;  // The token has no rights.
  bool is_garbled = false;
  bool is_rate_limited = false;
  bool is_silent = false;              // Nothing is sent on watches; they stay open.
  std::chrono::milliseconds delay{0};  // Before each answer.
  bool is_token_old = false;           // The one in the file is not accepted.
  uint64_t tokens = 0;                 // Another number than before: another token is accepted.
  uint64_t forgotten = 0;              // Another number than before: versions of before are gone.

  bool operator==(const ApiBehaviour&) const = default;
};

}  // namespace podgpu::sim
