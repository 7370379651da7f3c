#include "source/seen_gpus.h"

#include <algorithm>
#include <utility>

namespace podgpu {

const Gpu* SeenGpus::Find(const std::string& uuid) const {
  const auto found = by_uuid_.find(uuid);
  return found == by_uuid_.end() ? nullptr : &found->second;
}

bool SeenGpus::WasLost(const std::string& uuid) const {
  const Gpu* gpu = Find(uuid);
  return gpu != nullptr && gpu->state == DeviceState::kLost;
}

void SeenGpus::AddLost(Topology& topology) const {
  const auto is_taken = [&](uint32_t id) {
    return std::ranges::find(topology.gpus, id, &Gpu::gpu_id) != topology.gpus.end();
  };
  for (const auto& [uuid, seen] : by_uuid_) {
    if (std::ranges::find(topology.gpus, uuid, &Gpu::uuid) != topology.gpus.end()) {
      continue;
    }
    Gpu lost = seen;
    lost.state = DeviceState::kLost;
    while (is_taken(lost.gpu_id)) {
      ++lost.gpu_id;
    }
    topology.gpus.push_back(std::move(lost));
  }
}

void SeenGpus::Note(const Topology& topology) {
  for (const Gpu& gpu : topology.gpus) {
    if (!gpu.uuid.empty()) {
      by_uuid_[gpu.uuid] = gpu;
    }
  }
}

}  // namespace podgpu
