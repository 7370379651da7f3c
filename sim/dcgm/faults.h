// The effects of the faults in force on the simulated libdcgm: calls, GPUs, samples and values.
//
// The symptoms are those of DCGM 4.6.0 where they were seen; docs/simulator.md lists them.  Each
// function first checks whether the world has faults of its kind, so a world without faults costs
// one load.  Part of the face: standard library only.  Pure functions of world and time, except
// those that wait.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "fields/field.h"
#include "sim/dcgm/session.h"

namespace podgpu::sim {

// The state of a GPU in the engine.
enum class Presence : uint8_t {
  kHere,
  kLost,      // Off the bus, or without its driver.
  kDetached,  // Unbound from its driver, or released because another GPU is unbound.
};
Presence PresenceOf(const World& world, int gpu, TimeUs t);
// The same as the engine reports it: it notices a loss after a second.
Presence NoticedPresence(const World& world, int gpu, TimeUs t);

// Whether the engine can read the field of the GPU.  It takes GPUs back field by field.
bool IsReadable(const World& world, int gpu, uint16_t field, TimeUs t);

// Whether the fault takes GPUs from their driver.
constexpr bool IsDetaching(FaultKind kind) {
  return kind == FaultKind::kGpuDetached || kind == FaultKind::kBindUnbind;
}

// Whether the library finds no usable driver.
bool IsDriverUnusable(const World& world, TimeUs t);

// Whether the engine's release is at least `since` ("4.6.0"); `of_generation` is 3 or 4 for a
// feature that only this generation has, 0 for one that both have.
bool EngineKnows(const World& world, TimeUs t, std::string_view since, int of_generation);
// The engine's release: that of a fault in force; otherwise the scenario's, or that of the library
// if the scenario's is of the other generation.
std::string_view EngineRelease(const World& world, TimeUs t);

// The latest time at which the engine sampled the field: now, unless a fault stops sampling.  Call
// it only in a world with such faults.
inline constexpr uint64_t kSamplingFaults =
    FaultBit(FaultKind::kWatchStale) | FaultBit(FaultKind::kHang);
TimeUs SampledUntil(const World& world, int gpu, const Field& field, TimeUs now);

// Whether a client has paused the sampling of all GPUs, as for a diagnosis.
bool IsTelemetryPaused(const World& world, TimeUs t);

// An event that is pushed to a field instead of sampled.
struct FieldEvent {
  TimeUs at = 0;
  int64_t value = 0;
};
// The events of the field (6 or 230) of a GPU from `since` to `now`, by time.
std::vector<FieldEvent> EventsOf(const World& world, int gpu, uint16_t field, TimeUs since,
                                 TimeUs now);

// Applies the faults to a reading that was sampled at `sampled` and is read at `now`.
void ApplyFaultsToReading(const World& world, int gpu, const Field& field, TimeUs sampled,
                          TimeUs now, Reading& reading);

// Fills the struct of a successful call with garbage, if a fault requires that.
void FillStructWithGarbage(Session& session, std::string_view call, const Concern& concern);

// The kinds of fault that act on calls: hanging, slowness, errors.
inline constexpr uint64_t kCallFaults =
    FaultBit(FaultKind::kHang) | FaultBit(FaultKind::kSlow) | FaultBit(FaultKind::kError);

// A call in progress.
struct CallUnderWay {
  std::string_view name;
  bool asks_driver = false;
  // The GPUs of the call, one bit each; computed only when a fault names a GPU.
  std::function<uint32_t()> gpus;
  // Pauses; returns a code that ends the wait and the call, or 0.
  std::function<int(int ms)> pause;
};
// Waits and answers as the faults in force say; a dcgmReturn_t.
int ApplyCallFaults(RunDirectory& run, const CallUnderWay& call);

// Sleeps for the whole time, also when signals arrive, as a call in the kernel does.
int Sleep(int ms);

}  // namespace podgpu::sim
