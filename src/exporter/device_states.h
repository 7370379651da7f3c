// What each GPU is now: the driver's word, and what its samples say.
//
// The driver's word alone does not do: a device whose samples have stopped is still listed as fine.
// A GPU is unresponsive when all of its values have been withdrawn for their age, or when nothing
// at all is read any more.  Pure; the tick thread calls it once per tick.
#pragma once

#include <bitset>

#include "sample/grid.h"

namespace podgpu {

// By index into Topology::gpus.  More than any node has, lost ones included; those beyond are taken
// at the driver's word.
inline constexpr size_t kMaxJudgedGpus = 256;
using GpuSet = std::bitset<kMaxJudgedGpus>;

// The GPUs of `grid` whose values have all become stale.
GpuSet FrozenGpus(const Grid& grid);

// The state of GPU `index`, of which `frozen` tells; `all_stale`: nothing is read any more.
DeviceState JudgeState(const Topology& topology, size_t index, const GpuSet& frozen,
                       bool all_stale);

}  // namespace podgpu
