// GPU nodes for tests and benchmarks of the rooms above the sources: topology, grid and owners,
// built directly, without any vendor library.
//
// The first two GPUs have the identities of the golden pages.  Every number follows from field id
// and column alone, so equal calls give equal nodes.  For tests; any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "attribution/owner.h"
#include "fields/counters_csv.h"
#include "sample/grid.h"
#include "topology/topology.h"

namespace podgpu {

// `gpu_count` GPUs with `instances_per_gpu` MIG instances each (0: MIG is off), epoch 1.
std::shared_ptr<const Topology> MakeTopology(size_t gpu_count, size_t instances_per_gpu);

// The fields of `counters` and of `more_ids`, in the order that a grid needs.
std::vector<const Field*> FieldsOf(const std::vector<Counter>& counters,
                                   const std::vector<uint16_t>& more_ids = {});

// A grid in which every cell of a numeric or text field has a value.
Grid FilledGrid(std::shared_ptr<const Topology> topology, std::vector<const Field*> fields);

// Owners with `pods_per_entity` pods for each instance, and for each GPU without instances.
Owners OwnersFor(const Topology& topology, size_t pods_per_entity);

// ParseCounters of a valid text.
std::vector<Counter> CountersOf(std::string_view csv);

}  // namespace podgpu
