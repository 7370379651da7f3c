// Which GPUs give fresh values, and the state of each GPU: it depends on those values and on what
// the driver reports.
//
// The driver's report alone is not enough: the driver still lists a device as healthy when its
// samples have stopped or never begin.  The tick fills HeardGpus from each reading in turn.  Plain
// data and a pure function.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>

#include "sample/value.h"
#include "topology/device_state.h"
#include "topology/topology.h"

namespace podgpu {

// By index into Topology::gpus.  More than any node has, lost GPUs included.  GPUs beyond this
// limit have the state that the driver reports.
inline constexpr size_t kMaxJudgedGpus = 256;
using GpuSet = std::bitset<kMaxJudgedGpus>;

// What all readings up to the newest one say about the GPUs of the newest topology.
struct HeardGpus {
  GpuSet unresponsive;  // No fresh value for longer than a short gap between samples.
  GpuSet awaited;       // No value in the newest readings; the next one may have a value.
  GpuSet unheard;       // The awaited GPUs that have never given a value.
  GpuSet excused;       // No value, and none can be expected.
  std::array<Absence, kMaxJudgedGpus> reasons{};  // Why a GPU in one of the sets has no value.
  bool operator==(const HeardGpus&) const = default;
};

// Returns the state of GPU `index`.  `all_stale`: the whole reading is too old.
DeviceState JudgeState(const Topology& topology, size_t index, const HeardGpus& heard,
                       bool all_stale);

}  // namespace podgpu
