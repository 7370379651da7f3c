// The releases of dcgm-exporter whose page podgpu writes, and what differs between them.
//
// The page, its labels and the default list changed between releases, and queries of users depend
// on each.  --dcgm-exporter-version names the release; one table here says what follows from it,
// and docs/compatibility.md has the same rows.  Immutable; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "exposition/series_plan.h"
#include "fields/counters_csv.h"

namespace podgpu {

struct DcgmExporterVersion {
  std::string_view name;            // "4.8.2", as in the flag.
  std::string_view hostname_label;  // "Hostname" or "hostname".
  NumberFormat numbers = NumberFormat::kDcgm;
  // Families stand in the order of their names, lines in that of SortKeyOf; else in the order of
  // field ids and devices.
  bool is_sorted = false;
  // DCGM_EXP_GPU_HEALTH_STATUS has health_error_category and health_error_severity.
  bool has_health_kinds = false;
  // Metrics that are read on a compute instance (memory, profiling) have GPU_CI_ID, if the GPU
  // instance has exactly one.
  bool has_compute_instance_ids = false;
  // With an engine of DCGM 4.6, DCGM_FI_DEV_GPU_UTIL_RATIO is the percentage DCGM_FI_DEV_GPU_UTIL.
  bool util_ratio_is_percent_of_4_6 = true;
  ListsOfRelease lists;
};

// Oldest first; the first is the default.
std::span<const DcgmExporterVersion> DcgmExporterVersions();

// Returns the release of that name, or null. "4.9.0" is another name of "4.9".
const DcgmExporterVersion* FindDcgmExporterVersion(std::string_view name);

}  // namespace podgpu
