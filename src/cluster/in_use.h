// How hard the devices that are in use are used: the mean over those alone, so that idle ones do
// not dilute it.
//
// What "in use" means is a choice.  The families are the one of the cluster utilisation exporter
// (docs/compatibility.md) and our own: the whole cluster, and each workload of
// each namespace.  A device whose value is not known counts nowhere.  Pure functions; the tick
// thread calls them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cluster/cluster_map.h"
#include "sample/value.h"
#include "view/view.h"

namespace podgpu {

// When a device counts: --in-use.
enum class InUseMeaning : uint8_t {
  kValue,    // The value itself is not zero.
  kPod,      // A pod holds it.
  kProcess,  // A process is on it.
};
StatusOr<InUseMeaning> ParseInUseMeaning(std::string_view word);

// What is averaged, as shares from 0 to 1.  The words are values of the label `measure`.
enum class InUseMeasure : uint8_t { kMemoryCopy, kSm, kTensor, kMemoryFill };
inline constexpr size_t kInUseMeasureCount = 4;

std::string_view InUseMeasureName(InUseMeasure measure);

// Of `use`, from 0 to 1; nothing where it is not known.
std::optional<double> InUseShare(const DeviceUse& use, InUseMeasure measure);

// Devices that count, and the sum of their shares.
struct InUseSum {
  uint64_t devices = 0;
  double shares = 0;
  uint64_t unknown = 0;  // Devices that do not count since their value is not known.
  // Nothing where no device counts.
  std::optional<double> mean() const {
    return devices == 0 ? std::nullopt : std::optional(shares / static_cast<double>(devices));
  }
};
using InUseSums = std::array<InUseSum, kInUseMeasureCount>;

struct InUse {
  // By measure: some source tells of it, be it that there is nothing to tell of.
  std::array<bool, kInUseMeasureCount> is_known{};
  // Mean memory-copy utilisation in percent over whole GPUs where it is not zero; 0 where that is
  // none: what avg_GPU_utilization says.
  double memory_copy_percent = 0;
  InUseSums all{};
  // By namespace and workload; names are borrowed from the source.  A device that several hold
  // counts for each of them.
  std::map<std::pair<std::string_view, std::string_view>, InUseSums> workloads;
};
InUse SumInUse(const ClusterMap& map, bool is_known, InUseMeaning meaning);

// The name of what made a pod: without the number of a StatefulSet, and without the letters that a
// ReplicaSet or Job and its Deployment add.
std::string_view WorkloadOf(std::string_view pod);

// The families, in slots from `first_slot` on, and their values.
std::vector<SlotFamily> InUseFamilies(const InUse& in_use, uint32_t first_slot);
void WriteInUseSlots(const InUse& in_use, std::vector<Value>& slots);

}  // namespace podgpu
