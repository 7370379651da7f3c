// The figures of all GPUs and pods over the window, ready for questions.
//
// window_tables.h makes them, for the metrics API each 5 s; questions read them. Texts are
// stored once, and rows refer to them by number, so that a selector is checked once for each text
// and not for each row. A figure has the time of the oldest sample in it; an unknown figure is
// absent. Immutable once published; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics_api/values/metric_names.h"

namespace podgpu {

struct TimedValue {
  double value = 0;
  int64_t oldest_ms = 0;  // Time of the oldest sample, in milliseconds since 1970.
};

// The values of the label `measure`: what avg_gpu_utilization averages.
enum class AveragedMeasure : uint8_t { kMemoryCopy, kSm, kTensor, kMemoryFill };
inline constexpr size_t kAveragedMeasureCount = 4;
inline constexpr std::array<std::string_view, kAveragedMeasureCount> kAveragedMeasureNames = {
    "memory_copy", "sm", "tensor", "memory_fill"};

// The samples of a device in the window, by measure.
struct InUseTally {
  double shares = 0;      // Sum over the samples in which the device is in use, each from 0 to 1.
  uint32_t in_use = 0;    // Number of these samples.
  uint32_t known = 0;     // Number of samples with a value.
  int64_t oldest_ms = 0;  // Time of the oldest of the samples with a value.
};

// A GPU, or an instance of a GPU in MIG mode.
struct TableDevice {
  uint32_t node = 0;   // Index in MetricsTable::nodes.
  uint32_t model = 0;  // Index in MetricsTable::models.
  std::array<InUseTally, kAveragedMeasureCount> in_use{};
  std::optional<TimedValue> memory_bytes;
  std::optional<TimedValue> power_watts;
};

// A device that pods of a namespace hold.
struct TableHolding {
  uint32_t name_space = 0;
  uint32_t device = 0;
  uint32_t first_workload = 0;  // Index in MetricsTable::held_by, of `workload_count` entries.
  uint32_t workload_count = 0;
};

// A whole GPU.
struct TableGpu {
  uint32_t node = 0;
  uint32_t model = 0;
  bool is_free = false;  // Works, and no container holds it or a part of it.
  int64_t read_ms = 0;
};

struct TablePod {
  uint32_t name_space = 0;
  uint32_t workload = 0;
  uint32_t node = 0;
  uint32_t model = 0;  // Model of its first GPU.
  std::string name;
  std::array<std::optional<TimedValue>, kPodMetricCount> values{};
  bool shares_gpu = false;  // Other pods hold one of its devices, too.
  // Idle in each sample of each of its devices; unknown when a sample does not tell.
  std::optional<bool> is_idle;
  int64_t oldest_ms = 0;  // Time of the oldest of these samples.
};

// A device that may be in use without a sample that says so.
struct TableUnknown {
  enum class Kind : uint8_t {
    kOfPod,   // Of a node that no longer answers; the pod below held it.
    kOfNone,  // Likewise; no pod held it whose name is known.
    kOfAny,   // The node does not tell, or did not tell at last, which pods hold it.
  };
  Kind kind = Kind::kOfNone;
  bool is_away = false;  // Its node no longer answers.
  uint32_t node = 0, model = 0;
  uint32_t name_space = 0, workload = 0;  // For kOfPod.
};

struct MetricsTable {
  int64_t end_ms = 0;  // End of the window, since 1970; for the metrics API a multiple of 5 s.
  std::vector<std::string> nodes, models, workloads, namespaces;
  std::vector<std::string> label_keys;  // Keys of node labels that selectors may use.
  // Values of `label_keys`: one row per node, one value per key.
  std::vector<std::vector<std::optional<std::string>>> node_labels;
  std::vector<TableDevice> devices;
  std::vector<TableHolding> holdings;  // Sorted by namespace.
  std::vector<uint32_t> held_by;       // Indices in workloads.
  std::vector<TableGpu> gpus;          // GPUs of the nodes that know the holders.
  std::vector<TablePod> pods;          // Sorted by namespace, then by name.
  size_t nodes_without_holders = 0;    // Nodes with GPUs whose kubelet does not tell the holders.
  size_t live_nodes = 0;               // Nodes that count; in `nodes` others follow them.
  std::vector<TableUnknown> unknown;
  size_t nodes_unread = 0;           // Nodes that have not answered yet.
  bool may_have_more_nodes = false;  // The list of nodes is not complete.
  bool has_hidden_pods = false;      // Some nodes do not tell all names (--api-namespaces).

  // Number of bytes that it occupies, about.
  size_t bytes() const;
};

}  // namespace podgpu
