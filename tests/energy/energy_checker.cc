#include "tests/energy/energy_checker.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace podgpu {
namespace {

constexpr std::string_view kCounterMj = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION";
constexpr std::string_view kLegacyMj = "dcgm_total_energy_consumption";
constexpr std::string_view kCounterJ = "podgpu_gpu_energy_joules_total";
constexpr std::string_view kMethods = "podgpu_gpu_energy_by_method_joules_total";
constexpr std::string_view kProcesses = "podgpu_process_energy_joules_total";
constexpr std::string_view kPods = "podgpu_pod_gpu_energy_joules_total";
constexpr size_t kDecimalsOfMj = 3;

std::string LabelOf(const ParsedSample& sample, std::string_view name) {
  const auto label =
      std::ranges::find(sample.labels, name, &std::pair<std::string, std::string>::first);
  return label == sample.labels.end() ? "" : label->second;
}

std::optional<int64_t> IntegerOf(std::string_view digits) {
  int64_t number = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_whole = end.ec == std::errc{} && end.ptr == digits.data() + digits.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

bool IsOfNobody(const std::string& method) {
  return method == "unattributed" || method == "outside_kubernetes";
}

int64_t SumOf(const std::map<std::string, int64_t>& amounts) {
  int64_t sum = 0;
  for (const auto& [name, amount] : amounts) {
    sum += amount;
  }
  return sum;
}

}  // namespace

std::optional<int64_t> MillijoulesOf(std::string_view joules) {
  const size_t point = joules.find('.');
  const std::string_view whole = joules.substr(0, point);
  std::string decimals(point == std::string_view::npos ? "" : joules.substr(point + 1));
  if (decimals.size() > kDecimalsOfMj) {
    return std::nullopt;
  }
  decimals.resize(kDecimalsOfMj, '0');
  return IntegerOf(std::string(whole) + decimals);
}

std::vector<std::string> EnergyChecker::Check(std::string_view page) {
  complaints_.clear();
  const auto families = ParseTextStrictly(page);
  if (!families.ok()) {
    return {std::string(families.status().message())};
  }
  Totals totals;
  for (const ParsedFamily& family : *families) {
    Add(family, totals);
  }
  for (const auto& [uuid, gpu] : totals.gpus) {
    CheckGpu(uuid, gpu);
  }
  CheckPods(totals);
  return std::exchange(complaints_, {});
}

void EnergyChecker::Add(const ParsedFamily& family, Totals& totals) {
  const bool is_counter =
      family.name == kCounterMj || family.name == kLegacyMj || family.name == kCounterJ;
  if (!is_counter && family.name != kMethods && family.name != kProcesses && family.name != kPods) {
    return;
  }
  const bool is_joules = family.name != kCounterMj && family.name != kLegacyMj;
  for (const ParsedSample& sample : family.samples) {
    const auto energy_mj = is_joules ? MillijoulesOf(sample.number) : IntegerOf(sample.number);
    if (!energy_mj) {
      Complain(family.name + ": " + sample.number + " is not a whole number of millijoules");
      continue;
    }
    const std::string uuid = LabelOf(sample, "UUID");
    const std::string pod = LabelOf(sample, "pod_uid") + " on " + uuid;
    if (is_counter) {
      AddCounter(sample, energy_mj, totals);
    } else if (family.name == kMethods) {
      totals.gpus[uuid].by_method[LabelOf(sample, "method")] += *energy_mj;
    } else if (family.name == kProcesses) {
      totals.gpus[uuid].of_processes[LabelOf(sample, "method")] += *energy_mj;
      totals.pods_by_processes[pod] += *energy_mj;
      ended_rows_ += LabelOf(sample, "process_name") == "ended" ? 1U : 0U;
    } else {
      totals.pods[pod] += *energy_mj;
    }
  }
}

void EnergyChecker::AddCounter(const ParsedSample& sample, std::optional<int64_t> counter_mj,
                               Totals& totals) {
  std::string uuid = LabelOf(sample, "UUID");
  uuid = uuid.empty() ? LabelOf(sample, "uuid") : uuid;
  std::optional<int64_t>& known = totals.gpus[uuid].counter_mj;
  if (known && known != counter_mj) {
    Complain(uuid + ": two lines say " + std::to_string(*known) + " and " +
             std::to_string(*counter_mj) + " mJ");
  }
  known = counter_mj;
}

void EnergyChecker::CheckGpu(const std::string& uuid, const Gpu& gpu) {
  for (const auto& [method, energy_mj] : gpu.by_method) {
    const auto found = gpu.of_processes.find(method);
    const int64_t of_processes = found == gpu.of_processes.end() ? 0 : found->second;
    if (!IsOfNobody(method) && of_processes != energy_mj) {
      Complain(uuid + ", " + method + ": processes " + std::to_string(of_processes) + ", GPU " +
               std::to_string(energy_mj) + " mJ");
    }
  }
  if (!gpu.counter_mj || gpu.by_method.empty()) {
    return;
  }
  const Before now{.counter_mj = *gpu.counter_mj,
                   .rest_mj = *gpu.counter_mj - SumOf(gpu.by_method)};
  const auto [it, is_first] = before_.try_emplace(uuid, now);
  if (now.counter_mj < it->second.counter_mj) {
    ++restarts_;
  } else if (now.rest_mj != it->second.rest_mj) {
    Complain(uuid + ": the counter minus all shares changed by " +
             std::to_string(now.rest_mj - it->second.rest_mj) + " mJ");
  }
  compared_ += is_first ? 0 : 1;
  it->second = now;
}

void EnergyChecker::CheckPods(const Totals& totals) {
  for (const auto& [pod, energy_mj] : totals.pods) {
    const auto found = totals.pods_by_processes.find(pod);
    const int64_t of_processes = found == totals.pods_by_processes.end() ? 0 : found->second;
    if (of_processes != energy_mj) {
      Complain("pod " + pod + ": rows of processes " + std::to_string(of_processes) +
               ", rows of the pod " + std::to_string(energy_mj) + " mJ");
    }
  }
  for (const auto& [pod, energy_mj] : totals.pods_by_processes) {
    const auto before = pod_before_.find(pod);
    const bool is_a_pod = !pod.starts_with(' ');
    if (is_a_pod && before != pod_before_.end() && energy_mj < before->second) {
      Complain("pod " + pod + " fell from " + std::to_string(before->second) + " to " +
               std::to_string(energy_mj) + " mJ");
    }
  }
  pod_before_ = totals.pods_by_processes;
}

}  // namespace podgpu
