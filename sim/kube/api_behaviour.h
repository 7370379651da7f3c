// The misbehaviour of a simulated API server: what its clients can meet in a real cluster.
//
// Plain data; the defaults are harmless.  The faults of a node decide what goes wrong when; this
// type only says what is wrong.  A change takes effect at once, also for clients with an open
// watch: their watches end.
#pragma once

#include <chrono>
#include <cstdint>

namespace podgpu::sim {

struct ApiBehaviour {
  bool is_down = false;       // The port refuses connections.
  bool is_forbidden = false;  // The token has no rights.
  bool is_garbled = false;
  bool is_rate_limited = false;
  bool is_silent = false;              // Nothing is sent on watches; they stay open.
  std::chrono::milliseconds delay{0};  // Before each answer.
  bool is_token_old = false;           // The server rejects the token in the file.
  uint64_t tokens = 0;                 // A change of this number makes a new token valid.
  uint64_t forgotten = 0;              // A change of this number makes older versions expire.

  bool operator==(const ApiBehaviour&) const = default;
};

}  // namespace podgpu::sim
