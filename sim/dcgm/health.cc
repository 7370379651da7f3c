#include "sim/dcgm/health.h"

#include <algorithm>
#include <array>
#include <optional>
#include <variant>

#include "abi/dcgm_health.h"
#include "sim/dcgm/devices.h"
#include "sim/dcgm/faults.h"
#include "sim/dcgm/fields.h"

namespace podgpu::sim {
namespace {

constexpr TimeUs kHealthWindowUs = 60 * kSecondUs;
constexpr int64_t kMostReplaysAMinute = 8;
constexpr int64_t kLeastCrcErrorsASecond = 100;

// DCGM_FR of dcgm_errors.h, 4.6.0.
enum HealthCode : uint32_t {
  kPciReplayRate = 3,
  kVolatileDbe = 4,
  kPendingPageRetirements = 6,
  kThermalThrottling = 10,
  kNvlinkErrors = 13,
  kNvlinkIsDown = 14,
  kNvlinkCrcRate = 70,
  kNvlinkCritical = 71,
  kPendingRowRemap = 85,
};

// One GPU and one watch of it.
struct WatchedGpu {
  const Scene& scene;
  EntityKey key;
  int gpu = 0;  // The world's.
  TimeUs watched_since = 0;
};

// The number that a field reads at `t`; empty when it has none.
std::optional<int64_t> NumberAt(const WatchedGpu& watched, uint16_t field, TimeUs t) {
  Scene then = watched.scene;
  then.now = t;
  const Reading reading = LiveReading(then, watched.key, *FieldOfLibrary(field));
  const auto* const number = std::get_if<int64_t>(&reading.value);
  return reading.status == abi::DCGM_ST_OK && !reading.is_garbage && number != nullptr
             ? std::optional(*number)
             : std::nullopt;
}

int64_t NumberNow(const WatchedGpu& watched, uint16_t field) {
  return NumberAt(watched, field, watched.scene.now).value_or(0);
}

// The increase of a counter in the last minute, as far as the watch has lasted.
int64_t Gained(const WatchedGpu& watched, uint16_t field) {
  const TimeUs from = std::max(watched.watched_since, watched.scene.now - kHealthWindowUs);
  const std::optional<int64_t> before = NumberAt(watched, field, from);
  const std::optional<int64_t> now = NumberAt(watched, field, watched.scene.now);
  return before && now ? *now - *before : 0;
}

bool HasAWholeWindow(const WatchedGpu& watched) {
  return watched.scene.now - watched.watched_since >= kHealthWindowUs;
}

Incident Found(int result, HealthCode code, std::string message) {
  return {.result = result, .code = code, .message = std::move(message), .entity = {}};
}

std::string OfGpu(const WatchedGpu& watched) { return " on GPU " + std::to_string(watched.key.id); }

// Each function finds the worst incident of one system.

std::optional<Incident> CheckPcie(const WatchedGpu& watched) {
  constexpr uint16_t kReplays = 202;
  const int64_t replays = HasAWholeWindow(watched) ? Gained(watched, kReplays) : 0;
  if (replays <= kMostReplaysAMinute) {
    return std::nullopt;
  }
  return Found(abi::DCGM_HEALTH_RESULT_WARN, kPciReplayRate,
               std::to_string(replays) + " PCIe replays in a minute" + OfGpu(watched) +
                   ", more than " + std::to_string(kMostReplaysAMinute));
}

std::optional<size_t> FirstLinkDown(const WatchedGpu& watched) {
  const auto links = static_cast<size_t>(watched.scene.world.gpu(watched.gpu).nvlink_count);
  for (size_t link = 0; link < links; ++link) {
    if (LinkState(watched.scene, watched.gpu, link) == abi::DcgmNvLinkLinkStateDown) {
      return link;
    }
  }
  return std::nullopt;
}

std::optional<Incident> CheckNvlink(const WatchedGpu& watched) {
  constexpr uint16_t kCrcErrors = 409, kReplays = 429, kRecoveries = 439;
  if (const std::optional<size_t> link = FirstLinkDown(watched)) {
    return Found(abi::DCGM_HEALTH_RESULT_FAIL, kNvlinkIsDown,
                 "NVLink " + std::to_string(*link) + " is down" + OfGpu(watched));
  }
  if (const int64_t recoveries = Gained(watched, kRecoveries); recoveries > 0) {
    return Found(abi::DCGM_HEALTH_RESULT_FAIL, kNvlinkCritical,
                 std::to_string(recoveries) + " NVLink recoveries in a minute" + OfGpu(watched));
  }
  const int64_t crc = Gained(watched, kCrcErrors);
  if (crc >= kLeastCrcErrorsASecond * (kHealthWindowUs / kSecondUs)) {
    return Found(abi::DCGM_HEALTH_RESULT_FAIL, kNvlinkCrcRate,
                 std::to_string(crc) + " NVLink CRC errors in a minute" + OfGpu(watched));
  }
  if (const int64_t errors = crc + Gained(watched, kReplays); errors > 0) {
    return Found(abi::DCGM_HEALTH_RESULT_WARN, kNvlinkErrors,
                 std::to_string(errors) + " NVLink errors in a minute" + OfGpu(watched));
  }
  return std::nullopt;
}

std::optional<Incident> CheckMemory(const WatchedGpu& watched) {
  constexpr uint16_t kVolatileDbeTotal = 311, kPagesPending = 392, kRowsPending = 396;
  if (const int64_t errors = NumberNow(watched, kVolatileDbeTotal); errors > 0) {
    return Found(abi::DCGM_HEALTH_RESULT_FAIL, kVolatileDbe,
                 std::to_string(errors) + " uncorrectable memory errors" + OfGpu(watched) +
                     "; drain it and reset it");
  }
  if (NumberNow(watched, kPagesPending) > 0) {
    return Found(abi::DCGM_HEALTH_RESULT_WARN, kPendingPageRetirements,
                 "page retirement is pending" + OfGpu(watched) + "; reset it");
  }
  if (NumberNow(watched, kRowsPending) > 0) {
    return Found(abi::DCGM_HEALTH_RESULT_WARN, kPendingRowRemap,
                 "row remapping is pending" + OfGpu(watched) + "; reset it");
  }
  return std::nullopt;
}

// In the simulated world heat alone does not throttle, so the slowdown temperature counts as heat.
std::optional<Incident> CheckTemperature(const WatchedGpu& watched) {
  constexpr uint16_t kTemperature = 150, kSlowdown = 158, kThermalViolation = 241;
  constexpr int64_t kMs = 1'000'000;  // ns
  if (!HasAWholeWindow(watched)) {
    return std::nullopt;
  }
  if (const int64_t throttled_ns = Gained(watched, kThermalViolation); throttled_ns > 0) {
    return Found(abi::DCGM_HEALTH_RESULT_WARN, kThermalThrottling,
                 "clocks throttled by heat for " + std::to_string(throttled_ns / kMs) +
                     " ms of the last minute" + OfGpu(watched));
  }
  const int64_t celsius = NumberNow(watched, kTemperature);
  if (celsius > 0 && celsius >= NumberNow(watched, kSlowdown)) {
    return Found(abi::DCGM_HEALTH_RESULT_WARN, kThermalThrottling,
                 std::to_string(celsius) + " degrees, above the slowdown limit," + OfGpu(watched));
  }
  return std::nullopt;
}

struct HealthCheck {
  uint32_t system;
  std::optional<Incident> (*check)(const WatchedGpu&);
};
constexpr auto kHealthChecks = std::to_array<HealthCheck>({
    {abi::DCGM_HEALTH_WATCH_PCIE, CheckPcie},
    {abi::DCGM_HEALTH_WATCH_NVLINK, CheckNvlink},
    {abi::DCGM_HEALTH_WATCH_MEM, CheckMemory},
    {abi::DCGM_HEALTH_WATCH_THERMAL, CheckTemperature},
});

// dcgmlib/src/dcgm_errors.c.
enum Severity : int { kMonitor = 1, kIsolate = 2, kUnknownCode = 3, kTriage = 4, kReset = 6 };
enum Category : int { kHeatCause = 9, kMemoryCause = 10, kLinkCause = 11, kPcieCause = 13 };
constexpr auto kErrorKinds = std::to_array<ErrorKind>({
    {kPciReplayRate, kIsolate, kPcieCause},
    {kVolatileDbe, kIsolate, kMemoryCause},
    {kPendingPageRetirements, kReset, kMemoryCause},
    {kThermalThrottling, kMonitor, kHeatCause},
    {kNvlinkErrors, kIsolate, kLinkCause},
    {kNvlinkIsDown, kTriage, kLinkCause},
    {kNvlinkCrcRate, kIsolate, kLinkCause},
    {kNvlinkCritical, kIsolate, kLinkCause},
    {kPendingRowRemap, kReset, kMemoryCause},
});

}  // namespace

ErrorKind KindOfError(uint32_t code) {
  const auto* const found = std::ranges::find(kErrorKinds, code, &ErrorKind::code);
  return found == kErrorKinds.end() ? ErrorKind{code, kUnknownCode, kUnknownCode} : *found;
}

std::vector<Incident> FindIncidents(const Scene& scene, std::span<const EntityKey> members,
                                    const HealthWatch& watch) {
  std::vector<Incident> incidents;
  for (const EntityKey& key : members) {
    const int gpu = key.group == abi::DCGM_FE_GPU ? scene.state.start.gpus.WorldGpu(key.id) : -1;
    if (gpu < 0 || NoticedPresence(scene.world, gpu, scene.now) != Presence::kHere) {
      continue;  // All its readings are blank.
    }
    const WatchedGpu watched{.scene = scene, .key = key, .gpu = gpu, .watched_since = watch.since};
    for (const HealthCheck& row : kHealthChecks) {
      std::optional<Incident> incident =
          (watch.systems & row.system) != 0 ? row.check(watched) : std::nullopt;
      if (incident) {
        incident->system = row.system;
        incident->entity = key;
        incidents.push_back(*std::move(incident));
      }
    }
  }
  return incidents;
}

}  // namespace podgpu::sim
