// What the faults in force do to the simulated libdcgm: to calls, GPUs, samples and values.
//
// The symptoms are those that DCGM 4.6.0 shows (docs/simulator.md, "What goes wrong").  Each
// function first looks whether the world has faults of its kind at all, so that a world without any
// costs one load.  Part of the face: standard library only.  Pure functions of world and time, but
// for those that wait.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "fields/field.h"
#include "sim/dcgm/session.h"

namespace podgpu::sim {

// What the engine has of a GPU.
enum class Presence : uint8_t {
  kHere,
  kLost,      // Off the bus, or without its driver.
  kDetached,  // The driver has let go of it.
};
Presence PresenceOf(const World& world, int gpu, TimeUs t);
// The same as the engine says it: a loss is noticed after a second.
Presence NoticedPresence(const World& world, int gpu, TimeUs t);

// Whether the library finds no driver that it could work with.
bool IsDriverUnusable(const World& world, TimeUs t);

// Whether the engine is of a release that knows what came with `since` ("4.6.0"); `of_generation`
// is 3 or 4 for what only that generation has, 0 for what both have.
bool EngineKnows(const World& world, TimeUs t, std::string_view since, int of_generation);
// The version that a fault gives the engine; empty: none.
std::string_view EngineRelease(const World& world, TimeUs t);

// The latest time at which the engine sampled the field: now, unless sampling stands still, which
// only a world with such faults needs to ask.
inline constexpr uint64_t kSamplingFaults =
    FaultBit(FaultKind::kWatchStale) | FaultBit(FaultKind::kHang);
TimeUs SampledUntil(const World& world, int gpu, const Field& field, TimeUs now);

// An event that is pushed to a field rather than sampled.
struct FieldEvent {
  TimeUs at = 0;
  int64_t value = 0;
};
// Those of the field (6 or 230) of a GPU from `since` to `now`, by time.
std::vector<FieldEvent> EventsOf(const World& world, int gpu, uint16_t field, TimeUs since,
                                 TimeUs now);

// What faults make of a reading that was sampled at `sampled` and is read at `now`.
void SpoilReading(const World& world, int gpu, const Field& field, TimeUs sampled, TimeUs now,
                  Reading& reading);

// Fills the struct of a successful call with garbage, if a fault says so.
void SpoilStruct(Session& session, std::string_view call, const Concern& concern);

// Faults that befall calls: hanging, slowness, errors.
inline constexpr uint64_t kCallFaults =
    FaultBit(FaultKind::kHang) | FaultBit(FaultKind::kSlow) | FaultBit(FaultKind::kError);

// A call on its way.
struct CallUnderWay {
  std::string_view name;
  bool asks_driver = false;
  // The GPUs that it is about, a bit for each; asked for only when a fault is about some.
  std::function<uint32_t()> gpus;
  // Pauses; a code that ends the call instead of waiting on, or 0.
  std::function<int(int ms)> pause;
};
// Waits and answers as the faults in force want; a dcgmReturn_t.
int MeetCallFaults(RunDirectory& run, const CallUnderWay& call);

// Sleeps, whatever signals come, as a call in the kernel does.
int Sleep(int ms);

}  // namespace podgpu::sim
