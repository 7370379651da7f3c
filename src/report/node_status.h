// The status of a node for people: what its page and `podgpu top` show of devices, owners, pods and
// podgpu itself.
//
// The node role makes one NodeStatus per snapshot, renders it as the page `/`, and writes it as the
// JSON of GET /api/v1/status; `podgpu top` parses that JSON.  docs/api.md describes the keys.  A
// number that the node cannot read is absent, with its reason in `missing`; a number that is
// apportioned to processes instead of measured says so (`Use::is_apportioned`).  Times of the day
// are milliseconds since 1970 in UTC.  Plain data and pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

// The number under "schema".  It increases only when an old reader would misunderstand a new
// status.
inline constexpr int64_t kNodeStatusSchema = 1;

// A container that holds a device.
struct StatusHolder {
  std::string pod_namespace;
  std::string pod;
  std::string container;
  bool operator==(const StatusHolder&) const = default;
};

// The use of one device, or of all devices of a pod, by a pod or a process.
struct StatusUse {
  std::optional<double> sm_ratio;  // SM activity, or the share of SM time of a process; 0 to 1.
  std::optional<uint64_t> memory_bytes;
  std::optional<double> power_watts;
  // Energy since the holder got the device, or the process started.
  std::optional<double> energy_joules;
  bool is_apportioned =
      false;  // Power and energy are a share of the device's, by SM time; shown with "~".
  // Method of the energy: "exclusive", "sm_share", "equal", ...; empty if unknown.
  std::string method;
  bool operator==(const StatusUse&) const = default;
};

// A part of a device's use: one pod's, or the rest that belongs to none (`holder` empty).  The
// watts of all shares of a device add up to the device's watts.
struct StatusShare {
  std::optional<StatusHolder> holder;  // Absent: "unattributed", always the last share.
  StatusUse use;
  std::optional<int64_t> idle_since_ms;  // Start of the idle time of this holder on this device.
  bool operator==(const StatusShare&) const = default;
};

struct StatusInstance {
  uint32_t gpu_instance_id = 0;
  std::string profile;  // "1g.10gb"
  std::optional<double> sm_ratio;
  std::optional<uint64_t> memory_used_bytes, memory_total_bytes;
  std::vector<StatusHolder> holders;
  uint32_t hidden_holders = 0;  // Holders in namespaces that the node must not name.
  bool operator==(const StatusInstance&) const = default;
};

struct StatusGpu {
  uint32_t index = 0;  // The label `gpu`.
  std::string uuid, model, pci_bus_id;
  std::string state;                // "ok", "degraded", "unresponsive", "lost", "recovering"
  std::optional<int64_t> since_ms;  // When this state began; absent for "ok" and if unknown.
  std::string
      owners;  // In words: "research/llama-train-0", "4 pods, shared", "free", "not known: ...".
  std::vector<StatusHolder> holders;
  uint32_t hidden_holders = 0;

  std::optional<double> utilization_ratio;  // Time with any kernel, 0 to 1 (DCGM 203).
  std::optional<double> sm_active_ratio, tensor_active_ratio, dram_active_ratio;
  std::optional<uint64_t> memory_used_bytes, memory_total_bytes;
  std::optional<double> temperature_celsius, slowdown_celsius;
  std::optional<double> power_watts, power_limit_watts;
  std::optional<double> energy_joules;  // Since podgpu first read the energy counter.
  std::optional<double> sm_clock_mhz;
  std::vector<std::string> throttle_reasons;  // Names without prefix: "sw_thermal".
  std::optional<int64_t>
      idle_since_ms;  // Last kernel; only while allocated and idle for 5 minutes or more.
  bool idle_for_longer = false;  // The spell is older than this exporter: shown as ">14m".

  // Shares of several holders or processes; empty for a single holder.
  std::vector<StatusShare> shares;
  std::vector<StatusInstance> instances;  // Instances of a GPU in MIG mode.
  bool operator==(const StatusGpu&) const = default;
};

// All GPUs of one pod, or the unattributed rest of the node (`holder` without names, always last).
struct StatusPod {
  std::string pod_namespace, pod;
  std::vector<uint32_t> gpus;
  StatusUse use;
  std::optional<int64_t> idle_since_ms;
  bool operator==(const StatusPod&) const = default;
};

struct StatusProcess {
  uint32_t pid = 0;
  uint32_t gpu = 0;
  std::string type;  // "C", "G", "C+G"; empty if the driver does not tell.
  std::string name;  // The command's name, empty if hidden.
  std::optional<StatusHolder> holder;
  StatusUse use;
  std::optional<int64_t> started_ms;
  bool operator==(const StatusProcess&) const = default;
};

// A fault, in words, most severe first: the banner of the page and the last line of `top`.
struct StatusFault {
  std::string state;            // One of the state words.
  std::optional<uint32_t> gpu;  // Absent: the fault is of a part of podgpu.
  std::string text;             // "GPU 3 is lost since 14:01:07: XID 79, it left the PCIe bus."
  std::string remedy;           // "Reboot the node."; may be empty.
  std::string explain;          // Query of /explain: "gpu=3"; empty if there is none.
  bool operator==(const StatusFault&) const = default;
};

// Values that podgpu was asked for and cannot show.
struct StatusMissing {
  std::string what;    // "NVLink errors", in the words of the field catalogue.
  std::string gpus;    // "0-7"; empty: not of single GPUs.
  std::string reason;  // "the driver says \"not supported\""
  std::string explain;
  bool operator==(const StatusMissing&) const = default;
};

struct StatusPart {
  std::string part, state, detail;  // As in Condition::parts.
  bool operator==(const StatusPart&) const = default;
};

// The cost of podgpu itself.
struct StatusSelf {
  std::optional<uint64_t> resident_bytes;
  std::optional<double> cpu_ratio;  // Share of one core since the previous status or the start.
  uint64_t series = 0;
  std::optional<double> slowest_scrape_seconds;
  bool operator==(const StatusSelf&) const = default;
};

// The samples of the last minutes of one GPU, oldest first; -1: no sample.  Percent of the whole:
// SM activity and utilization 0-100, memory of its total, power of its limit.  An older podgpu
// sends no utilization.
struct StatusHistory {
  uint32_t gpu = 0;
  std::vector<int8_t> sm, memory, power;
  std::vector<int8_t> utilization = {};
  bool operator==(const StatusHistory&) const = default;
};

struct NodeStatus {
  std::string version;  // Version of podgpu.
  std::string node;
  std::string source;  // "nvml", "dcgm"
  std::string driver_version;
  bool ready = false;
  std::string verdict;  // The sentence of /readyz.
  bool owners_known = false;
  std::optional<int64_t> sampled_at_ms;  // Start of the newest reading; absent before the first.
  int64_t interval_ms = 0;               // Time between readings.
  int64_t stale_after_ms = 0;            // Age at which values are withdrawn.
  std::vector<StatusPart> parts;
  std::vector<StatusFault> faults;
  std::vector<StatusGpu> gpus;  // The JSON key is "devices".
  std::vector<StatusPod> pods;
  std::vector<StatusProcess> processes;  // Only with ?processes=1.
  std::vector<StatusMissing> missing;
  StatusSelf self;
  int64_t history_step_ms = 0;
  std::vector<StatusHistory> history;  // Only with ?history=1.
  bool operator==(const NodeStatus&) const = default;
};

std::string WriteNodeStatus(const NodeStatus& status);

// Parses and validates a status.  On failure kInvalidArgument with one line that states the
// problem; kUnimplemented for another schema.  Unknown keys are ignored, also in states.
StatusOr<NodeStatus> ReadNodeStatus(std::string_view json);

}  // namespace podgpu
