#include "view/dcgm_exporter_version.h"

#include <algorithm>
#include <array>

namespace podgpu {
namespace {

constexpr NumberFormat kOld = NumberFormat::kDcgm;
constexpr NumberFormat kNew = NumberFormat::kGo;

constexpr ListsOfRelease k482 = {};
constexpr ListsOfRelease k483 = {.nvlink_bandwidth_type = "gauge"};
constexpr ListsOfRelease k490 = {.renamed_list = "default-counters-4.9.csv",
                                 .nvlink_bandwidth_type = "gauge"};

constexpr std::array kVersions = {
    DcgmExporterVersion{"4.8.2", "Hostname", kOld, false, false, false, false, k482},
    DcgmExporterVersion{"4.8.3", "hostname", kNew, true, true, false, true, k483},
    DcgmExporterVersion{"4.8.4", "hostname", kNew, true, true, true, true, k483},
    DcgmExporterVersion{"4.9", "hostname", kNew, true, true, true, false, k490},
};

}  // namespace

std::span<const DcgmExporterVersion> DcgmExporterVersions() { return kVersions; }

const DcgmExporterVersion* FindDcgmExporterVersion(std::string_view name) {
  if (name == "4.9.0") {  // Its full name; each patch release of 4.9 has the same page.
    name = "4.9";
  }
  const auto* const found = std::ranges::find(kVersions, name, &DcgmExporterVersion::name);
  return found == kVersions.end() ? nullptr : found;
}

}  // namespace podgpu
