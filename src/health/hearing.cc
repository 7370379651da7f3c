#include "health/hearing.h"

#include <algorithm>

namespace podgpu {

void Hearing::Take(const Grid& grid) {
  TakeTopology(grid.shared_topology());
  heard_.unresponsive.reset();
  heard_.awaited.reset();
  heard_.unheard.reset();
  heard_.excused.reset();
  heard_.reasons.fill(Absence::kNotRead);
  for (size_t i = 0; i < std::min(gpus_.size(), kMaxJudgedGpus); ++i) {
    if (topology_->gpus[i].state == DeviceState::kLost) {
      gpus_[i].silent_since.reset();
      gpus_[i].is_unresponsive = false;  // It may be back without a value at first.
      continue;
    }
    Judge(i, Hear(grid, i), grid.read_at);
  }
}

void Hearing::Judge(size_t index, HeardVoice voice, Instant read_at) {
  Listened& gpu = gpus_[index];
  heard_.reasons[index] = voice.reason;
  if (voice.voice == Voice::kSpeaks || voice.voice == Voice::kExcused) {
    gpu.silent_since.reset();
    gpu.is_unresponsive = false;
    gpu.was_heard = true;
    heard_.excused[index] = voice.voice == Voice::kExcused;
    return;
  }
  gpu.silent_since = gpu.silent_since.value_or(read_at);
  gpu.is_unresponsive = gpu.is_unresponsive || voice.voice == Voice::kStale ||
                        read_at - *gpu.silent_since >= patience_;
  heard_.unresponsive[index] = gpu.is_unresponsive;
  heard_.awaited[index] = !gpu.is_unresponsive;
  heard_.unheard[index] = !gpu.is_unresponsive && !gpu.was_heard;
}

// What is known of each GPU moves to its place in the new list.
void Hearing::TakeTopology(const std::shared_ptr<const Topology>& topology) {
  if (topology_ == topology) {
    return;
  }
  std::vector<Listened> gpus;
  gpus.reserve(topology->gpus.size());
  for (const Gpu& gpu : topology->gpus) {
    const auto known = std::ranges::find_if(gpus_, [&](const Listened& listened) {
      return listened.uuid == gpu.uuid && (!gpu.uuid.empty() || listened.gpu_id == gpu.gpu_id);
    });
    gpus.push_back(known == gpus_.end() ? Listened{} : std::move(*known));
    gpus.back().uuid = gpu.uuid;
    gpus.back().gpu_id = gpu.gpu_id;
  }
  gpus_ = std::move(gpus);
  topology_ = topology;
}

}  // namespace podgpu
