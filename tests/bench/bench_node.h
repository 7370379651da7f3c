// The nodes of the benchmarks: their scenario, their counters file, and its fields.
//
// Every board is an H100 and every device has a pod.  Whole GPUs and MIG instances both have all
// sixty fields, so the number of series is a product.  Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace podgpu {

struct NodeSize {
  size_t gpus = 8;
  size_t instances_per_gpu = 0;  // 0: MIG is off.
  size_t devices() const { return instances_per_gpu > 0 ? gpus * instances_per_gpu : gpus; }
};

// The scenario file of such a node.
std::string ScenarioOf(const NodeSize& size);

// A counters file of sixty lines.
std::string SixtyCounters();

// The ids that podgpu reads for them, those of its native view included.
std::vector<uint16_t> FieldsReadForSixtyCounters();

}  // namespace podgpu
