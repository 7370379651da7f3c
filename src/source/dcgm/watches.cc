#include "source/dcgm/watches.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "base/text.h"
#include "fields/field_ids.h"
#include "sample/columns.h"
#include "source/dcgm/error.h"
#include "source/dcgm/parts.h"

namespace podgpu {
namespace {

using abi::dcgmGroupEntityPair_t;
using abi::dcgmHandle_t;
using abi::dcgmReturn_t;

// The longest pause between two tries to restore dropped watches.
constexpr std::chrono::microseconds kLongestRepairPause = std::chrono::seconds(60);

// Returns the GPU of a column; null for a switch, its links, and CPUs.
const Gpu* GpuAt(const Topology& topology, EntityId column) {
  if (column.index < topology.entities.size()) {
    return &topology.GpuOf(column);
  }
  const std::optional<uint16_t>& gpu = topology.PartAt(column).gpu;
  return gpu ? &topology.gpus[*gpu] : nullptr;
}

// Returns the kind of a column's device: the model of its GPU; empty for a part.
std::string_view KindOf(const Topology& topology, EntityId column) {
  return column.index < topology.entities.size() ? std::string_view(topology.GpuOf(column).model)
                                                 : std::string_view();
}

// Returns whether `version` is before `release`, "4.7.0"; an unknown version is not.
bool IsOlder(std::string_view version, std::string_view release) {
  const std::vector<std::string_view> mine = Split(version, '.');
  const std::vector<std::string_view> other = Split(release, '.');
  for (size_t i = 0; i < std::min(mine.size(), other.size()); ++i) {
    const std::optional<uint64_t> a = ParseDecimal(mine[i]);
    const std::optional<uint64_t> b = ParseDecimal(other[i]);
    if (!a || !b || *a != *b) {
      return a && b && *a < *b;
    }
  }
  return false;
}

// Returns whether the device was not there when it was to be added to its group.
bool IsGone(const WatchedDevice& device) {
  return device.is_refused &&
         (device.reason == Absence::kDeviceLost || device.reason == Absence::kNotFound);
}

}  // namespace

StatusOr<WatchResult> DcgmWatches::Start(dcgmHandle_t handle, const Topology& topology,
                                         const std::vector<const Field*>& fields,
                                         std::chrono::microseconds period) {
  PODGPU_CHECK(period.count() > 0);
  Stop(handle);
  period_ = period;
  topology_ = topology;
  profiled_at_start_ = profiles_;
  SortOutFields(fields);
  WatchResult result;
  const auto start = [&]() -> Status {
    MakeKinds(topology);
    PODGPU_RETURN_IF_ERROR(MakeGroups(handle, topology));
    for (DcgmWatchedKind& kind : kinds_) {
      PODGPU_RETURN_IF_ERROR(kind.Watch(handle, fields_, GpuToAsk(topology, kind), result));
    }
    return absl::OkStatus();
  };
  if (Status status = start(); !status.ok()) {
    Stop(handle);
    return status;
  }
  return result;
}

bool DcgmWatches::IsWorthRetrying(const Topology& topology, const std::vector<const Field*>& fields,
                                  std::chrono::microseconds period) const {
  return IsWatching(topology, fields, period) &&
         std::ranges::any_of(kinds_, &DcgmWatchedKind::HasRefusals);
}

bool DcgmWatches::IsWatching(const Topology& topology, const std::vector<const Field*>& fields,
                             std::chrono::microseconds period) const {
  std::vector<AskedField> mine;
  for (size_t row = 0; row < fields.size(); ++row) {
    if (Covers(fields[row]->level)) {
      const uint16_t id = fields[row]->id;
      mine.push_back({id, static_cast<uint16_t>(row), PeriodOf(id, period)});
    }
  }
  const ColumnRange now = ColumnsIn(topology);
  const ColumnRange then = ColumnsIn(topology_);
  bool same = period_ == period && profiled_at_start_ == profiles_ && asked_ == mine &&
              SameGpus(topology_, topology) && now.first == then.first && now.count == then.count;
  for (size_t i = 0; part_ && same && i < now.count; ++i) {
    const EntityId column{static_cast<uint16_t>(now.first + i)};
    same = topology_.PartAt(column) == topology.PartAt(column);
  }
  return same;
}

StatusOr<WatchResult> DcgmWatches::Retry(dcgmHandle_t handle, const Topology& topology) {
  WatchResult result;
  for (DcgmWatchedKind& kind : kinds_) {
    if (Status status = kind.Retry(handle, fields_, GpuToAsk(topology, kind), result);
        !status.ok()) {
      Stop(handle);
      return status;
    }
  }
  return result;
}

std::optional<Absence> DcgmWatches::RefusalOf(size_t field, size_t device) const {
  const WatchedDevice& asked = devices_[device];
  if (asked.is_refused) {
    return asked.reason;
  }
  const Watchable& of_all = fields_[field];
  const Watchable& of_kind = kinds_[asked.kind].field(field);
  const Watchable& first = of_all.is_refused ? of_all : of_kind;
  return first.is_refused ? std::optional(first.reason) : std::nullopt;
}

bool DcgmWatches::IsWatched(size_t field) const {
  return !fields_[field].is_refused &&
         std::ranges::any_of(
             kinds_, [&](const DcgmWatchedKind& kind) { return !kind.field(field).is_refused; });
}

bool DcgmWatches::IsWatchedOnAllKinds(size_t field) const {
  return !fields_[field].is_refused &&
         std::ranges::none_of(
             kinds_, [&](const DcgmWatchedKind& kind) { return kind.field(field).is_refused; });
}

// The same filter as dcgm-exporter: a field is read on the entities of its level.
bool DcgmWatches::Covers(FieldLevel level) const {
  return part_ ? IsReadOn(level, *part_) : !IsPartLevel(level);
}

ColumnRange DcgmWatches::ColumnsIn(const Topology& topology) const {
  return part_ ? topology.ColumnsOf(*part_) : ColumnRange{0, topology.entities.size()};
}

// The fields are in ascending order, so an old field comes before the one in base units.
void DcgmWatches::SortOutFields(const std::vector<const Field*>& fields) {
  asked_.clear();
  for (size_t i = 0; i < fields.size(); ++i) {
    const Field& field = *fields[i];
    if (!Covers(field.level)) {
      continue;
    }
    const FieldRow row{static_cast<uint16_t>(i)};
    const std::chrono::microseconds period = PeriodOf(field.id, period_);
    asked_.push_back({field.id, row.index, period});
    const BaseUnit* unit = BaseUnitOf(field.id);
    if (unit == nullptr || KnowsBaseUnit(field)) {
      Request(field, period).row = row;
      continue;
    }
    const auto old = std::ranges::find(fields_, unit->old_id, &WatchedField::id);
    WatchedField& watched = old != fields_.end() ? *old : Request(*FindField(unit->old_id), period);
    watched.period = std::min(watched.period, period);
    watched.is_slow = watched.period > period_;
    watched.base_row = row;
    const bool in_percent = util_ratio_in_percent_ && field.id == field_ids::kGpuUtilRatio;
    watched.base_unit = in_percent ? &kUtilRatioInPercent : unit;
  }
}

std::chrono::microseconds DcgmWatches::PeriodOf(uint16_t field,
                                                std::chrono::microseconds period) const {
  const std::chrono::microseconds own =
      collections_ == nullptr ? std::chrono::milliseconds(0) : IntervalOf(*collections_, field);
  return own.count() > 0 ? own : period;
}

WatchedField& DcgmWatches::Request(const Field& field, std::chrono::microseconds period) {
  WatchedField& watched = fields_.emplace_back();
  watched.id = field.id;
  watched.period = period;
  watched.is_slow = period > period_;
  const abi::dcgm_field_meta_t* meta = library_.api.DcgmFieldGetById(field.id);
  const FieldLevel level = meta == nullptr ? FieldLevel::kConnectX : LevelOf(meta->entityLevel);
  if (meta == nullptr || level == FieldLevel::kConnectX || !Covers(level)) {
    watched.Refuse(Absence::kNotSupported);
  } else if (!profiles_ && IsListedProfilingField(field.id)) {
    watched.Refuse(Absence::kPaused);
  } else {
    watched.decoder = DecoderFor(field, meta->fieldType);
    watched.is_profiling = field.profiling || IsListedProfilingField(field.id);
  }
  return watched;
}

// An engine refuses a whole watch for one field that it does not know, so it is not asked.
bool DcgmWatches::KnowsBaseUnit(const Field& field) const {
  return library_.api.DcgmFieldGetById(field.id) != nullptr &&
         !IsOlder(engine_version_, field.since);
}

dcgmGroupEntityPair_t DcgmWatches::EntityAt(const Topology& topology, EntityId column) const {
  if (part_) {
    return EntityOf(topology.PartAt(column), topology, library_.generation);
  }
  const GpuInstance* instance = topology.InstanceOf(column);
  return instance == nullptr
             ? dcgmGroupEntityPair_t{abi::DCGM_FE_GPU, topology.GpuOf(column).gpu_id}
             : dcgmGroupEntityPair_t{abi::DCGM_FE_GPU_I, instance->entity_id};
}

std::optional<uint32_t> DcgmWatches::GpuToAsk(const Topology& topology,
                                              const DcgmWatchedKind& kind) const {
  const auto found = std::ranges::find_if(topology.gpus, [&](const Gpu& gpu) {
    return gpu.state != DeviceState::kLost && (part_ || gpu.model == kind.name());
  });
  return found == topology.gpus.end() ? std::nullopt : std::optional(found->gpu_id);
}

void DcgmWatches::MakeKinds(const Topology& topology) {
  std::vector<std::string_view> names;
  const ColumnRange columns = ColumnsIn(topology);
  for (size_t i = 0; i < columns.count; ++i) {
    const std::string_view name =
        KindOf(topology, EntityId{static_cast<uint16_t>(columns.first + i)});
    if (std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  }
  for (const std::string_view name : names) {
    kinds_.emplace_back(library_, names_, std::string(name), names.size() > 1);
  }
}

Status DcgmWatches::MakeGroups(dcgmHandle_t handle, const Topology& topology) {
  const ColumnRange columns = ColumnsIn(topology);
  first_column_ = columns.first;
  for (size_t i = 0; i < columns.count; ++i) {
    const EntityId id{static_cast<uint16_t>(columns.first + i)};
    const Gpu* gpu = GpuAt(topology, id);
    WatchedDevice& device = devices_.emplace_back();
    const auto kind = std::ranges::find(kinds_, KindOf(topology, id), &DcgmWatchedKind::name);
    device.kind = static_cast<size_t>(kind - kinds_.begin());
    device.entity = EntityAt(topology, id);
    device.gpu_id = gpu == nullptr ? std::nullopt : std::optional(gpu->gpu_id);
    // A device that is refused below has its place as well, so it can join this group when it is
    // back.
    PODGPU_ASSIGN_OR_RETURN(device.group, kind->MakeRoom(handle));
    const GpuInstance* instance = part_ ? nullptr : topology.InstanceOf(id);
    if (instance != nullptr && instance->is_misread) {
      device.Refuse(Absence::kOtherGpu);
      continue;
    }
    dcgmReturn_t code = abi::DCGM_ST_GPU_IS_LOST;
    if (gpu == nullptr || gpu->state != DeviceState::kLost) {
      code = kind->Add(handle, device.group, device.entity);
    }
    device.is_lost = code == abi::DCGM_ST_GPU_IS_LOST;
    if (device.is_lost) {
      device.Refuse(Absence::kDeviceLost);
    } else if (code == abi::DCGM_ST_BADPARAM) {
      device.Refuse(Absence::kNotFound);  // It disappeared after Discover.
    } else {
      PODGPU_RETURN_IF_ERROR(DcgmStatus(library_.api, code, "cannot add a device to its group"));
    }
  }
  return absl::OkStatus();
}

Status DcgmWatches::NoteStates(dcgmHandle_t handle, const Topology& now) {
  std::vector<size_t> back;
  for (size_t i = 0; i < devices_.size(); ++i) {
    WatchedDevice& device = devices_[i];
    const bool was_lost = device.is_lost || IsGone(device);
    device.is_lost = false;  // A part without a GPU has no state: it is tried.
    if (device.gpu_id) {
      const auto gpu = std::ranges::find(now.gpus, *device.gpu_id, &Gpu::gpu_id);
      device.is_lost = gpu == now.gpus.end() || gpu->state == DeviceState::kLost;
    }
    if (was_lost && !device.is_lost) {
      back.push_back(i);
    }
    // The loss explains why the engine dropped these watches, and the line about the GPU tells it.
    if (was_lost || device.is_lost) {
      std::erase(repair_.unexplained, i);
    }
  }
  return Restore(handle, now, back);
}

// Puts devices that are back into their groups, and sets the watches of these groups again.
Status DcgmWatches::Restore(dcgmHandle_t handle, const Topology& topology,
                            const std::vector<size_t>& devices) {
  std::set<std::pair<size_t, size_t>> groups;  // Pairs of kind and group.
  for (const size_t i : devices) {
    WatchedDevice& device = devices_[i];
    PODGPU_ASSIGN_OR_RETURN(const bool is_member, PutBack(handle, device));
    if (is_member) {
      groups.emplace(device.kind, device.group);
    }
  }
  for (const auto& [kind, group] : groups) {
    PODGPU_RETURN_IF_ERROR(kinds_[kind].WatchAgain(handle, group));
    // While all GPUs of a kind were lost, the profiling fields of the kind were unknown.
    WatchResult ignored;
    if (kinds_[kind].HasRefusals()) {
      PODGPU_RETURN_IF_ERROR(
          kinds_[kind].Retry(handle, fields_, GpuToAsk(topology, kinds_[kind]), ignored));
    }
  }
  has_restored_ = has_restored_ || !groups.empty();
  return absl::OkStatus();
}

// Returns whether the device is now in its group.  An engine has removed it only if it noticed that
// the driver released it; for a device that the group still has it answers "bad parameter", as for
// one that does not exist.
StatusOr<bool> DcgmWatches::PutBack(dcgmHandle_t handle, WatchedDevice& device) {
  if (device.is_refused && !IsGone(device)) {
    return false;
  }
  const dcgmReturn_t code = kinds_[device.kind].Add(handle, device.group, device.entity);
  Status status = DcgmStatus(library_.api, code, "cannot add a device to its group");
  if (LostConnection(status)) {
    return status;
  }
  if (code == abi::DCGM_ST_OK) {
    device.is_refused = false;
  }
  return code == abi::DCGM_ST_OK || (code == abi::DCGM_ST_BADPARAM && !device.is_refused);
}

Status DcgmWatches::WatchAgain(dcgmHandle_t handle, const std::vector<size_t>& devices) {
  // The reading that finds watches dropped makes podgpu look at the list of devices.  If it shows
  // that the GPU was released, the line about that GPU tells it.
  const bool is_due = repair_.is_going_on && !repair_.is_told && !repair_.unexplained.empty();
  if (is_due) {
    LogDropped(repair_.unexplained);
    repair_.is_told = true;
  }
  if (devices.empty()) {
    if (repair_.is_told && !is_due) {
      Log(LogLevel::kInfo, "the engine samples the dropped watches again", {});
    }
    repair_ = {};
    return absl::OkStatus();
  }
  const Instant now = clock_.Now();
  if (repair_.is_going_on && now < repair_.next) {
    return absl::OkStatus();
  }
  if (!repair_.is_going_on) {
    repair_.unexplained = devices;
  }
  // The pause doubles while the engine keeps dropping the watches, so a broken engine is not asked
  // at every reading.
  repair_.pause = std::clamp(repair_.pause * 2, period_, std::max(period_, kLongestRepairPause));
  repair_.next = now + repair_.pause;
  repair_.is_going_on = true;
  Status status = Restore(handle, topology_, devices);
  return LostConnection(status) ? status : absl::OkStatus();
}

void DcgmWatches::LogDropped(const std::vector<size_t>& devices) const {
  std::set<const Gpu*> gpus;
  for (const size_t device : devices) {
    gpus.insert(GpuAt(topology_, EntityId{static_cast<uint16_t>(first_column_ + device)}));
  }
  std::string ids;
  std::string uuids;
  for (const Gpu* gpu : gpus) {
    const std::string_view comma = ids.empty() ? "" : ",";
    // A switch or a CPU belongs to no GPU.
    absl::StrAppendFormat(&ids, "%s%s", comma,
                          gpu == nullptr ? "none" : std::to_string(gpu->gpu_id));
    absl::StrAppendFormat(&uuids, "%s%s", comma, gpu == nullptr ? "none" : gpu->uuid);
  }
  Log(LogLevel::kWarn,
      "the engine dropped watches of podgpu, as it does when a GPU is unbound and bound again; "
      "podgpu sets them again",
      {{"gpu", ids}, {"uuid", uuids}, {"remedy", "none is needed"}});
}

void DcgmWatches::Stop(dcgmHandle_t handle) {
  for (DcgmWatchedKind& kind : kinds_) {
    kind.Stop(handle);
  }
  Forget();
}

void DcgmWatches::Forget() {
  fields_.clear();
  devices_.clear();
  kinds_.clear();
  period_ = {};
  topology_ = {};
  repair_ = {};
}

}  // namespace podgpu
