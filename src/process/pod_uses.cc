#include "process/pod_uses.h"

#include <algorithm>

namespace podgpu {
namespace {

// The sum, if both are known.
template <typename Number>
void AddKnownTo(std::optional<Number>& sum, const std::optional<Number>& part) {
  if (!sum || !part) {
    sum.reset();
  } else {
    *sum += *part;
  }
}

bool IsBusy(const ProcessRow& row, const DeviceReading& device) {
  return row.busy > 0 ||
         std::ranges::any_of(device.instances, [&](const InstanceActivity& activity) {
           return activity.instance == row.instance && activity.busy > 0;
         });
}

// Returns whether the pod was active since the last reading, or nothing when that is unknown. A pod
// without processes is idle without a measurement. Unmeasured time of a pod with processes may be
// either, so it counts as neither.
std::optional<bool> WasActive(const PodUse::Now& now, const DeviceReading& device) {
  const bool is_measured = device.samples == BusySamples::kMeasured || !device.instances.empty();
  if (!device.listed || (now.runs && !now.is_busy && !is_measured)) {
    return std::nullopt;
  }
  return now.is_busy;
}

// Adds the time since the last reading of `device`, and stores the pod's current usage.
void Settle(const DeviceReading& device, uint64_t elapsed_us, WallTime wall, PodUse& use) {
  const std::optional<bool> active = WasActive(use.now, device);
  if (use.now.holds) {
    use.allocated_us += elapsed_us;
    use.active_us += active == true ? elapsed_us : 0;
    use.idle_us += active == false ? elapsed_us : 0;
  }
  if (active == true) {
    use.active_at.emplace(wall);
  }
  const bool is_told = device.listed && (use.now.holds || use.now.runs);
  use.sm_percent = is_told ? use.now.sm_percent : std::nullopt;
  use.memory_bytes = is_told ? use.now.memory_bytes : std::nullopt;
}

}  // namespace

void PodUses::Take(const ProcessReading& reading, const ProcessTable& table) {
  for (const DeviceReading& device : reading.devices) {
    if (const auto rows = table.devices().find(device.device); rows != table.devices().end()) {
      TakeDevice(device, reading.wall, rows->second);
    }
  }
}

void PodUses::TakeDevice(const DeviceReading& device, WallTime wall,
                         const ProcessTable::Rows& rows) {
  const auto [read, is_first] = read_at_.try_emplace(device.device, device.at);
  const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(
      std::max(device.at - read->second, Duration::zero()));
  const auto elapsed_us = static_cast<uint64_t>(elapsed.count());
  read->second = device.at;
  for (auto& [pod, use] : uses_) {
    if (pod.device == device.device) {
      use.now = {};
    }
  }
  for (const PodNumber holder : device.holders) {
    UseOf({holder, device.device}).now.holds = true;
  }
  for (const auto& [process, row] : rows) {
    AddRow(row, device);
  }
  for (auto& [pod, use] : uses_) {
    if (pod.device == device.device) {
      Settle(device, elapsed_us, wall, use);
    }
  }
}

void PodUses::AddRow(const ProcessRow& row, const DeviceReading& device) {
  if (row.pod == kNoPod || (!row.active && row.busy == 0)) {
    return;
  }
  PodUse::Now& now = UseOf({row.pod, device.device}).now;
  now.is_busy = now.is_busy || IsBusy(row, device);
  if (row.active) {
    now.runs = true;
    AddKnownTo(now.sm_percent, row.sm_percent);
    AddKnownTo(now.memory_bytes, row.memory_bytes);
  }
}

PodUse& PodUses::UseOf(const PodOnDevice& pod) {
  const auto [it, is_new] = uses_.try_emplace(pod);
  generation_ += is_new ? 1 : 0;
  return it->second;
}

void PodUses::Forget(PodNumber pod) {
  const size_t dropped =
      std::erase_if(uses_, [&](const auto& use) { return use.first.pod == pod; });
  generation_ += dropped > 0 ? 1 : 0;
}

}  // namespace podgpu
