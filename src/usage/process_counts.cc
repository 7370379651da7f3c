#include "usage/process_counts.h"

#include <algorithm>

namespace podgpu {

void ProcessCounts::Take(const ProcessReading& reading) {
  for (const DeviceReading& one : reading.devices) {
    if (one.device.value >= devices_.size()) {
      devices_.resize(one.device.value + size_t{1});
    }
    if (!one.listed) {
      continue;  // The previous list counts until it is too old.
    }
    OnDevice& device = devices_[one.device.value];
    device.listed_at = reading.at;
    device.pids.clear();
    for (const ListedProcess& process : one.processes) {
      device.pids.emplace_back(process.instance, process.pid);
    }
    std::ranges::sort(device.pids);
    const auto repeated = std::ranges::unique(device.pids);
    device.pids.erase(repeated.begin(), repeated.end());
  }
}

uint32_t ProcessCounts::CountOn(const OnDevice& device, std::optional<uint32_t> instance) {
  return static_cast<uint32_t>(std::ranges::count_if(
      device.pids, [instance](const auto& pid) { return !instance || pid.first == *instance; }));
}

std::shared_ptr<const EntityCounts> ProcessCounts::Of(const Topology& topology,
                                                      const std::vector<std::string>& uuids,
                                                      Instant now, Duration stale_after) {
  scratch_.assign(topology.entities.size(), std::nullopt);
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    const EntityId entity{static_cast<uint16_t>(i)};
    const auto uuid = std::ranges::find(uuids, topology.GpuOf(entity).uuid);
    const auto number = static_cast<size_t>(uuid - uuids.begin());
    if (uuid == uuids.end() || number >= devices_.size()) {
      continue;
    }
    const OnDevice& device = devices_[number];
    const GpuInstance* const instance = topology.InstanceOf(entity);
    if (device.listed_at && now - *device.listed_at <= stale_after) {
      scratch_[i] = CountOn(
          device, instance == nullptr ? std::nullopt : std::optional(instance->gpu_instance_id));
    }
  }
  if (counts_ == nullptr || *counts_ != scratch_) {
    counts_ = std::make_shared<const EntityCounts>(scratch_);
  }
  return counts_;
}

}  // namespace podgpu
