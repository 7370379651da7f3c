// The simulated remote engine: a process of its own, so tests can really kill and stop it.
//
// `podgpu-sim engine` runs it.  It listens on a TCP address and on a unix socket in the run
// directory, and answers each 16-byte request of the simulated libdcgm (engine_protocol.h); groups,
// watches and values live in the face.  Kill it, stop it or restart it: the face then behaves as
// the real library does (DCGM 4.6.0).  One thread, the caller's; it ends with the process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/dcgm/engine_protocol.h"

namespace podgpu::sim {

struct EngineOptions {
  std::string run_directory;  // Receives the socket and engine.addr.
  std::string tcp;            // "host:port"; port 0 takes a free one; empty: no TCP.
  // Name of the unix socket in the run directory; empty: none.
  std::string socket_name = std::string(kEngineSocketName);
  // Sent in every reply; each engine of a node needs a new one (StatePage has a counter).
  uint64_t generation = 0;
  // Called once, when all listeners are open and engine.addr is written.
  std::function<void()> on_listening;
  // Serving ends with exit code 0 when this descriptor becomes readable; -1: never.
  int stop_descriptor = -1;
};

// Serves until stopped.  Returns 0, or 2 after one line on standard error when it cannot listen on
// an address.
int RunEngine(const EngineOptions& options);

}  // namespace podgpu::sim
