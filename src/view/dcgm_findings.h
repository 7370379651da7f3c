// Adds the rows of dcgm-exporter's own counters, DCGM_EXP_*, for GPUs.
//
// They come after the fields of the GPU group and have the labels of whole GPUs, never those of MIG
// instances. (dcgm-exporter confuses the two: it looks up the number of an instance among the
// GPUs.) Part of the DCGM view, which passes its label blocks.  Pure function; called on the tick
// thread.
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

// Returns the label blocks of the rows of a GPU with these additional labels: one block, or one for
// each of its jobs.
using GpuBlocks = std::function<std::vector<uint32_t>(
    EntityId gpu, const std::map<std::string, std::string>& more)>;

// Adds the families that the counters of `input` name.  Counts are for the GPUs of `devices` and of
// its instances; health and peer paths are for every GPU.
void AddDcgmFindings(const ViewInput& input, const std::vector<EntityId>& devices,
                     const GpuBlocks& blocks, PlanBuilder& plan);

}  // namespace podgpu
