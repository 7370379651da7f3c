// XIDs by the container that held the GPU when the driver reported them: whom a fault has hit.
//
// Who held what is for the tick to say (usage/pod_xid_counts.h); here are the family and its
// lines.  They refer to slots, which the tick appends each time behind those of the findings.
// Pure functions; the tick thread calls them.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exposition/series_plan.h"
#include "sample/value.h"

namespace podgpu {

// One line.
struct PodXid {
  uint32_t gpu_id = 0;
  std::string uuid;  // Of the GPU.
  int64_t code = 0;
  std::string pod_namespace;
  std::string pod;
  std::string container;
  bool shared = false;  // Others held the GPU, or parts of it, at the same time.
  auto operator<=>(const PodXid&) const = default;
};

// For docs/metrics.md too.
Family PodXidFamily();

// Adds a line for each of `rows`, whose number is in the slot of the same place from `first_slot`
// on.
void AddPodXids(std::span<const PodXid> rows, uint32_t first_slot, PlanBuilder& plan);

}  // namespace podgpu
