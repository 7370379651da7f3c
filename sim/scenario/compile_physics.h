// The rates and the power of the processes on a GPU while their demands are constant.
//
// Contention, the power cap and clocks are solved once per segment, in integers, since World must
// give the same bits on every machine.  Pure function; stateless.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/scenario/compile_parts.h"

namespace podgpu::sim {

// A process in one segment: its slot and its phase.
struct Resident {
  const Slot* slot = nullptr;
  const SlotPhase* phase = nullptr;
};

// Rates of all channels during a segment.  Entities: the GPU, then each instance followed by its
// compute instances.
struct SegmentSolution {
  std::vector<std::array<int64_t, kProcessChannelCount>> processes;
  std::vector<std::array<int64_t, kEntityChannelCount>> entities;
  int64_t power_mw = 0;  // Without noise.
  int32_t sm_clock_mhz = 0;
  uint32_t clock_event_reasons = 0;
};

// The entity number of an instance or compute instance within its layout; 0 is the GPU.
size_t EntityNumber(const Layout& layout, int instance, int compute);
size_t EntityCount(const Layout& layout);

// Solves a segment under the power limit and the throttling of `change`.
SegmentSolution SolveSegment(const GpuClass& figures, const Layout& layout, const GpuChange& change,
                             std::span<const Resident> residents);

}  // namespace podgpu::sim
