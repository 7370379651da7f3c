#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "base/time_text.h"
#include "facts/part_state.h"
#include "fields/field_ids.h"
#include "health/remedies.h"
#include "health/sample_state.h"
#include "pages/status_rows.h"

namespace podgpu {
namespace {

constexpr size_t kMostNamesOfMissing = 3;

// Most severe first; "ok" is not a fault.
constexpr std::string_view kBySeverity[] = {"lost",       "unresponsive", "degraded",
                                            "recovering", "waiting",      "starting"};

size_t SeverityOf(const StatusFault& fault) {
  return static_cast<size_t>(std::ranges::find(kBySeverity, fault.state) - std::begin(kBySeverity));
}

// The last XID of GPU `index`; 0 if none is known.
int64_t LastXid(const NodeStatusFacts& facts, size_t index, std::string_view uuid) {
  const XidCount* last = nullptr;
  for (const XidCount& xid : facts.snapshot->parts().grid->findings.xids) {
    if (xid.gpu == index && xid.code > 0 && (last == nullptr || xid.last_us > last->last_us)) {
      last = &xid;
    }
  }
  return last != nullptr ? last->code : facts.timeline.TimesOf(uuid).last_xid.value_or(0);
}

DeviceLoss LossOf(const NodeStatusFacts& facts, std::string_view uuid) {
  const auto& judged = facts.condition->devices;
  const auto device = std::ranges::find(judged, uuid, &DeviceCondition::uuid);
  return device == judged.end() ? DeviceLoss::kNone : device->loss;
}

std::string CauseOfFault(const NodeStatusFacts& facts, size_t index, DeviceState state,
                         DeviceLoss loss) {
  const Grid& grid = *facts.snapshot->parts().grid;
  if (state == DeviceState::kUnresponsive) {
    const SampleVerdict verdict = JudgeSamples(grid, index);
    return absl::StrFormat("it gives no fresh value (%s)", AbsenceMeaning(verdict.reason));
  }
  std::string cause(CauseOf(state, loss));
  if (const int64_t xid = LastXid(facts, index, grid.topology().gpus[index].uuid); xid > 0) {
    cause = absl::StrFormat("XID %d, %s", xid, cause);
  }
  return cause;
}

void AddGpuFaults(const NodeStatusFacts& facts, NodeStatus& status) {
  for (size_t i = 0; i < status.gpus.size(); ++i) {
    const StatusGpu& gpu = status.gpus[i];
    for (const DeviceState state :
         {DeviceState::kDegraded, DeviceState::kUnresponsive, DeviceState::kLost}) {
      if (gpu.state != DeviceStateName(state)) {
        continue;
      }
      const std::string since =
          gpu.since_ms ? absl::StrFormat(" since %s UTC", TimeOfDay(*gpu.since_ms)) : "";
      const DeviceLoss loss = LossOf(facts, gpu.uuid);
      status.faults.push_back({gpu.state, gpu.index,
                               absl::StrFormat("GPU %d is %s%s: %s", gpu.index, gpu.state, since,
                                               CauseOfFault(facts, i, state, loss)),
                               std::string(RemedyOf(state, loss)),
                               absl::StrFormat("gpu=%d", gpu.index)});
    }
  }
}

// Returns for example "; no values since 14:01:07 UTC".
std::string SilenceOf(const NodeStatus& status) {
  std::optional<int64_t> since_ms;
  for (const StatusGpu& gpu : status.gpus) {
    if (gpu.since_ms && gpu.state == DeviceStateName(DeviceState::kUnresponsive)) {
      since_ms = std::min(since_ms.value_or(*gpu.since_ms), *gpu.since_ms);
    }
  }
  return since_ms ? absl::StrFormat("; no values since %s UTC", TimeOfDay(*since_ms)) : "";
}

// Returns whether the part is a fault; the kubelet, for example, may be awaited without harm, and
// so may the driver of a node that has no GPU.
bool IsFault(const PartCondition& part, bool is_ready) {
  return part.state == PartState::kDegraded || part.state == PartState::kUnresponsive ||
         (part.part == "driver" && part.state != PartState::kOk && !is_ready);
}

// The names of the fields that the same GPUs lack for the same reason.
using MissingRows = std::map<std::pair<std::vector<uint32_t>, Absence>, std::vector<std::string>>;

// Returns whether a fault already says that the values of the GPU are missing, or whether that is
// normal.
bool IsExplained(Absence absence, uint16_t field_id) {
  return absence == Absence::kDeviceLost || absence == Absence::kSourceDown ||
         absence == Absence::kStale || absence == Absence::kNotRead ||
         (absence == Absence::kNoData && field_id == field_ids::kXid);
}

// The GPUs that lack field `row`, by the reason.
using GpusByAbsence = std::array<std::vector<uint32_t>, kAbsenceCount>;

void FindLacking(const Grid& grid, const NodeStatus& status, FieldRow row, GpusByAbsence& gpus) {
  const Topology& topology = grid.topology();
  const size_t first = grid.ColumnsOf(row).first;
  const std::span<const Value> cells = grid.CellsOf(row);
  // The columns of parts (NVLinks, CPUs) follow those of the entities.
  const size_t end = std::min(first + cells.size(), topology.entities.size());
  for (size_t i = 0; first + i < end; ++i) {
    if (cells[i].present() || IsExplained(cells[i].absence(), grid.fields()[row.index]->id)) {
      continue;
    }
    const EntityId entity{static_cast<uint16_t>(first + i)};
    const size_t gpu = topology.entities[entity.index].gpu;
    if (topology.InstanceOf(entity) == nullptr && !HasNoNumbers(status.gpus[gpu])) {
      gpus[static_cast<size_t>(cells[i].absence())].push_back(topology.gpus[gpu].gpu_id);
    }
  }
}

MissingRows FindMissing(const Grid& grid, const NodeStatus& status) {
  MissingRows rows;
  for (size_t f = 0; f < grid.fields().size(); ++f) {
    GpusByAbsence gpus;
    FindLacking(grid, status, {static_cast<uint16_t>(f)}, gpus);
    for (size_t absence = 0; absence < gpus.size(); ++absence) {
      if (!gpus[absence].empty()) {
        rows[{gpus[absence], static_cast<Absence>(absence)}].emplace_back(
            grid.fields()[f]->familiar_name());
      }
    }
  }
  return rows;
}

// Returns whether owners share the GPU, and podgpu knows no figure of any of them.
bool LacksSplit(const StatusGpu& gpu) {
  return !gpu.shares.empty() && std::ranges::none_of(gpu.shares, [](const StatusShare& share) {
    return share.holder && (share.use.power_watts || share.use.memory_bytes);
  });
}

std::string WhyNoUse(const NodeStatusFacts& facts) {
  const auto& parts = facts.condition->parts;
  const auto processes = std::ranges::find(parts, "processes", &PartCondition::part);
  if (processes == parts.end()) {
    return "processes are not read; --process-metrics=on reads them";
  }
  return processes->state == PartState::kOk ? "no process on the GPU is known to be an owner's"
                                            : "processes: " + processes->detail;
}

// Says why the owners of GPUs have no energy, and those of shared GPUs no figures at all.
void AddMissingUse(const NodeStatusFacts& facts, const UseCopy& use, NodeStatus& status) {
  std::vector<uint32_t> gpus;
  for (const StatusGpu& gpu : status.gpus) {
    if (IsAllocated(gpu) && !HasNoNumbers(gpu) && (!use.is_known || LacksSplit(gpu))) {
      gpus.push_back(gpu.index);
    }
  }
  if (!gpus.empty()) {
    status.missing.push_back({use.is_known
                                  ? "figures of the owners that share a GPU"
                                  : "energy of owners, and all figures of those that share a GPU",
                              NumberRanges(gpus), WhyNoUse(facts), ""});
  }
}

}  // namespace

void AddFaults(const NodeStatusFacts& facts, NodeStatus& status) {
  const std::vector<PartCondition>& parts = facts.condition->parts;
  // A fault of the source explains the state of all GPUs.  A lost GPU explains that of the source,
  // unless that has a remedy of its own.
  const PartState driver = parts.empty() ? PartState::kOk : parts.front().state;
  if (driver == PartState::kOk || driver == PartState::kDegraded) {
    AddGpuFaults(facts, status);
  }
  const bool has_lost = std::ranges::any_of(status.gpus, HasNoNumbers);
  for (const PartCondition& part : parts) {
    const bool is_explained =
        has_lost && part.part == "driver" && driver == PartState::kDegraded && part.remedy.empty();
    if (IsFault(part, facts.condition->ready) && !is_explained) {
      const bool is_silent = part.part == "driver" && part.state == PartState::kUnresponsive;
      status.faults.push_back(
          {std::string(PartStateName(part.state)), std::nullopt,
           part.part + ": " + part.detail + (is_silent ? SilenceOf(status) : ""),
           is_silent ? std::string(RemedyOf(DeviceState::kUnresponsive)) : part.remedy, ""});
    }
  }
  std::ranges::stable_sort(status.faults, {}, SeverityOf);
}

void AddMissing(const NodeStatusFacts& facts, const UseCopy& use, NodeStatus& status) {
  AddMissingUse(facts, use, status);
  const Grid& grid = *facts.snapshot->parts().grid;
  for (const auto& [key, names] : FindMissing(grid, status)) {
    const auto& [gpus, absence] = key;
    status.missing.push_back({ListedFirst(names, kMostNamesOfMissing), NumberRanges(gpus),
                              std::string(AbsenceMeaning(absence)),
                              absl::StrFormat("metric=%s&gpu=%d", names.front(), gpus.front())});
  }
}

}  // namespace podgpu
