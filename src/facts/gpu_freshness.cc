#include "facts/gpu_freshness.h"

namespace podgpu {

DeviceState JudgeState(const Topology& topology, size_t index, const GpuFreshness& freshness,
                       bool all_stale) {
  // In order of precedence: a reading that is too old says nothing about any device; a GPU that the
  // driver reports as lost stays lost; then missing samples, and then losses, overrule its "ok".
  const DeviceState told = topology.gpus[index].state;
  if (all_stale) {
    return DeviceState::kUnresponsive;
  }
  if (told == DeviceState::kLost || index >= kMaxJudgedGpus) {
    return told;
  }
  if (freshness.unresponsive[index]) {
    return DeviceState::kUnresponsive;
  }
  if (freshness.awaited[index]) {
    return DeviceState::kRecovering;
  }
  const bool is_whole = freshness.losses[index] == DeviceLoss::kNone;
  return told == DeviceState::kOk && !is_whole ? DeviceState::kDegraded : told;
}

}  // namespace podgpu
