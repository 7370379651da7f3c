// The faults of a simulated node, and when each is in force.
//
// A Fault has a kind, the GPU that it concerns, a begin and an end, and parameters.  A world lists
// all of them by time (World::faults()); faces and servers ask which are in force now and act on
// them.  fault_table.h says how each is written and what it does.  Views point into the world's
// image.  Standard library only, for the faces.  Plain data and pure functions; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fields/glob.h"
#include "sim/world/facts.h"

namespace podgpu::sim {

// In the order of fault_table.cc, by name.
enum class FaultKind : uint8_t {
  kApiDown,
  kApiForbidden,
  kApiGarbage,
  kApiGone,
  kApiRateLimited,
  kApiSilent,
  kApiSlow,
  kApiTokenExpired,
  kBindUnbind,
  kBlank,
  kClockJump,
  kDriverMismatch,
  kDriverReload,
  kEcc,
  kEngineHang,
  kEngineKill,
  kEngineVersion,
  kError,
  kGarbage,
  kGpuAbsent,
  kGpuDetached,
  kGpuLost,
  kHang,
  kHeal,  // Ends other faults when the control log is compiled; a world has none.
  kKubeletDenied,
  kKubeletDown,
  kKubeletGarbage,
  kKubeletHttpsDown,
  kKubeletHttpsForbidden,
  kKubeletHttpsUnauthorized,
  kKubeletHuge,
  kKubeletRateLimited,
  kKubeletRestart,
  kKubeletSlow,
  kKubeletV1Missing,
  kMigMode,
  kMigSet,
  kNoNvml,
  kNoPermission,
  kNodata,
  kNvlink,
  kPcie,
  kPowerLimit,
  kSlow,
  kThermal,
  kThrottle,
  kWatchPartial,
  kWatchStale,
  kXid,
};
inline constexpr size_t kFaultKindCount = 49;
constexpr uint64_t FaultBit(FaultKind kind) { return uint64_t{1} << static_cast<unsigned>(kind); }

// Numeric parameters; the name ends in the unit.
enum class FaultNumber : uint8_t {
  kAmbientMillic,
  kCode,  // A dcgmReturn_t below 0, an nvmlReturn_t above.
  kCount,
  kCrc,
  kDown,
  kEccError,  // An EccError.
  kFactorPpm,
  kForm,  // A GarbageForm.
  kGeneration,
  kHow,  // A KubeletAbsence.
  kLimitMw,
  kLink,
  kLocation,  // An EccLocation.
  kMigMode,   // 1: on.
  kMs,
  kRampUs,
  kReachesDriver,  // 1: some of the calls are NVML's.
  kReason,         // A BlankReason.
  kRecovery,
  kReplay,
  kSeconds,
  kSizeBytes,
  kSyncUs,
  kTarget,  // An ErrorTarget.
  kWhy,     // A ThrottleReason.
  kWidth,
  kXid,
};
inline constexpr size_t kFaultNumberCount = 27;
inline constexpr int64_t kNotGiven = INT64_MIN;

// Enumerations, in the order of their words in the table.
enum class BlankReason : uint8_t { kNoValue, kNotFound, kNotSupported, kNotPermitted };
enum class EccError : uint8_t { kSingleBit, kDoubleBit };
enum class EccLocation : uint8_t { kDevice, kL1, kL2, kRegister, kTexture, kShared, kCbu, kSram };
enum class ErrorTarget : uint8_t { kCall, kValue };
enum class GarbageForm : uint8_t { kNoHttp2, kMessage };
enum class KubeletAbsence : uint8_t { kGone, kRefuses };
enum class ThrottleReason : uint8_t { kPower, kThermal, kHardware, kBrake };

struct Fault {
  FaultKind kind = FaultKind::kHeal;
  int gpu = -1;  // -1: every GPU, or a fault that concerns no GPU.
  TimeUs at = 0;
  TimeUs until = INT64_MAX;  // INT64_MAX: never ends by itself.
  std::array<int64_t, kFaultNumberCount> numbers{};
  std::vector<std::string_view> calls;  // Patterns of vendor calls.
  std::span<const uint32_t> fields;     // DCGM field ids; empty: every field.
  std::string_view version;

  bool InForce(TimeUs t) const { return at <= t && t < until; }
  bool Concerns(int which) const { return gpu < 0 || gpu == which; }
  bool Has(FaultNumber which) const { return Get(which) != kNotGiven; }
  int64_t Get(FaultNumber which) const { return numbers[static_cast<size_t>(which)]; }
  // The number, 0 when it was not given.
  int64_t Amount(FaultNumber which) const { return Has(which) ? Get(which) : 0; }
  template <typename Choice>
  Choice As(FaultNumber which) const {
    return static_cast<Choice>(Get(which));
  }
  bool OnField(uint32_t id) const {
    return fields.empty() || std::ranges::find(fields, id) != fields.end();
  }
  bool OnCall(std::string_view name) const {
    return std::ranges::any_of(
        calls, [name](std::string_view pattern) { return GlobMatches(pattern, name); });
  }
};

}  // namespace podgpu::sim
