// The report from a node to the cluster role: its devices, their owners, and their utilization.
//
// The node role writes the JSON of GET /api/v1/node, and the cluster role parses it. Writer and
// parser use the same table of measures, so they always agree. docs/api.md describes the format. A
// fact that the node does not know is absent, never a special number. Plain data and pure
// functions; any thread.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

// The number under "schema". It increases only when an old reader would misunderstand a new report.
inline constexpr int64_t kNodeReportSchema = 1;

// The measures of a device, in the order of the JSON and of UseMeasures().
enum class UseMeasure : uint8_t {
  kUtilization,
  kMemoryCopy,
  kSmActive,
  kTensorActive,
  kMemoryUsed,
  kMemoryTotal,
  kPower,
};
inline constexpr size_t kUseMeasureCount = 7;

struct UseMeasureRow {
  UseMeasure measure;
  std::string_view key;  // The JSON key, which ends with the unit.
  uint16_t field_id;     // DCGM's field id.
  double scale;          // Factor from DCGM's unit to the unit of the key.
  double most;           // The largest valid value.
};
// Returns the rows in the order of UseMeasure.
std::span<const UseMeasureRow> UseMeasures();

// A value and the age of its sample when the node read it.
struct UseValue {
  double value = 0;
  uint32_t age_ms = 0;
  bool operator==(const UseValue&) const = default;
};

struct ReportedOwner {
  std::string pod_namespace;
  std::string pod;
  std::string container;
  std::string resource;  // "nvidia.com/gpu"; empty for a claim.
  std::string claim;     // Name of the claim; empty when a device plugin gave the device.
  auto operator<=>(const ReportedOwner&) const = default;
};

// The use of a device by the processes of one pod; absent: the node cannot tell.
struct ReportedPodUse {
  std::string pod_namespace;
  std::string pod;
  std::optional<double> sm_percent;  // Share of SM time.
  std::optional<uint64_t> memory_bytes;
  // Energy since the node first saw the pod there; never falls.
  std::optional<double> energy_joules;
  bool operator==(const ReportedPodUse&) const = default;
};

// Owners and utilization of a GPU or an instance.
struct DeviceUse {
  std::array<std::optional<UseValue>, kUseMeasureCount> values;
  std::vector<ReportedOwner> owners;
  uint32_t hidden_owners = 0;  // Owners in namespaces that the node must not name.
  std::optional<uint32_t>
      processes;  // Processes on it now; absent when the node does not read processes.
  // The use of a whole GPU by pods; empty when the node does not read processes.
  std::vector<ReportedPodUse> pods = {};

  const std::optional<UseValue>& of(UseMeasure measure) const {
    return values[static_cast<size_t>(measure)];
  }
  bool operator==(const DeviceUse&) const = default;
};

struct ReportedInstance {
  uint32_t gpu_instance_id = 0;
  std::string profile;             // "1g.10gb"
  std::vector<std::string> uuids;  // "MIG-...", one per compute instance; empty without NVML.
  DeviceUse use;
  bool operator==(const ReportedInstance&) const = default;
};

struct ReportedGpu {
  uint32_t index = 0;  // The `gpu` label.
  std::string uuid;
  std::string model;  // The full name: "NVIDIA H100 80GB HBM3".
  std::string state;  // A name from topology/device_state.h.
  DeviceUse use;
  std::vector<ReportedInstance> instances;
  bool operator==(const ReportedGpu&) const = default;
};

struct NodeReport {
  std::string version;  // The podgpu version of the node.
  std::string node;
  bool ready = false;
  std::string verdict;        // The text of /readyz.
  bool owners_known = false;  // False: the kubelet has not answered, or its answer is too old.
  std::vector<ReportedGpu> gpus;
  bool operator==(const NodeReport&) const = default;
};

std::string WriteNodeReport(const NodeReport& report);

// Limits of the parser; a larger report is refused.
struct NodeReportLimits {
  size_t most_gpus = 256;
  size_t most_instances = 64;     // Limit per GPU.
  size_t most_owners = 8'192;     // Limit per node.
  size_t most_text_bytes = 1024;  // Limit per text.
};

// Parses and validates a report: types, ranges, limits, duplicate UUIDs. On failure
// kInvalidArgument with one line that states the problem without the node's name; kUnimplemented
// for another schema. Unknown keys are ignored.
StatusOr<NodeReport> ReadNodeReport(std::string_view json, const NodeReportLimits& limits = {});

}  // namespace podgpu
