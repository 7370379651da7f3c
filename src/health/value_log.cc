#include "health/value_log.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "base/text.h"
#include "fields/field_ids.h"
#include "health/pods_on.h"
#include "health/remedies.h"

namespace podgpu {
namespace {

constexpr size_t kMetricsNamed = 3;

enum class Weight : uint8_t {
  kUsual,  // A GPU that works may lack a value for this reason, or another line says so.
  kLost,   // Logged if the GPU gave the value before.
  kFault,  // Logged even if it never did.
};

Weight WeightOf(Absence absence, const Field& field) {
  switch (absence) {
    case Absence::kNotRead:
    case Absence::kDeviceLost:
    case Absence::kSourceDown:
    case Absence::kNoProcesses:
    case Absence::kNotInSource:
    case Absence::kPaused:
    case Absence::kSuspended:
    case Absence::kOtherGpu:
      return Weight::kUsual;
    case Absence::kNotPermitted:
    case Absence::kCountersTaken:
      return Weight::kFault;
    default:
      return field.id == field_ids::kXid ? Weight::kUsual : Weight::kLost;
  }
}

// Returns all GPUs but those whose state explains missing values.
GpuSet JudgedGpus(const TickFacts& facts) {
  const GpuFreshness& freshness = facts.freshness;
  GpuSet judged =
      ~(freshness.unresponsive | freshness.awaited | freshness.excused | facts.excluded_gpus);
  const auto& gpus = facts.grid->topology().gpus;
  for (size_t i = 0; i < std::min(gpus.size(), kMaxJudgedGpus); ++i) {
    judged[i] = judged[i] && gpus[i].state != DeviceState::kLost;
  }
  return judged;
}

// The result of the newest reading for one field.
struct SeenField {
  GpuSet present;  // The GPU or an instance of it gives the value.
  bool all_present = true;
  std::array<GpuSet, kAbsenceCount> absent;
};

SeenField See(const Grid& grid, FieldRow row) {
  SeenField seen;
  const Topology& topology = grid.topology();
  const ColumnRange columns = grid.ColumnsOf(row);
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    const EntityId entity{static_cast<uint16_t>(i)};
    const uint16_t gpu = topology.entities[i].gpu;
    if (gpu >= kMaxJudgedGpus || !columns.Contains(entity)) {
      continue;
    }
    const Value& value = grid.at(row, entity);
    (value.present() ? seen.present : seen.absent[static_cast<size_t>(value.absence())]).set(gpu);
    seen.all_present = seen.all_present && value.present();
  }
  return seen;
}

bool IsWhole(const Grid& grid, FieldRow row) {
  return std::ranges::all_of(grid.CellsOf(row), &Value::present);
}

struct LackingGpus {
  Absence absence = Absence::kNotRead;
  GpuSet gpus;
};

// Returns the GPUs of `among` whose lack of the field is logged.  `gave`: the GPUs that gave it
// before.
std::vector<LackingGpus> LackingOf(const SeenField& seen, const Field& field, const GpuSet& gave,
                                   const GpuSet& among) {
  std::vector<LackingGpus> lacking;
  for (size_t i = 0; i < seen.absent.size() && !seen.all_present; ++i) {
    const auto absence = static_cast<Absence>(i);
    const Weight weight = WeightOf(absence, field);
    GpuSet gpus = seen.absent[i] & ~seen.present & among;
    if (weight != Weight::kFault) {
      gpus &= gave;
    }
    if (weight != Weight::kUsual && gpus.any()) {
      lacking.push_back({absence, gpus});
    }
  }
  return lacking;
}

std::vector<uint32_t> IndicesOf(const GpuSet& gpus) {
  std::vector<uint32_t> indices;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i]) {
      indices.push_back(static_cast<uint32_t>(i));
    }
  }
  return indices;
}

// Returns DCGM's ids of the GPUs with these indices, for example "0-3".
std::string IdsOf(const Topology& topology, const std::vector<uint32_t>& indices) {
  std::vector<uint32_t> ids;
  ids.reserve(indices.size());
  for (const uint32_t index : indices) {
    ids.push_back(topology.gpus[index].gpu_id);
  }
  return NumberRanges(ids);
}

}  // namespace

void ValueLog::Note(const TickFacts& facts, bool is_ready) {
  if (facts.grid == nullptr || read_at_ == facts.grid->read_at) {
    return;
  }
  read_at_ = facts.grid->read_at;
  TakeFields(*facts.grid);
  const GpuSet judged = JudgedGpus(facts);
  Differences differences;
  for (size_t i = 0; i < fields_.size(); ++i) {
    Judge(facts, FieldRow{static_cast<uint16_t>(i)}, judged, differences);
  }
  Tell(facts, differences, is_ready);
}

// Keeps what is known of the fields that are still read on the same devices.
void ValueLog::TakeFields(const Grid& grid) {
  if (topology_ != nullptr && topology_ != grid.shared_topology() &&
      !SameGpus(*topology_, grid.topology())) {
    fields_.clear();
  }
  topology_ = grid.shared_topology();
  if (std::ranges::equal(fields_, grid.fields(), {}, &TrackedField::field)) {
    return;
  }
  std::vector<TrackedField> fields;
  for (const Field* field : grid.fields()) {
    const auto known = std::ranges::find(fields_, field, &TrackedField::field);
    fields.push_back(known == fields_.end() ? TrackedField{.field = field} : *known);
  }
  fields_ = std::move(fields);
}

void ValueLog::Judge(const TickFacts& facts, FieldRow row, const GpuSet& judged,
                     Differences& differences) {
  TrackedField& tracked = fields_[row.index];
  // Most fields have all values in all readings, and the tick has little time.
  if (tracked.is_whole && IsWhole(*facts.grid, row)) {
    return;
  }
  const SeenField seen = See(*facts.grid, row);
  tracked.is_whole = seen.all_present;
  const auto add = [&](const GpuSet& gpus, std::optional<Absence> absence) {
    if (gpus.any()) {
      Difference& difference = differences[{IndicesOf(gpus), absence}];
      difference.gpus = gpus;
      difference.metrics.emplace_back(tracked.field->familiar_name());
    }
  };
  add(tracked.told & seen.present, std::nullopt);
  tracked.told &= ~seen.present;
  const std::vector<LackingGpus> lacking =
      LackingOf(seen, *tracked.field, tracked.gave, judged & ~tracked.told);
  tracked.gave |= seen.present;
  if (lacking.empty()) {
    tracked.lacked_since.reset();
    return;
  }
  tracked.lacked_since = tracked.lacked_since.value_or(facts.grid->read_at);
  if (facts.grid->read_at - *tracked.lacked_since < patience_) {
    return;
  }
  for (const auto& [absence, gpus] : lacking) {
    add(gpus, absence);
    tracked.told |= gpus;
  }
  tracked.lacked_since.reset();
}

void ValueLog::Tell(const TickFacts& facts, const Differences& differences, bool is_ready) {
  for (const auto& [key, difference] : differences) {
    const auto& [indices, absence] = key;
    if (!budget_.Take(facts.now)) {
      continue;
    }
    Log(absence ? LogLevel::kWarn : LogLevel::kInfo,
        absence ? "metrics have no value" : "metrics have values again",
        {{"metrics", ListedFirst(difference.metrics, kMetricsNamed)},
         {"gpu", IdsOf(facts.grid->topology(), indices)},
         {"pod", PodsOn(facts, difference.gpus)},
         {"cause", std::string(absence ? AbsenceMeaning(*absence) : "the driver gives them again")},
         {"remedy", budget_.WithNote(absence ? RemedyOf(*absence) : "none is needed")},
         {"ready", is_ready ? "yes" : "no"}});
  }
}

}  // namespace podgpu
