// The messages between the simulated DCGM library and the simulated remote engine.
//
// One request of 16 bytes for each vendor call, one reply of 16 bytes, both in the machine's own
// byte order, since both always run on one machine.  The engine keeps no state.  It returns the
// number of the request and its own generation; from a new generation a client sees that a new
// engine answers and that its groups and watches are gone.  Refusal, kill and stop need no message:
// they come from the kernel.  Standard library only, for the faces; plain data.
#pragma once

#include <cstdint>
#include <string_view>

namespace podgpu::sim {

inline constexpr uint32_t kEngineMagic = 0x45474450;  // "PDGE", read as bytes.

// Files of the engine in the run directory.
inline constexpr std::string_view kEngineSocketName = "engine.sock";
inline constexpr std::string_view kEngineAddressName = "engine.addr";  // "127.0.0.1:41873\n"

struct EngineRequest {
  uint32_t magic;
  uint32_t number;  // Chosen by the client, unique on its connection.
  uint64_t call;    // EngineCall() of the vendor function's name.
};
static_assert(sizeof(EngineRequest) == 16);

struct EngineReply {
  uint32_t magic;
  uint32_t number;
  uint64_t generation;  // Of the engine that answers; differs at each start.
};
static_assert(sizeof(EngineReply) == 16);

// The id of a call: FNV-1a of its name.
constexpr uint64_t EngineCall(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return hash;
}

// The request that kills the engine, as live data of a profiling field kills a real one (DCGM
// 4.6.0, seen): it exits without a reply.
inline constexpr uint64_t kEngineCrashCall = EngineCall("live data of a profiling field");

}  // namespace podgpu::sim
