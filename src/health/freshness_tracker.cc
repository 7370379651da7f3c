#include "health/freshness_tracker.h"

#include <algorithm>

namespace podgpu {

void FreshnessTracker::Take(const Grid& grid) {
  TakeTopology(grid.shared_topology());
  freshness_.unresponsive.reset();
  freshness_.awaited.reset();
  freshness_.never_sampled.reset();
  freshness_.excused.reset();
  freshness_.reasons.fill(Absence::kNotRead);
  freshness_.losses.fill(DeviceLoss::kNone);
  for (size_t i = 0; i < std::min(gpus_.size(), kMaxJudgedGpus); ++i) {
    if (topology_->gpus[i].state == DeviceState::kLost) {
      gpus_[i].no_value_since.reset();
      gpus_[i].is_unresponsive = false;  // When it comes back, it may have no value at first.
      continue;
    }
    Judge(i, JudgeSamples(grid, i), grid.read_at);
    JudgeLoss(i, grid);
  }
}

void FreshnessTracker::Judge(size_t index, SampleVerdict verdict, Instant read_at) {
  TrackedGpu& gpu = gpus_[index];
  freshness_.reasons[index] = verdict.reason;
  if (verdict.state == SampleState::kFresh || verdict.state == SampleState::kExcused) {
    gpu.no_value_since.reset();
    gpu.is_unresponsive = false;
    gpu.had_value = true;
    freshness_.excused[index] = verdict.state == SampleState::kExcused;
    return;
  }
  gpu.no_value_since = gpu.no_value_since.value_or(read_at);
  // Missing samples do not end the state. A restarted engine has none at first, which would look
  // like a GPU that has just been found, although nothing has come from this GPU.
  gpu.is_unresponsive = gpu.is_unresponsive || verdict.state == SampleState::kStale ||
                        read_at - *gpu.no_value_since >= patience_;
  freshness_.unresponsive[index] = gpu.is_unresponsive;
  freshness_.awaited[index] = !gpu.is_unresponsive;
  freshness_.never_sampled[index] = !gpu.is_unresponsive && !gpu.had_value;
}

void FreshnessTracker::JudgeLoss(size_t index, const Grid& grid) {
  TrackedGpu& gpu = gpus_[index];
  const DeviceLoss seen = LossIn(grid, index);
  // A worse loss counts at once. Only throttling stays for a while after it was last seen: a
  // remapping does not begin and end each second.
  const bool stays =
      IsThrottling(gpu.loss) && seen < gpu.loss && grid.read_at - gpu.lost_at < kThrottlingStays;
  if (!stays) {
    gpu.loss = seen;
    gpu.lost_at = grid.read_at;
  }
  freshness_.losses[index] = gpu.loss;
}

// Moves what is known of each GPU to its index in the new list.
void FreshnessTracker::TakeTopology(const std::shared_ptr<const Topology>& topology) {
  if (topology_ == topology) {
    return;
  }
  std::vector<TrackedGpu> gpus;
  gpus.reserve(topology->gpus.size());
  for (const Gpu& gpu : topology->gpus) {
    const auto known = std::ranges::find_if(gpus_, [&](const TrackedGpu& tracked) {
      // GPUs without a UUID are told apart by their number.
      return tracked.uuid == gpu.uuid && (!gpu.uuid.empty() || tracked.gpu_id == gpu.gpu_id);
    });
    gpus.push_back(known == gpus_.end() ? TrackedGpu{} : std::move(*known));
    gpus.back().uuid = gpu.uuid;
    gpus.back().gpu_id = gpu.gpu_id;
  }
  gpus_ = std::move(gpus);
  topology_ = topology;
}

}  // namespace podgpu
