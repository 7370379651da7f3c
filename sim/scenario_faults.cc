// Reading `faults:` and the control log: the kinds that are simulated, and a plain word about the
// rest.
#include <algorithm>
#include <array>

#include "sim/scenario_parts.h"

namespace podgpu::sim {

namespace {

using Words = std::string_view;

constexpr std::array<Words, 2> kKinds = {"mig_set", "power_limit"};

// Kinds that the format knows and this simulator does not.
constexpr std::array<Words, 35> kOtherKinds = {"blank",
                                               "bind_unbind",
                                               "clock_jump",
                                               "driver_mismatch",
                                               "driver_reload",
                                               "ecc",
                                               "engine_hang",
                                               "engine_kill",
                                               "engine_version",
                                               "error",
                                               "garbage",
                                               "gpu_absent",
                                               "gpu_detached",
                                               "gpu_lost",
                                               "hang",
                                               "kubelet_down",
                                               "kubelet_garbage",
                                               "kubelet_huge",
                                               "kubelet_restart",
                                               "kubelet_slow",
                                               "kubelet_v1_missing",
                                               "lost",
                                               "mig_mode",
                                               "no_nvml",
                                               "no_permission",
                                               "nodata",
                                               "nvlink",
                                               "pcie",
                                               "slow",
                                               "thermal",
                                               "throttle",
                                               "watch_partial",
                                               "watch_stale",
                                               "xid",
                                               "kubelet"};

// True for a simulated kind; otherwise says what is wrong with it.
bool ReadKind(const Cursor& kind, EventSpec& event) {
  const std::string text = kind.Text("");
  const auto found = std::find(kKinds.begin(), kKinds.end(), text);
  if (found != kKinds.end()) {
    event.kind = static_cast<EventSpec::Kind>(found - kKinds.begin());
    return true;
  }
  if (std::find(kOtherKinds.begin(), kOtherKinds.end(), text) != kOtherKinds.end()) {
    kind.Fail("'" + text + "' is not simulated; simulated kinds: " + Join(kKinds));
  } else if (!text.empty()) {
    kind.Choice(kKinds, 0);  // Complains, with the nearest kind.
  }
  return false;
}

void ReadEvent(const Cursor& entry, bool from_control, Scenario& scenario) {
  constexpr std::array<Words, 4> kMigKeys = {"at", "kind", "gpu", "layout"};
  constexpr std::array<Words, 5> kPowerKeys = {"at", "kind", "gpu", "watts", "for"};
  EventSpec event;
  event.from_control = from_control;
  event.place = entry.place();
  if (!entry.IsMap()) {
    entry.Fail("must be a map with keys at, kind and those of its kind");
    return;
  }
  if (!ReadKind(entry.Need("kind"), event)) {
    return;
  }
  const bool mig = event.kind == EventSpec::Kind::kMigSet;
  entry.ExpectKeys(mig ? std::span<const Words>(kMigKeys) : std::span<const Words>(kPowerKeys));
  event.at_us = entry.Need("at").DurationUs(0);
  event.gpu = ReadGpuIndex(entry.Need("gpu"), scenario);
  if (scenario.gpus.empty()) {
    return;
  }
  if (mig) {
    event.layout = ReadMigLayout(entry.Need("layout"));
  } else {
    constexpr int64_t kMicrowatts = 1'000;
    const GpuClass& figures =
        scenario.classes.at(scenario.gpus.at(static_cast<size_t>(event.gpu)).class_index).figures;
    const int64_t least_mw = std::max(figures.min_limit_mw, figures.idle_mw + 1);
    event.limit_mw =
        entry.Need("watts").Millionths(figures.limit_mw * kMicrowatts, least_mw * kMicrowatts,
                                       figures.max_limit_mw * kMicrowatts) /
        kMicrowatts;
    event.for_us = entry.Key("for").DurationUs(0);
  }
  scenario.events.push_back(std::move(event));
}

}  // namespace

void ReadEvents(const Cursor& faults, bool from_control, Scenario& scenario) {
  for (const Cursor& entry : faults.Elements()) {
    ReadEvent(entry, from_control, scenario);
  }
}

}  // namespace podgpu::sim
