#include "health/selected_gpus.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/log.h"

namespace podgpu {
namespace {

// The GPUs that have no row in `rows`, neither of their own nor of an instance.
GpuSet ExcludedFrom(const std::vector<EntityId>& rows, const Topology& topology) {
  GpuSet excluded;
  for (size_t i = 0; i < std::min(topology.gpus.size(), kMaxJudgedGpus); ++i) {
    excluded.set(i);
  }
  for (const EntityId row : rows) {
    const size_t gpu = topology.entities[row.index].gpu;
    if (gpu < kMaxJudgedGpus) {
      excluded.reset(gpu);
    }
  }
  return excluded;
}

// Names the missing devices and the GPUs of this node.
std::string WarningOf(const std::string& missing, const Topology& topology) {
  std::string ids;
  for (const Gpu& gpu : topology.gpus) {
    absl::StrAppendFormat(&ids, "%s%d", ids.empty() ? "" : ", ", gpu.gpu_id);
  }
  return absl::StrFormat("%s. The GPUs of this node: %s. Correct --devices (-d)", missing,
                         ids.empty() ? "none" : ids);
}

}  // namespace

std::vector<std::string> SelectionWarnings(const DeviceSelections& selections,
                                           const Topology& topology) {
  const std::string missing = SelectEntities(selections.gpus, topology).missing;
  return missing.empty() ? std::vector<std::string>()
                         : std::vector<std::string>{WarningOf(missing, topology)};
}

void SelectedGpus::Take(const Topology& topology) {
  if (epoch_ == topology.epoch) {
    return;
  }
  epoch_ = topology.epoch;
  SelectedRows rows = SelectRows(selections_, topology);
  excluded_ = ExcludedFrom(rows.devices, topology);
  std::vector<std::string> warnings = SelectionWarnings(selections_, topology);
  for (const std::string& line : rows.missing) {
    const bool is_warned_of = !warnings.empty() && warnings.front().starts_with(line);
    if (std::ranges::count(missing_, line) == 0 && !is_warned_of) {
      Log(LogLevel::kInfo, line);
    }
  }
  missing_ = std::move(rows.missing);
  warnings_.Set(std::move(warnings));
}

}  // namespace podgpu
