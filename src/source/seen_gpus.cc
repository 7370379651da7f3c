#include "source/seen_gpus.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace podgpu {
namespace {

// Removes as many GPUs without a UUID from `topology` as there are in `missing`: first those that
// have the number of a missing one, since these are most likely the same boards.
void DropNameless(const std::vector<Gpu>& missing, Topology& topology) {
  size_t left = missing.size();
  const auto drop = [&](bool of_same_number) {
    std::erase_if(topology.gpus, [&](const Gpu& gpu) {
      const bool has_number = std::ranges::find(missing, gpu.gpu_id, &Gpu::gpu_id) != missing.end();
      const bool is_meant = left > 0 && gpu.uuid.empty() && (has_number || !of_same_number);
      left -= is_meant ? 1 : 0;
      return is_meant;
    });
  };
  drop(true);
  drop(false);
}

}  // namespace

const Gpu* SeenGpus::Find(const std::string& uuid) const {
  const auto found = by_uuid_.find(uuid);
  return found == by_uuid_.end() ? nullptr : &found->second;
}

bool SeenGpus::WasLost(const std::string& uuid) const {
  const Gpu* gpu = Find(uuid);
  return gpu != nullptr && gpu->state == DeviceState::kLost;
}

void SeenGpus::AddLost(Topology& topology) const {
  std::vector<Gpu> missing;
  for (const auto& [uuid, seen] : by_uuid_) {
    if (std::ranges::find(topology.gpus, uuid, &Gpu::uuid) == topology.gpus.end()) {
      missing.push_back(seen);
      missing.back().state = DeviceState::kLost;
    }
  }
  DropNameless(missing, topology);
  const auto is_taken = [&](uint32_t id) {
    return std::ranges::find(topology.gpus, id, &Gpu::gpu_id) != topology.gpus.end();
  };
  for (Gpu& lost : missing) {
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
