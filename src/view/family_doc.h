// The description of a metric family, for `podgpu help metrics` and docs/metrics.md.
//
// Each view describes its families beside the code that writes their lines.  The list of sections
// (exporter/page_sections.h) collects the descriptions.  Plain data; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exposition/series_plan.h"
#include "view/shown.h"

namespace podgpu {

struct FamilyDoc {
  Family family;
  std::string labels = {};  // Names in the order of a line: "gpu,UUID".  Empty: no labels.
  std::vector<uint16_t> field_ids = {};  // The fields that feed it.  Empty: podgpu computes it.
  Shown shown = Shown::kAlways;          // Differs only if it is the same for all of its lines.
};

}  // namespace podgpu
