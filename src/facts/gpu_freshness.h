// Which GPUs give fresh values and which of them lose speed or memory, and the state of each GPU
// that follows from this and from what the driver reports.
//
// The driver's state alone is not enough: it still lists a device as healthy when the samples of
// the device have stopped or never started.  The tick updates GpuFreshness with each reading.
// Plain data and a pure function.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>

#include "facts/device_loss.h"
#include "sample/value.h"
#include "topology/device_state.h"
#include "topology/topology.h"

namespace podgpu {

// Size of a set of GPUs, by index into Topology::gpus.  No node has this many GPUs, lost ones
// included; for GPUs beyond the limit only the driver's state counts.
inline constexpr size_t kMaxJudgedGpus = 256;
using GpuSet = std::bitset<kMaxJudgedGpus>;

// Returns the set of GPU `index` alone; empty above the limit.
inline GpuSet OnlyGpu(size_t index) {
  return index < kMaxJudgedGpus ? GpuSet().set(index) : GpuSet();
}

// The result of all readings up to the newest, for the GPUs of its topology.
struct GpuFreshness {
  GpuSet unresponsive;   // No fresh value for longer than is normal.
  GpuSet awaited;        // No value in the newest readings; the next may have one.
  GpuSet never_sampled;  // The awaited GPUs that never had a value.
  GpuSet excused;        // No value, and none is expected.
  std::array<Absence, kMaxJudgedGpus> reasons{};    // Reason for each GPU in one of the sets.
  std::array<DeviceLoss, kMaxJudgedGpus> losses{};  // Loss of each GPU that gives values.
  bool operator==(const GpuFreshness&) const = default;
};

// Returns the state of GPU `index`. `all_stale`: no reading has ended for too long.
DeviceState JudgeState(const Topology& topology, size_t index, const GpuFreshness& freshness,
                       bool all_stale);

}  // namespace podgpu
