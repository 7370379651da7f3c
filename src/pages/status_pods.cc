#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "pages/status_rows.h"

namespace podgpu {
namespace {

constexpr double kWattParts = 100;  // Watts are shown with two decimals.
constexpr double kProcessPercents = 100;
constexpr double kMillis = 1000;

template <typename Number>
void Sum(const std::optional<Number>& part, std::optional<Number>& sum) {
  if (part) {
    sum = sum.value_or(0) + *part;
  }
}

uint64_t WattPartsOf(const std::optional<double>& watts) {
  return watts ? static_cast<uint64_t>(std::llround(*watts * kWattParts)) : 0;
}

// A pod while its devices are added up.
struct PodSum {
  StatusPod pod;
  size_t with_sm = 0;
  bool is_idle = true;

  void Add(const StatusGpu& gpu, const StatusUse& use, const std::optional<int64_t>& idle_since) {
    pod.gpus.push_back(gpu.index);
    if (HasNoNumbers(gpu)) {
      return;
    }
    with_sm += use.sm_ratio ? 1U : 0U;
    Sum(use.sm_ratio, pod.use.sm_ratio);
    Sum(use.memory_bytes, pod.use.memory_bytes);
    Sum(use.power_watts, pod.use.power_watts);
    Sum(use.energy_joules, pod.use.energy_joules);
    pod.use.is_apportioned = pod.use.is_apportioned || use.is_apportioned;
    if (pod.use.method.empty() || use.is_apportioned) {
      pod.use.method = use.method;
    }
    is_idle = is_idle && idle_since;
    pod.idle_since_ms = std::max(pod.idle_since_ms, idle_since);
  }

  StatusPod Finish() {
    if (with_sm > 0 && pod.use.sm_ratio) {
      pod.use.sm_ratio = *pod.use.sm_ratio / static_cast<double>(with_sm);
    }
    if (!is_idle) {
      pod.idle_since_ms.reset();
    }
    return std::move(pod);
  }
};

// Sums by namespace and name, which the status of the devices owns.
using PodSums = std::map<std::pair<std::string_view, std::string_view>, PodSum>;

PodSum& SumOf(const StatusHolder& holder, PodSums& sums) {
  const auto [found, is_new] = sums.try_emplace({holder.pod_namespace, holder.pod});
  PodSum& sum = found->second;
  if (is_new) {
    sum.pod.pod_namespace = holder.pod_namespace;
    sum.pod.pod = holder.pod;
  }
  return sum;
}

// Returns the use of a device by its only holder: all of it, as the device measures.
StatusUse UseOfWhole(const NodeStatusFacts& facts, const UseCopy& use, const StatusGpu& gpu) {
  StatusUse whole;
  const std::optional<DeviceNumber> device = use.DeviceOf(gpu.uuid);
  const auto pod = std::ranges::find_if(use.pods, [&](const CopiedPod& one) {
    return one.key.device == device && one.pod_namespace == gpu.holders[0].pod_namespace &&
           one.pod == gpu.holders[0].pod;
  });
  if (device && pod != use.pods.end()) {
    whole = UseOfPod(*pod, SplitOf(facts, use, gpu), gpu);
  }
  if (!whole.power_watts) {
    whole.power_watts = gpu.power_watts;
  }
  whole.sm_ratio = gpu.sm_active_ratio ? gpu.sm_active_ratio : gpu.utilization_ratio;
  if (!whole.memory_bytes) {
    whole.memory_bytes = gpu.memory_used_bytes;
  }
  return whole;
}

void AddGpu(const NodeStatusFacts& facts, const UseCopy& use, const StatusGpu& gpu, PodSums& sums) {
  for (const StatusShare& share : gpu.shares) {
    if (share.holder) {
      SumOf(*share.holder, sums).Add(gpu, share.use, share.idle_since_ms);
    }
  }
  if (!gpu.shares.empty()) {
    return;
  }
  if (!gpu.holders.empty()) {
    SumOf(gpu.holders[0], sums).Add(gpu, UseOfWhole(facts, use, gpu), gpu.idle_since_ms);
  }
  for (const StatusInstance& instance : gpu.instances) {
    if (!instance.holders.empty()) {  // The only holder of the only used instance.
      StatusUse part;
      part.sm_ratio = instance.sm_ratio;
      part.memory_bytes = instance.memory_used_bytes;
      SumOf(instance.holders[0], sums).Add(gpu, part, gpu.idle_since_ms);
    }
  }
}

// The watts of the node that no pod has.
StatusPod RestOf(const NodeStatus& status) {
  StatusPod rest;
  uint64_t all = 0;
  for (const StatusGpu& gpu : status.gpus) {
    all += WattPartsOf(gpu.power_watts);
  }
  uint64_t of_pods = 0;
  for (const StatusPod& pod : status.pods) {
    of_pods += WattPartsOf(pod.use.power_watts);
  }
  for (const StatusGpu& gpu : status.gpus) {
    const bool is_whole = gpu.shares.empty() && gpu.power_watts;
    const bool has_rest = !gpu.shares.empty() && WattPartsOf(gpu.shares.back().use.power_watts) > 0;
    if (has_rest || (is_whole && gpu.holders.empty())) {
      rest.gpus.push_back(gpu.index);
    }
  }
  if (all > of_pods) {
    rest.use.power_watts = static_cast<double>(all - of_pods) / kWattParts;
  }
  return rest;
}

StatusUse UseOfProcess(const CopiedProcess& process, const PowerSplit& split,
                       const StatusGpu& gpu) {
  StatusUse use;
  if (process.sm_percent) {
    use.sm_ratio = std::min(*process.sm_percent / kProcessPercents, 1.0);
  }
  use.memory_bytes = process.memory_bytes;
  if (!process.listed) {
    return use;
  }
  const auto part = split.processes.find(process.key.process);
  if (gpu.power_watts && part != split.processes.end()) {
    use.power_watts = static_cast<double>(part->second.power_mw) / kMillis;
    use.is_apportioned = part->second.is_apportioned;
  }
  use.energy_joules = static_cast<double>(SumMj(process.energy)) / kMillis;
  use.is_apportioned = use.is_apportioned || IsApportioned(process.energy);
  use.method = MethodOf(process.energy);
  return use;
}

StatusProcess MakeProcess(const NodeStatusFacts& facts, const UseCopy& use,
                          const CopiedProcess& process, const PowerSplit& split,
                          const StatusGpu& gpu) {
  const PodOnDevice key{process.pod, process.key.device};
  const auto pod = std::ranges::find(use.pods, key, &CopiedPod::key);
  const bool is_hidden = pod != use.pods.end() && !facts.visible.Shows(pod->pod_namespace);
  StatusProcess row;
  row.pid = process.key.process.pid;
  row.gpu = gpu.index;
  row.type = process.computes && process.draws ? "C+G"
             : process.draws                   ? "G"
             : process.computes                ? "C"
                                               : "";
  row.name = is_hidden ? "" : process.name;
  if (pod != use.pods.end() && !is_hidden) {
    row.holder = StatusHolder{pod->pod_namespace, pod->pod, pod->container};
  }
  row.use = UseOfProcess(process, split, gpu);
  if (process.started_at) {
    row.started_ms = ToMicroseconds(*process.started_at) / 1000;
  }
  return row;
}

}  // namespace

void AddPods(const NodeStatusFacts& facts, const UseCopy& use, NodeStatus& status) {
  PodSums sums;
  for (const StatusGpu& gpu : status.gpus) {
    AddGpu(facts, use, gpu, sums);
  }
  status.pods.reserve(sums.size() + 1);
  for (auto& [name, sum] : sums) {
    status.pods.push_back(sum.Finish());
  }
  // Most watts first; those without last; equal ones by name.
  std::ranges::stable_sort(status.pods, std::greater(),
                           [](const StatusPod& pod) { return pod.use.power_watts.value_or(-1); });
  if (StatusPod rest = RestOf(status); rest.use.power_watts) {
    status.pods.push_back(std::move(rest));
  }
}

void AddProcesses(const NodeStatusFacts& facts, const UseCopy& use, NodeStatus& status) {
  for (const StatusGpu& gpu : status.gpus) {
    const std::optional<DeviceNumber> device = use.DeviceOf(gpu.uuid);
    if (!device || HasNoNumbers(gpu)) {
      continue;
    }
    const PowerSplit split = SplitOf(facts, use, gpu);
    for (const CopiedProcess& process : use.processes) {
      if (process.key.device == *device) {
        status.processes.push_back(MakeProcess(facts, use, process, split, gpu));
      }
    }
  }
  std::ranges::stable_sort(status.processes, std::greater(), [](const StatusProcess& process) {
    return process.use.sm_ratio.value_or(-1);
  });
}

}  // namespace podgpu
