// Which GPUs give fresh values, and the state that each GPU has by that and by the driver's word.
//
// The driver's word alone does not do: a device whose samples have stopped, or never begin, is
// still listed as fine.  The tick fills HeardGpus from one reading after the other.  Plain data and
// a pure function.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>

#include "sample/value.h"
#include "topology/device_state.h"
#include "topology/topology.h"

namespace podgpu {

// By index into Topology::gpus.  More than any node has, lost ones included; those beyond are taken
// at the driver's word.
inline constexpr size_t kMaxJudgedGpus = 256;
using GpuSet = std::bitset<kMaxJudgedGpus>;

// What all readings up to the newest say of the GPUs of its topology.
struct HeardGpus {
  GpuSet unresponsive;  // No fresh value, and that is no passing matter.
  GpuSet awaited;       // No value in the newest readings; the next may have one.
  GpuSet unheard;       // Of these, those that never had one.
  GpuSet excused;       // No value, and none can be expected.
  std::array<Absence, kMaxJudgedGpus> reasons{};  // Of each GPU in one of the sets.
  bool operator==(const HeardGpus&) const = default;
};

// The state of GPU `index`, of which `heard` tells; `all_stale`: nothing is read any more.
DeviceState JudgeState(const Topology& topology, size_t index, const HeardGpus& heard,
                       bool all_stale);

}  // namespace podgpu
