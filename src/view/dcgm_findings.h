// The rows of dcgm-exporter's own counters, DCGM_EXP_*, on GPUs.
//
// They stand behind the fields of the GPU group, and have the labels of whole GPUs: a MIG instance
// is no GPU, whatever its number.  Part of the DCGM view, which lends its label blocks.  Pure; the
// tick thread calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "exposition/series_plan.h"
#include "topology/topology.h"
#include "view/view.h"

namespace podgpu {

// The label blocks of the rows of a GPU with these labels more: one, or one for each of its jobs.
using GpuBlocks = std::function<std::vector<uint32_t>(
    EntityId gpu, const std::map<std::string, std::string>& more)>;

// Adds the families that the counters of `input` name: counts on the GPUs of `devices` and of its
// instances, health and ways to peers on every GPU.
void AddDcgmFindings(const ViewInput& input, const std::vector<EntityId>& devices,
                     const GpuBlocks& blocks, PlanBuilder& plan);

}  // namespace podgpu
