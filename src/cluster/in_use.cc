#include "cluster/in_use.h"

#include <algorithm>

namespace podgpu {
namespace {

constexpr std::string_view kMeasureNames[] = {"memory_copy", "sm", "tensor", "memory_fill"};
static_assert(std::size(kMeasureNames) == kInUseMeasureCount);
constexpr double kPercentPerShare = 100;

void AddDevice(const DeviceUse& use, InUseMeaning meaning, InUseSums& sums) {
  for (size_t i = 0; i < kInUseMeasureCount; ++i) {
    const std::optional<double> share = InUseShare(use, static_cast<InUseMeasure>(i));
    if (!share) {
      ++sums[i].unknown;
      continue;
    }
    const std::optional<bool> in_use = IsInUse(use, *share, meaning);
    if (!in_use) {
      ++sums[i].unknown;
    } else if (*in_use) {
      ++sums[i].devices;
      sums[i].shares += *share;
    }
  }
}

double MeanMemoryCopyPercent(const ClusterMap& map) {
  double sum = 0;
  uint64_t count = 0;
  for (const ReportedGpu* const gpu : map.gpus) {
    const std::optional<UseValue>& value = gpu->use.of(UseMeasure::kMemoryCopy);
    if (value && value->value > 0) {
      sum += value->value;
      ++count;
    }
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

// Counts each workload once, even if several of its pods and containers hold the device.
void AddToWorkloads(const DeviceUse& use, InUseMeaning meaning, InUse& in_use) {
  std::vector<std::pair<std::string_view, std::string_view>> workloads;
  for (const ReportedOwner& owner : use.owners) {
    const std::pair<std::string_view, std::string_view> workload(owner.pod_namespace,
                                                                 WorkloadOf(owner.pod));
    if (std::ranges::count(workloads, workload) == 0) {
      workloads.push_back(workload);
      AddDevice(use, meaning, in_use.workloads[workload]);
    }
  }
}

void AddUse(const DeviceUse& use, InUseMeaning meaning, InUse& in_use) {
  AddDevice(use, meaning, in_use.all);
  AddToWorkloads(use, meaning, in_use);
}

// Kubernetes adds random characters of this alphabet to names (k8s.io/apimachinery, util/rand.go).
// It has no vowels and no digits that look like letters.
bool IsDrawn(std::string_view part, size_t shortest, size_t longest) {
  constexpr std::string_view kDrawn = "bcdfghjklmnpqrstvwxz2456789";
  return part.size() >= shortest && part.size() <= longest &&
         part.find_first_not_of(kDrawn) == std::string_view::npos;
}

struct Cut {
  std::string_view head, tail;
};
Cut CutLast(std::string_view name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) {
    return {name, {}};
  }
  return {name.substr(0, dash), name.substr(dash + 1)};
}

Family InUseFamily(std::string_view name, std::string_view help, std::string_view unit) {
  Family family;
  family.name = name;
  family.help = help;
  family.type = "gauge";
  family.unit = unit;
  return family;
}

Value MeanOf(const InUseSum& sum) {
  const std::optional<double> mean = sum.mean();
  return mean ? Value::OfDouble(*mean) : Value::OfAbsence(Absence::kNoData);
}

// Adds the two families of sums under `prefix`: the number of devices, and their mean.
void AddSumFamilies(std::string_view prefix, std::string_view whose,
                    const std::vector<std::vector<Label>>& labels, uint32_t& slot,
                    std::vector<SlotFamily>& families) {
  const std::string devices = std::string(prefix) + "in_use_devices";
  const std::string ratio = std::string(prefix) + "in_use_ratio";
  SlotFamily counts{
      InUseFamily(devices, "GPUs and MIG instances in use" + std::string(whose) + ".", ""), {}};
  SlotFamily means{InUseFamily(ratio,
                               "Mean over the GPUs and MIG instances in use" + std::string(whose) +
                                   ", from 0 to 1.",
                               "ratio"),
                   {}};
  for (const std::vector<Label>& one : labels) {
    for (const std::string_view measure : kMeasureNames) {
      std::vector<Label> all = one;
      all.push_back({"measure", std::string(measure)});
      counts.series.push_back({all, slot++});
      means.series.push_back({std::move(all), slot++});
    }
  }
  families.push_back(std::move(counts));
  families.push_back(std::move(means));
}

Value CountOf(bool is_known, uint64_t count) {
  return is_known ? Value::OfInt64(static_cast<int64_t>(count))
                  : Value::OfAbsence(Absence::kNoData);
}

void WriteSums(const InUse& in_use, const InUseSums& sums, std::vector<Value>& slots) {
  for (size_t i = 0; i < kInUseMeasureCount; ++i) {
    slots.push_back(CountOf(in_use.is_known[i], sums[i].devices));
    slots.push_back(MeanOf(sums[i]));
  }
}

SlotFamily UnknownFamily(uint32_t& slot) {
  SlotFamily family{
      InUseFamily("podgpu_in_use_unknown_devices",
                  "GPUs and MIG instances that do not count because their value is not known.", ""),
      {}};
  for (const std::string_view measure : kMeasureNames) {
    family.series.push_back({{{"measure", std::string(measure)}}, slot++});
  }
  return family;
}

}  // namespace

std::optional<bool> IsInUse(const DeviceUse& use, double share, InUseMeaning meaning) {
  switch (meaning) {
    case InUseMeaning::kValue:
      return share > 0;
    case InUseMeaning::kPod:
      return !use.owners.empty() || use.hidden_owners > 0;
    case InUseMeaning::kProcess:
      return use.processes ? std::optional(*use.processes > 0) : std::nullopt;
  }
  return std::nullopt;
}

StatusOr<InUseMeaning> ParseInUseMeaning(std::string_view word) {
  if (word == "value") {
    return InUseMeaning::kValue;
  }
  if (word == "pod") {
    return InUseMeaning::kPod;
  }
  if (word == "process") {
    return InUseMeaning::kProcess;
  }
  return absl::InvalidArgumentError("must be \"value\", \"pod\" or \"process\"");
}

std::string_view InUseMeasureName(InUseMeasure measure) {
  return kMeasureNames[static_cast<size_t>(measure)];
}

std::optional<double> InUseShare(const DeviceUse& use, InUseMeasure measure) {
  const auto value = [&use](UseMeasure of) {
    return use.of(of) ? std::optional(use.of(of)->value) : std::nullopt;
  };
  switch (measure) {
    case InUseMeasure::kMemoryCopy: {
      const std::optional<double> percent = value(UseMeasure::kMemoryCopy);
      return percent ? std::optional(*percent / kPercentPerShare) : std::nullopt;
    }
    case InUseMeasure::kSm:
      return value(UseMeasure::kSmActive);
    case InUseMeasure::kTensor:
      return value(UseMeasure::kTensorActive);
    case InUseMeasure::kMemoryFill: {
      const std::optional<double> used = value(UseMeasure::kMemoryUsed);
      const std::optional<double> total = value(UseMeasure::kMemoryTotal);
      return used && total && *total > 0 ? std::optional(*used / *total) : std::nullopt;
    }
  }
  return std::nullopt;
}

InUse SumInUse(const ClusterMap& map, bool is_known, InUseMeaning meaning) {
  InUse in_use;
  in_use.is_known.fill(is_known);
  in_use.memory_copy_percent = MeanMemoryCopyPercent(map);
  for (const ReportedGpu* const gpu : map.gpus) {
    if (gpu->instances.empty()) {
      AddUse(gpu->use, meaning, in_use);
    }
    for (const ReportedInstance& instance : gpu->instances) {
      AddUse(instance.use, meaning, in_use);
    }
  }
  return in_use;
}

// Works on the name alone: reports of nodes do not have the owners of pods.  Only suffixes in the
// alphabet and length that Kubernetes uses are removed, so a pod named "train-large" keeps its
// name.
std::string_view WorkloadOf(std::string_view pod) {
  constexpr size_t kPodLetters = 5;        // The suffix of every pod that a controller creates.
  constexpr size_t kShortestTemplate = 6;  // The suffix of a Deployment's ReplicaSet.
  constexpr size_t kLongestTemplate = 10;
  const auto [head, tail] = CutLast(pod);
  if (tail.empty()) {
    return pod;
  }
  if (tail.find_first_not_of("0123456789") == std::string_view::npos) {
    return head;
  }
  if (!IsDrawn(tail, kPodLetters, kPodLetters)) {
    return pod;
  }
  const auto [deployment, hash] = CutLast(head);
  return IsDrawn(hash, kShortestTemplate, kLongestTemplate) ? deployment : head;
}

std::vector<SlotFamily> InUseFamilies(const InUse& in_use, uint32_t first_slot) {
  std::vector<SlotFamily> families;
  uint32_t slot = first_slot;
  Family mean = InUseFamily("avg_GPU_utilization",
                            "Average GPU utilization of GPUs currently being used.", "");
  mean.format = NumberFormat::kFloat;
  families.push_back({std::move(mean), {{{}, slot++}}});
  AddSumFamilies("podgpu_", "", {{}}, slot, families);
  families.push_back(UnknownFamily(slot));
  std::vector<std::vector<Label>> workloads;
  workloads.reserve(in_use.workloads.size());
  for (const auto& [workload, sums] : in_use.workloads) {
    workloads.push_back(
        {{"namespace", std::string(workload.first)}, {"workload", std::string(workload.second)}});
  }
  AddSumFamilies("podgpu_workload_", " that pods of the workload hold", workloads, slot, families);
  return families;
}

void WriteInUseSlots(const InUse& in_use, std::vector<Value>& slots) {
  constexpr auto kMemoryCopy = static_cast<size_t>(InUseMeasure::kMemoryCopy);
  slots.push_back(in_use.is_known[kMemoryCopy] ? Value::OfDouble(in_use.memory_copy_percent)
                                               : Value::OfAbsence(Absence::kNoData));
  WriteSums(in_use, in_use.all, slots);
  for (size_t i = 0; i < kInUseMeasureCount; ++i) {
    slots.push_back(CountOf(in_use.is_known[i], in_use.all[i].unknown));
  }
  for (const auto& [workload, sums] : in_use.workloads) {
    WriteSums(in_use, sums, slots);
  }
}

}  // namespace podgpu
