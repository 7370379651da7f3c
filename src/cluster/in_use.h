// Computes the mean utilisation of the devices in use; idle devices do not lower it.
//
// The option --in-use defines what "in use" means.  One family has the name of the utilisation
// exporter that the cluster role replaces.  The other families are podgpu's own, for the whole
// cluster and for each workload of each namespace.  A device without a known value does not count.
// Pure functions; called on the tick thread.
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

// The condition for a device to count: --in-use.
enum class InUseMeaning : uint8_t {
  kValue,    // The value itself is not zero.
  kPod,      // A pod holds it.
  kProcess,  // A process is on it.
};
StatusOr<InUseMeaning> ParseInUseMeaning(std::string_view word);

// The averaged quantities, as shares from 0 to 1.  The words are values of the label `measure`.
enum class InUseMeasure : uint8_t { kMemoryCopy, kSm, kTensor, kMemoryFill };
inline constexpr size_t kInUseMeasureCount = 4;

std::string_view InUseMeasureName(InUseMeasure measure);

// Returns the measure of `use`, from 0 to 1; empty if it is not known.
std::optional<double> InUseShare(const DeviceUse& use, InUseMeasure measure);

// Returns whether a device with this share of a measure is in use; empty if that is unknown.
std::optional<bool> IsInUse(const DeviceUse& use, double share, InUseMeaning meaning);

// The number of devices that count, and the sum of their shares.
struct InUseSum {
  uint64_t devices = 0;
  double shares = 0;
  uint64_t unknown = 0;  // Devices that do not count because their value is not known.
  // Empty if no device counts.
  std::optional<double> mean() const {
    return devices == 0 ? std::nullopt : std::optional(shares / static_cast<double>(devices));
  }
};
using InUseSums = std::array<InUseSum, kInUseMeasureCount>;

struct InUse {
  // True for each measure to which a source has answered, even if it has no device.
  std::array<bool, kInUseMeasureCount> is_known{};
  // The value of avg_GPU_utilization: the mean memory-copy utilisation in percent over the whole
  // GPUs where it is not zero; 0 if there are none.
  double memory_copy_percent = 0;
  InUseSums all{};
  // The sums of each workload, by namespace and workload; names are borrowed from the source.  A
  // device with several holders counts for each of them.
  std::map<std::pair<std::string_view, std::string_view>, InUseSums> workloads;
};
InUse SumInUse(const ClusterMap& map, bool is_known, InUseMeaning meaning);

// Returns the workload of a pod: its name without the number of a StatefulSet and without the
// random suffixes of ReplicaSet, Job and Deployment.
std::string_view WorkloadOf(std::string_view pod);

// InUseFamilies returns the families, whose slots start at `first_slot`; WriteInUseSlots appends
// their values.
std::vector<SlotFamily> InUseFamilies(const InUse& in_use, uint32_t first_slot);
void WriteInUseSlots(const InUse& in_use, std::vector<Value>& slots);

}  // namespace podgpu
