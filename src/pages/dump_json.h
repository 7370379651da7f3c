// The JSON of a dump: the values of one reading with the identity of their devices, before owners
// and views are applied, and the devices themselves, in the format of dcgm-exporter's dumps.
//
// A dump shows whether a wrong number came from the driver or was made wrong by podgpu.  Neither a
// scrape nor a tick runs this code.  Pure functions; any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "fields/counters_csv.h"
#include "sample/grid.h"
#include "view/view.h"

namespace podgpu {

enum class DumpGroup : uint8_t { kGpu, kNvSwitch, kNvLink, kCpu, kCpuCore };
inline constexpr std::array<DumpGroup, 5> kDumpGroups = {DumpGroup::kGpu, DumpGroup::kNvSwitch,
                                                         DumpGroup::kNvLink, DumpGroup::kCpu,
                                                         DumpGroup::kCpuCore};
// Returns "GPU", "NvSwitch", "NvLink", "CPU" or "CPU Core".
std::string_view DumpGroupName(DumpGroup group);

// All borrowed for the call.
struct DumpInput {
  const Grid& grid;
  const std::vector<Counter>& counters;
  const ViewOptions& options;
};

// {"metrics": {NAME: [{"counter", "value", "gpu", ...}]}}; empty where the group has no value.
std::string MetricsDump(const DumpInput& input, DumpGroup group);

// {"gpu_count", "gpus", "switches", "cpus", "gpu_options", ..., "info_type"}.
std::string DeviceInfoDump(const DumpInput& input, DumpGroup group);

}  // namespace podgpu
