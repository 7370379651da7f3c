#include "view/process_view.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

namespace podgpu {
namespace {

constexpr double kJoulesPerMillijoule = 1e-3;
constexpr double kRatioPerPercent = 1e-2;
constexpr double kSecondsPerMicrosecond = 1e-6;

// The numbers of a process, one slot each.
enum ProcessSlot : uint8_t {
  kActive,
  kEnergy,
  kMemoryUsed,
  kMemoryUtilization,
  kSmUtilization,
  kStartTime,
  kFirstMethod,  // First of the slots of energy by method.
};
constexpr uint32_t kSlotsPerProcess = kFirstMethod + kEnergyMethodCount;

constexpr std::string_view kEnergyHelp =
    "Energy in joules that the process is charged with. It is measured while the process is alone "
    "on the GPU. While several share the GPU, its energy is apportioned by SM time, so the parts "
    "add up to the device; among unlike processes a share can be wrong by more than 100 %.";

struct ProcessMeasure {
  std::string_view suffix, type, unit;
  ProcessSlot slot;
  double scale;
  std::string_view help;
};
// In alphabetical order, as my-gpu-exporter prints them.
constexpr std::array<ProcessMeasure, 7> kProcessMeasures = {{
    {"_active", "gauge", "", kActive, 1, "1 while the process uses the GPU, 0 after its end."},
    {"_energy_joules", "counter", "joules", kEnergy, kJoulesPerMillijoule, kEnergyHelp},
    {"_energy_joules_total", "counter", "joules", kEnergy, kJoulesPerMillijoule, kEnergyHelp},
    {"_memory_used_bytes", "gauge", "bytes", kMemoryUsed, 1,
     "GPU memory that the process holds now, in bytes; for a process that lived between two "
     "readings, the most that it held."},
    {"_memory_utilization_ratio", "gauge", "ratio", kMemoryUtilization, kRatioPerPercent,
     "Share of time in which the process read or wrote GPU memory, from 0 to 1."},
    {"_sm_utilization_ratio", "gauge", "ratio", kSmUtilization, kRatioPerPercent,
     "Share of time in which a kernel of the process ran, from 0 to 1."},
    {"_start_time_seconds", "gauge", "seconds", kStartTime, kSecondsPerMicrosecond,
     "When the process started, in seconds since 1970."},
}};

Family Described(const ProcessMeasure& measure, std::string_view prefix) {
  return {.name = std::string(prefix) + std::string(measure.suffix),
          .help = std::string(measure.help),
          .type = std::string(measure.type),
          .unit = std::string(measure.unit),
          .format = NumberFormat::kShortest,
          .scale = measure.scale};
}

// Calls `visit` for every row with series, in slot order.
template <typename Visit>
void VisitListed(const ProcessTable& table, const Visit& visit) {
  for (const auto& [device, rows] : table.devices()) {
    for (const auto& [process, row] : rows) {
      if (row.listed && !row.replaced) {
        visit(ProcessOnDevice{process, device}, row);
      }
    }
  }
}

template <typename Names>
typename Names::mapped_type NameIn(const Names& names, std::string_view key) {
  const auto it = names.find(key);
  return it == names.end() ? typename Names::mapped_type() : it->second;
}

// `pid` is empty for lines without a process.
std::vector<Label> ProcessLabelsOf(const std::string& pid, const ProcessIdentity& identity,
                                   const std::string& gpu, const ProcessNames& names) {
  const ProcessNames::Pod pod = NameIn(names.pods, identity.place.pod_uid);
  return {{"container", NameIn(names.containers, identity.place.container_id)},
          {"container_id", identity.place.container_id},
          {"gpu", gpu},
          {"namespace", pod.name_space},
          {"pid", pid},
          {"pod", pod.name},
          {"pod_uid", pod.uid.empty() ? identity.place.pod_uid : pod.uid},
          {"process_name", identity.name}};
}

std::string UuidOf(DeviceNumber device, const ProcessNames& names) {
  const auto uuid = names.uuids.find(device);
  return uuid == names.uuids.end() ? std::string() : uuid->second;
}

// One line per set of labels.  A process that has ended and a later one with the same pid may have
// the same labels; then the active or newer one gets the line.
struct ProcessLine {
  bool active = false;
  uint64_t start_ticks = 0;
  uint32_t first_slot = 0;
  std::vector<Label> labels = {};
  std::string uuid = {};
  const EnergyByMethod* energy = nullptr;
  bool operator<(const ProcessLine& other) const {
    return std::tie(active, start_ticks) < std::tie(other.active, other.start_ticks);
  }
};

// Returns the lines by their rendered labels.
std::map<std::string, ProcessLine> LinesOf(const ProcessAccounts& accounts,
                                           const ProcessNames& names, uint32_t first_slot) {
  static const ProcessIdentity unidentified;
  std::map<std::string, ProcessLine> lines;
  uint32_t slot = first_slot;
  VisitListed(accounts.table(), [&](const ProcessOnDevice& key, const ProcessRow& row) {
    if (const auto gpu = names.gpus.find(key.device); gpu != names.gpus.end()) {
      const ProcessLine line{
          .active = row.active,
          .start_ticks = key.process.start_ticks,
          .first_slot = slot,
          .labels = ProcessLabelsOf(std::to_string(key.process.pid),
                                    row.identity != nullptr ? *row.identity : unidentified,
                                    gpu->second, names),
          .uuid = UuidOf(key.device, names),
          .energy = accounts.ledger().Process(key)};
      ProcessLine& best = lines.try_emplace(RenderLabels(line.labels), line).first->second;
      best = best < line ? line : best;
    }
    slot += kSlotsPerProcess;
  });
  return lines;
}

void AddOfMethod(const ProcessLine& line, EnergyMethod method, uint32_t slot, PlanBuilder& plan) {
  std::vector<Label> labels = line.labels;
  labels.push_back({"UUID", line.uuid});
  labels.push_back({"method", std::string(EnergyMethodName(method))});
  plan.AddSeries(plan.AddLabels(RenderLabels(labels)), NumberSource::Slot(slot));
}

void AddByMethod(const ProcessLine& line, uint32_t first_slot, PlanBuilder& plan) {
  for (uint32_t i = 0; i < kEnergyMethodCount; ++i) {
    if (const auto method = static_cast<EnergyMethod>(i); HasSeries(line.energy, method)) {
      AddOfMethod(line, method, first_slot + i, plan);
    }
  }
}

// Returns the line without a pid for energy that a pod is charged with besides its listed
// processes; empty for a device without a name.
std::optional<ProcessLine> RestLine(const PodOnDevice& key, std::string what,
                                    const ProcessAccounts& accounts, const ProcessNames& names) {
  const auto gpu = names.gpus.find(key.device);
  if (gpu == names.gpus.end()) {
    return std::nullopt;
  }
  ProcessIdentity identity;
  identity.name = std::move(what);
  identity.place.pod_uid = accounts.table().pods().UidOf(key.pod);
  return ProcessLine{.labels = ProcessLabelsOf("", identity, gpu->second, names),
                     .uuid = UuidOf(key.device, names)};
}

// `slot`: the first slot after those of processes.
void AddRest(const ProcessAccounts& accounts, const ProcessNames& names, uint32_t slot,
             PlanBuilder& plan) {
  for (const auto& [key, energy] : accounts.ledger().ended()) {
    if (auto line = RestLine(key, "ended", accounts, names)) {
      line->energy = &energy;
      AddByMethod(*line, slot, plan);
    }
    slot += kEnergyMethodCount;
  }
  for (const auto& [key, energy] : accounts.ledger().idle()) {
    if (const auto line = RestLine(key, "idle", accounts, names)) {
      AddOfMethod(*line, EnergyMethod::kEqual, slot, plan);
    }
    ++slot;
  }
}

uint32_t ListedSlotCount(const ProcessTable& table) {
  uint32_t count = 0;
  VisitListed(table, [&](const ProcessOnDevice& /*key*/, const ProcessRow& /*row*/) {
    count += kSlotsPerProcess;
  });
  return count;
}

Value OrAbsent(bool is_there, int64_t number) {
  return is_there ? Value::OfInt64(number) : Value::OfAbsence(Absence::kNoData);
}

template <typename Number>
Value OrAbsent(const std::optional<Number>& number) {
  return OrAbsent(number.has_value(), static_cast<int64_t>(number.value_or(0)));
}

Family ProcessEnergyByMethodFamily() {
  return {.name = "podgpu_process_energy_joules_total",
          .help =
              "Energy that the process is charged with, by method: exclusive is measured; "
              "sm_share, mig_activity and equal are apportioned. Rows without a pid: ended is for "
              "processes whose rows are gone, idle for an idle GPU that the pod holds; so the sum "
              "over a pod never falls.",
          .type = "counter",
          .unit = "joules",
          .format = NumberFormat::kShortest,
          .scale = kJoulesPerMillijoule};
}

}  // namespace

void AddProcessView(const ProcessAccounts& accounts, const ProcessNames& names,
                    std::string_view prefix, uint32_t first_slot, PlanBuilder& plan) {
  const std::map<std::string, ProcessLine> lines = LinesOf(accounts, names, first_slot);
  std::vector<std::pair<uint32_t, uint32_t>> blocks;  // Label block, and the first slot.
  blocks.reserve(lines.size());
  for (const auto& [labels, line] : lines) {
    blocks.emplace_back(plan.AddLabels(labels), line.first_slot);
  }
  for (const ProcessMeasure& measure : kProcessMeasures) {
    plan.BeginFamily(Described(measure, prefix));
    for (const auto& [labels, first] : blocks) {
      plan.AddSeries(labels, NumberSource::Slot(first + measure.slot));
    }
  }
  plan.BeginFamily(ProcessEnergyByMethodFamily());
  for (const auto& [labels, line] : lines) {
    AddByMethod(line, line.first_slot + kFirstMethod, plan);
  }
  AddRest(accounts, names, first_slot + ListedSlotCount(accounts.table()), plan);
}

void AppendProcesses(const ProcessAccounts& accounts, std::vector<Value>& slots) {
  static constexpr EnergyByMethod kNoEnergy = {};
  VisitListed(accounts.table(), [&](const ProcessOnDevice& key, const ProcessRow& row) {
    const EnergyByMethod* charged = accounts.ledger().Process(key);
    const EnergyByMethod& energy = charged != nullptr ? *charged : kNoEnergy;
    const std::optional<WallTime>& start =
        row.identity != nullptr ? row.identity->started_at : row.started_at;
    slots.push_back(Value::OfInt64(row.active ? 1 : 0));
    slots.push_back(OrAbsent(charged != nullptr, static_cast<int64_t>(SumMj(energy))));
    slots.push_back(OrAbsent(row.memory_bytes));
    slots.push_back(OrAbsent(row.memory_percent));
    slots.push_back(OrAbsent(row.sm_percent));
    slots.push_back(OrAbsent(start.has_value(), start ? ToMicroseconds(*start) : 0));
    for (const uint64_t amount_mj : energy) {
      slots.push_back(OrAbsent(charged != nullptr, static_cast<int64_t>(amount_mj)));
    }
  });
  for (const auto& [key, energy] : accounts.ledger().ended()) {
    for (const uint64_t amount_mj : energy) {
      slots.push_back(Value::OfInt64(static_cast<int64_t>(amount_mj)));
    }
  }
  for (const auto& [key, amount_mj] : accounts.ledger().idle()) {
    slots.push_back(Value::OfInt64(static_cast<int64_t>(amount_mj)));
  }
}

uint32_t ProcessSlotCount(const ProcessAccounts& accounts) {
  const Ledger& ledger = accounts.ledger();
  return ListedSlotCount(accounts.table()) +
         static_cast<uint32_t>(ledger.ended().size() * kEnergyMethodCount + ledger.idle().size());
}

std::vector<FamilyDoc> ProcessFamilies() {
  const std::string labels =  // As in ProcessLabelsOf.
      "container,container_id,gpu,namespace,pid,pod,pod_uid,process_name";
  std::vector<FamilyDoc> families;
  families.reserve(std::size(kProcessMeasures) + 1);
  for (const ProcessMeasure& measure : kProcessMeasures) {
    families.push_back({Described(measure, kProcessPrefix), labels});
  }
  families.push_back({ProcessEnergyByMethodFamily(), labels + ",UUID,method"});
  return families;
}

}  // namespace podgpu
