// Counts XIDs by the container that held the GPU when the driver reported them.
//
// usage/pod_xid_counts.h counts; this file has the family and its lines.  They refer to slots,
// whose numbers the tick appends each time.  Pure functions; called on the tick thread.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exposition/series_plan.h"
#include "sample/value.h"
#include "view/family_doc.h"

namespace podgpu {

// One line.
struct PodXid {
  uint32_t gpu_id = 0;
  std::string uuid;  // UUID of the GPU.
  int64_t code = 0;
  std::string pod_namespace;
  std::string pod;
  std::string container;
  bool shared = false;  // Other containers held the GPU, or parts of it, at the same time.
  auto operator<=>(const PodXid&) const = default;
};

std::vector<FamilyDoc> PodXidFamilies();

// Adds a line for each of `rows`; row i has slot `first_slot` + i.
void AddPodXids(std::span<const PodXid> rows, uint32_t first_slot, PlanBuilder& plan);

}  // namespace podgpu
