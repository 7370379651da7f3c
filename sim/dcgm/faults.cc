#include "sim/dcgm/faults.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "fields/field_ids.h"
#include "sim/dcgm/fields.h"
#include "sim/dcgm/generation.h"

namespace podgpu::sim {
namespace {

constexpr TimeUs kNoticeUs = 1'000'000;
// When one GPU is unbound, the engine releases all for two seconds.  Fields whose id is a multiple
// of six are read earlier: a part of the values comes before the rest (DCGM 4.6.0, seen).
constexpr TimeUs kReleaseUs = 2'000'000;
constexpr size_t kLongestRelease = 31;
constexpr TimeUs kEarlyReleaseUs = 1'500'000;
constexpr uint16_t kEarlyStep = 6;
constexpr int kPollMs = 10;
constexpr int64_t kReinitializing = 1;  // Values of the bind event (since 4.5.0).
constexpr int64_t kReinitialized = 2;

using enum FaultKind;

constexpr uint64_t kPresenceFaults =
    FaultBit(kGpuLost) | FaultBit(kGpuDetached) | FaultBit(kBindUnbind) | FaultBit(kDriverReload);
constexpr uint64_t kValueFaults = FaultBit(kBlank) | FaultBit(kError) | FaultBit(kGarbage) |
                                  FaultBit(kNoPermission) | FaultBit(kNodata);

bool HasAny(const World& world, uint64_t kinds) { return (world.fault_kinds() & kinds) != 0; }

// The state of the GPU; each loss is noticed `late_us` after it, and the release of all GPUs takes
// `release_us`.
Presence PresenceAfter(const World& world, int gpu, TimeUs t, TimeUs late_us, TimeUs release_us) {
  if (!HasAny(world, kPresenceFaults)) {
    return Presence::kHere;
  }
  for (const Fault& fault : world.faults()) {
    const bool is_concerned = fault.Concerns(gpu) && fault.InForce(t);
    const bool is_released = fault.at <= t && t < fault.at + release_us;
    if (IsDetaching(fault.kind) && (is_concerned || is_released)) {
      return Presence::kDetached;
    }
    if (!is_concerned) {
      continue;
    }
    if ((fault.kind == kGpuLost || fault.kind == kDriverReload) && t >= fault.at + late_us) {
      return Presence::kLost;
    }
  }
  return Presence::kHere;
}

bool ReachesDriver(const Fault& fault) { return fault.Get(FaultNumber::kReachesDriver) == 1; }

// Positive codes are NVML's.
bool IsOfDcgm(const Fault& fault) { return fault.Get(FaultNumber::kCode) < 0; }

// A fault that names calls applies to values only if it also names fields.
bool IsOnFields(const Fault& fault) { return fault.calls.empty() || !fault.fields.empty(); }

// Whether the fault applies to the call.
bool AppliesToCall(const Fault& fault, const CallUnderWay& call) {
  const bool by_driver = call.asks_driver && fault.kind != kError && ReachesDriver(fault);
  if (!by_driver && !fault.OnCall(call.name)) {
    return false;
  }
  return fault.gpu < 0 || by_driver || (call.gpus() & (uint32_t{1} << fault.gpu)) != 0;
}

const Fault* FindCallFault(const World& world, FaultKind kind, const CallUnderWay& call, TimeUs t) {
  if (!HasAny(world, FaultBit(kind))) {
    return nullptr;
  }
  for (const Fault& fault : world.faults()) {
    const bool of_others =
        kind == kError &&
        (fault.As<ErrorTarget>(FaultNumber::kTarget) == ErrorTarget::kValue || !IsOfDcgm(fault));
    if (fault.kind == kind && !of_others && fault.InForce(t) && AppliesToCall(fault, call)) {
      return &fault;
    }
  }
  return nullptr;
}

// Applies the fault to a value that was sampled at `sampled` and is read at `now`; false when the
// fault does not change it.
bool ApplyToReading(const Fault& fault, TimeUs sampled, TimeUs now, Reading& reading) {
  switch (fault.kind) {
    case kNodata:
      if (fault.InForce(now)) {
        reading = NoSample(abi::DCGM_ST_NO_DATA);
        return true;
      }
      return false;
    case kError:
      if (fault.InForce(now) && IsOfDcgm(fault) &&
          fault.As<ErrorTarget>(FaultNumber::kTarget) == ErrorTarget::kValue) {
        reading = NoSample(static_cast<int>(fault.Get(FaultNumber::kCode)));
        return true;
      }
      return false;
    case kBlank:
    case kNoPermission:
      if (fault.InForce(sampled) && IsOnFields(fault)) {
        const bool refused = fault.kind == kNoPermission;
        reading = {.value = refused ? Blank::kNotPermitted : fault.As<Blank>(FaultNumber::kReason),
                   .sampled_at = sampled};
        return true;
      }
      return false;
    case kGarbage:
      if (fault.InForce(sampled) && IsOnFields(fault)) {
        reading.is_garbage = true;
        reading.sampled_at = sampled;
        return true;
      }
      return false;
    default:
      return false;
  }
}

}  // namespace

Presence PresenceOf(const World& world, int gpu, TimeUs t) {
  return PresenceAfter(world, gpu, t, 0, kReleaseUs);
}

Presence NoticedPresence(const World& world, int gpu, TimeUs t) {
  return PresenceAfter(world, gpu, t, kNoticeUs, kReleaseUs);
}

bool IsReadable(const World& world, int gpu, uint16_t field, TimeUs t) {
  const TimeUs release_us = field % kEarlyStep == 0 ? kEarlyReleaseUs : kReleaseUs;
  return PresenceAfter(world, gpu, t, 0, release_us) == Presence::kHere;
}

bool IsDriverUnusable(const World& world, TimeUs t) {
  return world.FaultAt(kDriverMismatch, t) != nullptr || world.FaultAt(kDriverReload, t) != nullptr;
}

std::string_view EngineRelease(const World& world, TimeUs t) {
  const Fault* const fault = world.FaultAt(kEngineVersion, t);
  if (fault == nullptr) {
    const std::string_view version = world.dcgm_version();
    const bool is_of_generation = version.substr(0, 2) == kDcgmVersion.substr(0, 2);
    return is_of_generation && version.size() <= kLongestRelease ? version : kDcgmVersion;
  }
  if (fault->version == "3.x") {
    return "3.3.9";
  }
  return fault->version == "4.x" ? "4.6.0" : fault->version;
}

bool EngineKnows(const World& world, TimeUs t, std::string_view since, int of_generation) {
  const std::string_view release = EngineRelease(world, t);
  // Each part of a DCGM version has one digit.
  return since <= release && (of_generation == 0 || of_generation == release[0] - '0');
}

TimeUs SampledUntil(const World& world, int gpu, const Field& field, TimeUs now) {
  TimeUs until = now;
  for (const Fault& fault : world.faults()) {
    if (!fault.InForce(now)) {
      continue;
    }
    const bool forgotten =
        fault.kind == kWatchStale && fault.Concerns(gpu) && fault.OnField(field.id);
    // One engine thread polls all GPUs, so one hung GPU stops the sampling of all.
    const bool hung = fault.kind == kHang && ReachesDriver(fault);
    if (forgotten || hung) {
      until = std::min(until, fault.at);
    }
  }
  return until;
}

bool IsTelemetryPaused(const World& world, TimeUs t) {
  return std::ranges::any_of(world.faults(), [&](const Fault& fault) {
    return fault.kind == kWatchStale && fault.gpu < 0 && fault.fields.empty() && fault.InForce(t);
  });
}

std::vector<FieldEvent> EventsOf(const World& world, int gpu, uint16_t field, TimeUs since,
                                 TimeUs now) {
  std::vector<FieldEvent> events;
  const auto add = [&](TimeUs at, int64_t value) {
    if (at >= since && at <= now) {
      events.push_back({at, value});
    }
  };
  for (const Fault& fault : world.faults()) {
    if (field == kBindField && IsDetaching(fault.kind)) {
      add(fault.at, kReinitializing);
      add(fault.until, kReinitialized);
    }
    if (field == field_ids::kXid && fault.Concerns(gpu) &&
        (fault.kind == kXid || fault.kind == kGpuLost)) {
      add(fault.at, fault.Get(FaultNumber::kXid));
    }
    if (field == field_ids::kXid && fault.kind == kDriverReload && fault.until <= now) {
      std::erase_if(events, [&](const FieldEvent& event) { return event.at < fault.until; });
    }
  }
  std::ranges::stable_sort(events, {}, &FieldEvent::at);
  return events;
}

void ApplyFaultsToReading(const World& world, int gpu, const Field& field, TimeUs sampled,
                          TimeUs now, Reading& reading) {
  if (!HasAny(world, kValueFaults)) {
    return;
  }
  for (const Fault& fault : world.faults()) {
    if (fault.Concerns(gpu) && fault.OnField(field.id) &&
        ApplyToReading(fault, sampled, now, reading)) {
      return;
    }
  }
}

void FillStructWithGarbage(Session& session, std::string_view call, const Concern& concern) {
  if (concern.out.empty() || !HasAny(session.world(), FaultBit(kGarbage))) {
    return;
  }
  session.With([&](const Scene& scene) {
    for (const Fault& fault : scene.world.faults()) {
      if (fault.kind == kGarbage && fault.InForce(scene.now) && fault.OnCall(call)) {
        // All ones: the largest numbers, NaN, and text without an end.
        std::memset(concern.out.data(), 0xff, concern.out.size());
      }
    }
    return abi::DCGM_ST_OK;
  });
}

int ApplyCallFaults(RunDirectory& run, const CallUnderWay& call) {
  while (FindCallFault(run.world(), kHang, call, run.Now()) != nullptr) {
    if (const int ended = call.pause(kPollMs); ended != abi::DCGM_ST_OK) {
      return ended;
    }
  }
  if (const Fault* const slow = FindCallFault(run.world(), kSlow, call, run.Now())) {
    if (const int ended = call.pause(static_cast<int>(slow->Get(FaultNumber::kMs)));
        ended != abi::DCGM_ST_OK) {
      return ended;
    }
  }
  const Fault* const error = FindCallFault(run.world(), kError, call, run.Now());
  return error == nullptr ? abi::DCGM_ST_OK : static_cast<int>(error->Get(FaultNumber::kCode));
}

int Sleep(int ms) {
  constexpr int64_t kNsPerMs = 1'000'000;
  timespec left{.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * kNsPerMs};
  // This simulates a call that blocks in the kernel.
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  return abi::DCGM_ST_OK;
}

}  // namespace podgpu::sim
