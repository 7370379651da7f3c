#include "facts/gpu_freshness.h"

namespace podgpu {

DeviceState JudgeState(const Topology& topology, size_t index, const GpuFreshness& freshness,
                       bool all_stale) {
  // In order of precedence: a reading that is too old says nothing about any device; a GPU that the
  // driver reports as lost stays lost; then missing samples overrule the driver's "ok".
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
  return freshness.awaited[index] ? DeviceState::kRecovering : told;
}

}  // namespace podgpu
