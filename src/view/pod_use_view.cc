#include "view/pod_use_view.h"

#include <array>
#include <string>
#include <utility>

namespace podgpu {
namespace {

constexpr double kJoulesOfPodMj = 1e-3;
constexpr double kSecondsOfPodUs = 1e-6;
constexpr double kRatioOfPodPercent = 1e-2;

struct PodMeasure {
  std::string_view name, type, unit;
  double scale;
  std::string_view help;
};
// The slots of a pod: first one for each method of energy, then one for each of these, in order.
constexpr std::array<PodMeasure, 6> kPodMeasures = {{
    {"podgpu_pod_gpu_allocated_seconds_total", "counter", "seconds", kSecondsOfPodUs,
     "Time for which the pod has held the GPU or a part of it since podgpu started. shared is true "
     "if others may hold it too."},
    {"podgpu_pod_gpu_active_seconds_total", "counter", "seconds", kSecondsOfPodUs,
     "Part of the allocated time in which a kernel of the pod ran, as exact as the interval of "
     "readings."},
    {"podgpu_pod_gpu_idle_seconds_total", "counter", "seconds", kSecondsOfPodUs,
     "Part of the allocated time in which no kernel of the pod ran. Time that podgpu cannot judge "
     "is neither active nor idle."},
    {"podgpu_pod_gpu_last_active_timestamp_seconds", "gauge", "seconds", kSecondsOfPodUs,
     "When podgpu last saw a kernel of the pod run, in seconds since 1970."},
    {"podgpu_pod_gpu_sm_utilization_ratio", "gauge", "ratio", kRatioOfPodPercent,
     "Share of time in which a kernel ran, summed over the pod's processes. It may exceed 1 for "
     "clients of MPS, whose kernels run at the same time."},
    {"podgpu_pod_gpu_memory_used_bytes", "gauge", "bytes", 1,
     "GPU memory that the pod's processes hold now, in bytes."},
}};
constexpr uint32_t kSlotsPerPod = kEnergyMethodCount + kPodMeasures.size();

Family PodEnergyFamily() {
  return {.name = "podgpu_pod_gpu_energy_joules_total",
          .help =
              "Energy of the GPU that the pod is charged with since podgpu started, by method: "
              "exclusive is measured, the others are apportioned. It stays when processes end.",
          .type = "counter",
          .unit = "joules",
          .format = NumberFormat::kShortest,
          .scale = kJoulesOfPodMj};
}

Family FamilyOf(const PodMeasure& measure) {
  return {.name = std::string(measure.name),
          .help = std::string(measure.help),
          .type = std::string(measure.type),
          .unit = std::string(measure.unit),
          .format = NumberFormat::kShortest,
          .scale = measure.scale};
}

// A pod on a device whose name is known.
struct PodLine {
  std::vector<Label> labels;
  uint32_t first_slot = 0;
  const EnergyByMethod* energy = nullptr;
};

std::vector<PodLine> PodLines(const ProcessAccounts& accounts, const ProcessNames& names,
                              uint32_t first_slot) {
  std::vector<PodLine> lines;
  uint32_t slot = first_slot;
  for (const auto& [key, use] : accounts.uses().all()) {
    const std::string uid(accounts.table().pods().UidOf(key.pod));
    const auto pod = names.pods.find(uid);
    const auto gpu = names.gpus.find(key.device);
    const auto holding = names.holdings.find(key);
    if (pod != names.pods.end() && gpu != names.gpus.end() && holding != names.holdings.end()) {
      lines.push_back({{{"gpu", gpu->second},
                        {"UUID", names.uuids.at(key.device)},
                        {"namespace", pod->second.name_space},
                        {"pod", pod->second.name},
                        {"pod_uid", pod->second.uid.empty() ? uid : pod->second.uid},
                        {"container", holding->second.container},
                        {"shared", holding->second.shared ? "true" : "false"}},
                       slot,
                       accounts.ledger().Pod(key)});
    }
    slot += kSlotsPerPod;
  }
  return lines;
}

}  // namespace

std::vector<FamilyDoc> PodUseFamilies() {
  const std::string labels = "gpu,UUID,namespace,pod,pod_uid,container,shared";  // As in PodLines.
  std::vector<FamilyDoc> families = {{PodEnergyFamily(), labels + ",method"}};
  for (const PodMeasure& measure : kPodMeasures) {
    families.push_back({FamilyOf(measure), labels});
  }
  return families;
}

void AddPodUseView(const ProcessAccounts& accounts, const ProcessNames& names, uint32_t first_slot,
                   PlanBuilder& plan) {
  const std::vector<PodLine> lines = PodLines(accounts, names, first_slot);
  plan.BeginFamily(PodEnergyFamily());
  for (const PodLine& line : lines) {
    for (uint32_t i = 0; i < kEnergyMethodCount; ++i) {
      if (const auto method = static_cast<EnergyMethod>(i); HasSeries(line.energy, method)) {
        std::vector<Label> labels = line.labels;
        labels.push_back({"method", std::string(EnergyMethodName(method))});
        plan.AddSeries(plan.AddLabels(RenderLabels(labels)),
                       NumberSource::Slot(line.first_slot + i));
      }
    }
  }
  std::vector<uint32_t> blocks;
  blocks.reserve(lines.size());
  for (const PodLine& line : lines) {
    blocks.push_back(plan.AddLabels(RenderLabels(line.labels)));
  }
  for (uint32_t i = 0; i < kPodMeasures.size(); ++i) {
    plan.BeginFamily(FamilyOf(kPodMeasures[i]));
    for (size_t line = 0; line < lines.size(); ++line) {
      plan.AddSeries(blocks[line],
                     NumberSource::Slot(lines[line].first_slot + kEnergyMethodCount + i));
    }
  }
}

uint32_t PodUseSlotCount(const ProcessAccounts& accounts) {
  return static_cast<uint32_t>(accounts.uses().all().size()) * kSlotsPerPod;
}

void AppendPodUses(const ProcessAccounts& accounts, std::vector<Value>& slots) {
  const auto of = [](uint64_t number) { return Value::OfInt64(static_cast<int64_t>(number)); };
  const auto if_known = [&](const auto& number) {
    return number ? of(*number) : Value::OfAbsence(Absence::kNoData);
  };
  for (const auto& [key, use] : accounts.uses().all()) {
    const EnergyByMethod* energy = accounts.ledger().Pod(key);
    for (size_t method = 0; method < kEnergyMethodCount; ++method) {
      slots.push_back(of(energy == nullptr ? 0 : (*energy)[method]));
    }
    slots.push_back(of(use.allocated_us));
    slots.push_back(of(use.active_us));
    slots.push_back(of(use.idle_us));
    slots.push_back(use.active_at ? Value::OfInt64(ToMicroseconds(*use.active_at))
                                  : Value::OfAbsence(Absence::kNoData));
    slots.push_back(if_known(use.sm_percent));
    slots.push_back(if_known(use.memory_bytes));
  }
}

}  // namespace podgpu
