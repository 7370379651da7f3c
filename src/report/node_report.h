// What a node tells the cluster role: its devices, who holds them, and how hard they are used.
//
// The node role writes one as the JSON of GET /api/v1/node, the cluster role reads it back; both
// directions stand here, made from the same table of measures, so that they cannot drift apart.
// docs/api.md describes the bytes.  What a node does not know is absent, never a sentinel.  Plain
// data and pure functions; any thread.
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

// The number under "schema"; it grows only when an old reader would misunderstand a new report.
inline constexpr int64_t kNodeReportSchema = 1;

// What is told of a device's use.  The order is that of the JSON and of InUseMeasures().
enum class UseMeasure : uint8_t {
  kUtilization,
  kMemoryCopy,
  kSmActive,
  kTensorActive,
  kMemoryUsed,
  kMemoryTotal,
};
inline constexpr size_t kUseMeasureCount = 6;

struct UseMeasureRow {
  UseMeasure measure;
  std::string_view key;  // In the JSON, with its unit last.
  uint16_t field_id;     // Of DCGM.
  double scale;          // From DCGM's unit to that of the key.
  double most;           // No honest value is larger.
};
// By UseMeasure.
std::span<const UseMeasureRow> UseMeasures();

// A value and how old its sample was when the node read it.
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
  std::string claim;     // Its name; empty where a device plugin gave the device.
  auto operator<=>(const ReportedOwner&) const = default;
};

// Who holds a GPU or an instance, and how hard it is used.
struct DeviceUse {
  std::array<std::optional<UseValue>, kUseMeasureCount> values;
  std::vector<ReportedOwner> owners;
  uint32_t hidden_owners = 0;         // In namespaces that the node does not name.
  std::optional<uint32_t> processes;  // On it now; nothing where the node does not read them.

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
  std::string model;  // In full: "NVIDIA H100 80GB HBM3".
  std::string state;  // A word of topology/device_state.h.
  DeviceUse use;
  std::vector<ReportedInstance> instances;
  bool operator==(const ReportedGpu&) const = default;
};

struct NodeReport {
  std::string version;  // Of podgpu there.
  std::string node;
  bool ready = false;
  std::string verdict;        // In the words of /readyz.
  bool owners_known = false;  // Otherwise the kubelet has not answered, or too long ago.
  std::vector<ReportedGpu> gpus;
  bool operator==(const NodeReport&) const = default;
};

std::string WriteNodeReport(const NodeReport& report);

// What a reader takes of one node; what is beyond is no node.
struct NodeReportLimits {
  size_t most_gpus = 256;
  size_t most_instances = 64;     // Of one GPU.
  size_t most_owners = 8'192;     // Of the whole node.
  size_t most_text_bytes = 1024;  // Of one text.
};

// Reads a report and believes none of it: types, ranges, limits, UUIDs that are there twice.
// kInvalidArgument with one line that says what is wrong, without the node's name; for another
// schema kUnimplemented.  Keys that are not known are passed over.
StatusOr<NodeReport> ReadNodeReport(std::string_view json, const NodeReportLimits& limits = {});

}  // namespace podgpu
