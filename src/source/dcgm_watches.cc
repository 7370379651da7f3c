#include "source/dcgm_watches.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"

#include "sample/columns.h"
#include "source/dcgm_error.h"
#include "source/dcgm_parts.h"

namespace podgpu {
namespace {

using abi::dcgmGroupEntityPair_t;
using abi::dcgmHandle_t;
using abi::dcgmReturn_t;

// The client refuses 128 (DCGM 4.6.0, observed), whatever the header says.
constexpr size_t kFieldsPerGroup = abi::DCGM_MAX_FIELD_IDS_PER_FIELD_GROUP - 1;

// An XID stays the last sample until it expires; dcgm-exporter keeps ten minutes.  All else is only
// ever asked for its newest sample.
constexpr uint16_t kXidField = 230;
constexpr double kXidKeepSeconds = 600;
constexpr double kKeepSeconds = 30;

// The ids that dcgm-exporter looks up in the metric groups.
constexpr uint16_t kFirstProfilingId = 1000;
constexpr uint16_t kLastProfilingId = 1099;

bool IsListedProfilingField(uint16_t id) {
  return id >= kFirstProfilingId && id <= kLastProfilingId;
}

// Codes by which an engine refuses single fields, so that a smaller group may pass.
bool RefusesFields(dcgmReturn_t code) {
  constexpr std::array<dcgmReturn_t, 9> kRefusals = {
      abi::DCGM_ST_BADPARAM,
      abi::DCGM_ST_NOT_SUPPORTED,
      abi::DCGM_ST_UNKNOWN_FIELD,
      abi::DCGM_ST_NO_PERMISSION,
      abi::DCGM_ST_REQUIRES_ROOT,
      abi::DCGM_ST_FIELD_UNSUPPORTED_BY_API,
      abi::DCGM_ST_PROFILING_NOT_SUPPORTED,
      abi::DCGM_ST_PROFILING_LIBRARY_ERROR,
      abi::DCGM_ST_PROFILING_MULTI_PASS,
  };
  return std::ranges::find(kRefusals, code) != kRefusals.end();
}

// Codes that refuse all profiling fields at once.
bool RefusesProfiling(dcgmReturn_t code) {
  return code == abi::DCGM_ST_MODULE_NOT_LOADED || code == abi::DCGM_ST_PROFILING_NOT_SUPPORTED ||
         code == abi::DCGM_ST_PROFILING_LIBRARY_ERROR;
}

// The fields of all groups; nothing when there are none, or more than the struct can hold.
std::optional<std::vector<uint16_t>> FieldsIn(const abi::dcgmProfGetMetricGroups_v3& groups) {
  std::vector<uint16_t> ids;
  if (groups.numMetricGroups > std::size(groups.metricGroups)) {
    return std::nullopt;
  }
  for (const auto& group : std::span(groups.metricGroups).first(groups.numMetricGroups)) {
    if (group.numFieldIds > std::size(group.fieldIds)) {
      return std::nullopt;
    }
    ids.insert(ids.end(), group.fieldIds, group.fieldIds + group.numFieldIds);
  }
  return ids.empty() ? std::nullopt : std::optional(std::move(ids));
}

// The GPU that a column is of; null for a switch, its links, and CPUs.
const Gpu* GpuAt(const Topology& topology, EntityId column) {
  if (column.index < topology.entities.size()) {
    return &topology.GpuOf(column);
  }
  const std::optional<uint16_t>& gpu = topology.PartAt(column).gpu;
  return gpu ? &topology.gpus[*gpu] : nullptr;
}

void AddReason(WatchResult& result, const std::string& reason) {
  result.reason += result.reason.empty() ? reason : "; " + reason;
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
    PODGPU_RETURN_IF_ERROR(FilterProfiling(handle, topology, result));
    PODGPU_RETURN_IF_ERROR(MakeGroups(handle, topology));
    const std::vector<bool> all(fields_.size(), true);
    return WatchAll(handle, MakeBatches(fields, all), result);
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
         std::ranges::any_of(fields_, &WatchedField::is_refused_by_engine);
}

bool DcgmWatches::IsWatching(const Topology& topology, const std::vector<const Field*>& fields,
                             std::chrono::microseconds period) const {
  std::vector<std::pair<uint16_t, uint16_t>> mine;
  for (size_t row = 0; row < fields.size(); ++row) {
    if (Covers(fields[row]->level)) {
      mine.emplace_back(fields[row]->id, static_cast<uint16_t>(row));
    }
  }
  const auto same_field = [](const WatchedField& watched, const auto& field) {
    return watched.id == field.first && watched.row.index == field.second;
  };
  const ColumnRange now = ColumnsIn(topology);
  const ColumnRange then = ColumnsIn(topology_);
  bool same = period_ == period && profiled_at_start_ == profiles_ &&
              std::ranges::equal(fields_, mine, same_field) && SameGpus(topology_, topology) &&
              now.first == then.first && now.count == then.count;
  for (size_t i = 0; part_ && same && i < now.count; ++i) {
    const EntityId column{static_cast<uint16_t>(now.first + i)};
    same = topology_.PartAt(column) == topology.PartAt(column);
  }
  return same;
}

WatchedField& DcgmWatches::FindWatched(uint16_t id) {
  return *std::ranges::find(fields_, id, &WatchedField::id);
}

StatusOr<WatchResult> DcgmWatches::Retry(dcgmHandle_t handle, const Topology& topology,
                                         const std::vector<const Field*>& fields) {
  std::vector<bool> again(fields_.size(), false);
  for (size_t i = 0; i < fields_.size(); ++i) {
    WatchedField& field = fields_[i];
    again[i] = field.is_refused_by_engine;
    field.is_refused = field.is_refused && !field.is_refused_by_engine;
    field.is_refused_by_engine = false;
  }
  WatchResult result;
  const auto retry = [&]() -> Status {
    PODGPU_RETURN_IF_ERROR(FilterProfiling(handle, topology, result));
    return WatchAll(handle, MakeBatches(fields, again), result);
  };
  if (Status status = retry(); !status.ok()) {
    Stop(handle);
    return status;
  }
  return result;
}

Status DcgmWatches::WatchAll(dcgmHandle_t handle, const std::vector<Batch>& batches,
                             WatchResult& result) {
  for (const Batch& batch : batches) {
    PODGPU_RETURN_IF_ERROR(WatchBatch(handle, batch, result));
  }
  return absl::OkStatus();
}

// Upstream's filter (behaviour document, section 5.1).
bool DcgmWatches::Covers(FieldLevel level) const {
  return part_ ? IsReadOn(level, *part_) : !IsPartLevel(level);
}

ColumnRange DcgmWatches::ColumnsIn(const Topology& topology) const {
  return part_ ? topology.ColumnsOf(*part_) : ColumnRange{0, topology.entities.size()};
}

void DcgmWatches::SortOutFields(const std::vector<const Field*>& fields) {
  for (size_t row = 0; row < fields.size(); ++row) {
    const Field* field = fields[row];
    if (!Covers(field->level)) {
      continue;
    }
    WatchedField& watched = fields_.emplace_back();
    watched.id = field->id;
    watched.row = FieldRow{static_cast<uint16_t>(row)};
    const abi::dcgm_field_meta_t* meta = library_.api.DcgmFieldGetById(field->id);
    const FieldLevel level = meta == nullptr ? FieldLevel::kConnectX : LevelOf(meta->entityLevel);
    if (meta == nullptr || level == FieldLevel::kConnectX || !Covers(level)) {
      watched.Refuse(Absence::kNotSupported);
    } else if (!profiles_ && IsListedProfilingField(field->id)) {
      watched.Refuse(Absence::kPaused);
    } else {
      watched.decoder = DecoderFor(*field, meta->fieldType);
    }
  }
}

// Refuses the profiling fields that no GPU offers, by asking one GPU of each model.
Status DcgmWatches::FilterProfiling(dcgmHandle_t handle, const Topology& topology,
                                    WatchResult& result) {
  const auto is_wanted = [](const WatchedField& field) {
    return IsListedProfilingField(field.id) && !field.is_refused && !field.is_watched;
  };
  if (std::ranges::none_of(fields_, is_wanted)) {
    return absl::OkStatus();
  }
  std::set<std::string_view> models;
  std::set<uint16_t> offered;
  bool has_answer = false;
  std::string reason = library_.name + " lacks dcgmProfGetSupportedMetricGroups";
  for (const Gpu& gpu : topology.gpus) {
    if (!library_.Has(abi::DcgmCapability::kProfiling) || gpu.state == DeviceState::kLost ||
        !models.insert(gpu.model).second) {
      continue;
    }
    abi::dcgmProfGetMetricGroups_v3 groups{};
    groups.version = abi::dcgmProfGetMetricGroups_version3;
    groups.gpuId = gpu.gpu_id;
    const dcgmReturn_t code = library_.api.dcgmProfGetSupportedMetricGroups(handle, &groups);
    if (code != abi::DCGM_ST_OK) {
      Status status = DcgmStatus(library_.api, code, "does not list its profiling fields");
      if (LostConnection(status)) {
        return status;
      }
      reason = DcgmWords(library_.api, code);
      continue;
    }
    const std::optional<std::vector<uint16_t>> ids = FieldsIn(groups);
    if (!ids) {
      reason = "the engine's list of them is empty or none";
      continue;
    }
    has_answer = true;
    offered.insert(ids->begin(), ids->end());
  }
  const bool has_gpu = !models.empty() || !library_.Has(abi::DcgmCapability::kProfiling);
  if (!has_answer && has_gpu) {
    result.profiling_refused = true;
    AddReason(result, "no profiling fields: " + reason);
  }
  for (WatchedField& field : fields_) {
    if (is_wanted(field) && !offered.contains(field.id)) {
      field.Refuse(has_answer ? Absence::kNotSupported : Absence::kNotWatched);
      field.is_refused_by_engine = !has_answer;
    }
  }
  return absl::OkStatus();
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

Status DcgmWatches::MakeGroups(dcgmHandle_t handle, const Topology& topology) {
  const size_t limit = library_.MaxEntities();
  const ColumnRange columns = ColumnsIn(topology);
  first_column_ = columns.first;
  for (size_t i = 0; i < columns.count; ++i) {
    const EntityId id{static_cast<uint16_t>(columns.first + i)};
    const Gpu* gpu = GpuAt(topology, id);
    if (i % limit == 0) {
      const dcgmReturn_t code = library_.api.dcgmGroupCreate(
          handle, abi::DCGM_GROUP_EMPTY, NewName("devices").c_str(), &groups_.emplace_back());
      if (code != abi::DCGM_ST_OK) {
        groups_.pop_back();
        return DcgmStatus(library_.api, code, "makes no group of devices",
                          "Another client may hold all of its 64");
      }
    }
    WatchedDevice device;
    device.entity = EntityAt(topology, id);
    device.gpu_id = gpu == nullptr ? std::nullopt : std::optional(gpu->gpu_id);
    device.group = groups_.size() - 1;
    dcgmReturn_t code = abi::DCGM_ST_GPU_IS_LOST;
    if (gpu == nullptr || gpu->state != DeviceState::kLost) {
      code = library_.api.dcgmGroupAddEntity(handle, groups_.back(), device.entity.entityGroupId,
                                             device.entity.entityId);
    }
    device.is_lost = code == abi::DCGM_ST_GPU_IS_LOST;
    if (device.is_lost) {
      device.Refuse(Absence::kDeviceLost);
    } else if (code == abi::DCGM_ST_BADPARAM) {
      device.Refuse(Absence::kNotFound);  // It went between Discover and now.
    } else {
      PODGPU_RETURN_IF_ERROR(DcgmStatus(library_.api, code, "takes a device into no group"));
    }
    devices_.push_back(device);
  }
  return absl::OkStatus();
}

std::vector<DcgmWatches::Batch> DcgmWatches::MakeBatches(const std::vector<const Field*>& fields,
                                                         const std::vector<bool>& wanted) const {
  const double period_s = std::chrono::duration<double>(period_).count();
  Batch plain{{}, std::max(kKeepSeconds, 3 * period_s), false};
  Batch profiling{{}, plain.keep_s, true};
  Batch events{{}, std::max(kXidKeepSeconds, plain.keep_s), false};
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].is_refused || !wanted[i]) {
      continue;
    }
    const bool is_profiling =
        fields[fields_[i].row.index]->profiling || IsListedProfilingField(fields_[i].id);
    Batch& usual = is_profiling ? profiling : plain;
    Batch& batch = fields_[i].id == kXidField ? events : usual;
    batch.ids.push_back(fields_[i].id);
  }
  std::vector<Batch> batches;
  for (const Batch* all : {&plain, &profiling, &events}) {
    for (size_t begin = 0; begin < all->ids.size(); begin += kFieldsPerGroup) {
      const auto first = all->ids.begin() + static_cast<std::ptrdiff_t>(begin);
      const size_t count = std::min(kFieldsPerGroup, all->ids.size() - begin);
      batches.push_back(
          {{first, first + static_cast<std::ptrdiff_t>(count)}, all->keep_s, all->profiling});
    }
  }
  return batches;
}

Status DcgmWatches::WatchBatch(dcgmHandle_t handle, const Batch& batch, WatchResult& result) {
  // Also while no device is there: the field groups wait for those that come back.
  const dcgmReturn_t code = TryWatch(handle, batch);
  if (code == abi::DCGM_ST_OK) {
    for (const uint16_t id : batch.ids) {
      FindWatched(id).is_watched = true;
    }
    return absl::OkStatus();
  }
  if (batch.profiling && RefusesProfiling(code)) {
    result.profiling_refused = true;
    Refuse(batch, code, result);
    return absl::OkStatus();
  }
  if (!RefusesFields(code)) {
    return DcgmStatus(library_.api, code, "does not watch the fields");
  }
  if (batch.ids.size() == 1) {
    result.profiling_refused = result.profiling_refused || batch.profiling;
    Refuse(batch, code, result);
    return absl::OkStatus();
  }
  const auto middle = batch.ids.begin() + static_cast<std::ptrdiff_t>(batch.ids.size() / 2);
  const Batch halves[] = {{{batch.ids.begin(), middle}, batch.keep_s, batch.profiling},
                          {{middle, batch.ids.end()}, batch.keep_s, batch.profiling}};
  for (const Batch& half : halves) {
    PODGPU_RETURN_IF_ERROR(WatchBatch(handle, half, result));
  }
  return absl::OkStatus();
}

// Watches all of `batch` on every group, or nothing of it.
dcgmReturn_t DcgmWatches::TryWatch(dcgmHandle_t handle, const Batch& batch) {
  FieldGroup fields{.id = 0, .keep_s = batch.keep_s};
  dcgmReturn_t code =
      library_.api.dcgmFieldGroupCreate(handle, static_cast<int>(batch.ids.size()),
                                        batch.ids.data(), NewName("fields").c_str(), &fields.id);
  if (code != abi::DCGM_ST_OK) {
    return code;
  }
  for (size_t group = 0; group < groups_.size() && code == abi::DCGM_ST_OK; ++group) {
    code = WatchGroup(handle, group, fields);
  }
  // An engine without the profiling module answers so although it watches all other fields.
  if (code == abi::DCGM_ST_MODULE_NOT_LOADED && !batch.profiling) {
    code = abi::DCGM_ST_OK;
  }
  if (code == abi::DCGM_ST_OK) {
    field_groups_.push_back(fields);
  } else {
    for (const abi::dcgmGpuGrp_t group : groups_) {
      library_.api.dcgmUnwatchFields(handle, group, fields.id);
    }
    library_.api.dcgmFieldGroupDestroy(handle, fields.id);
  }
  return code;
}

dcgmReturn_t DcgmWatches::WatchGroup(dcgmHandle_t handle, size_t group, const FieldGroup& fields) {
  const bool has_device = std::ranges::any_of(devices_, [&](const WatchedDevice& device) {
    return device.group == group && !device.is_refused;
  });
  if (!has_device) {
    return abi::DCGM_ST_OK;
  }
  return library_.api.dcgmWatchFields(handle, groups_[group], fields.id, period_.count(),
                                      fields.keep_s, 0);
}

void DcgmWatches::Refuse(const Batch& batch, dcgmReturn_t code, WatchResult& result) {
  // A field that the engine does not know comes as a bad parameter.
  const Absence absence =
      code == abi::DCGM_ST_BADPARAM ? Absence::kNotSupported : AbsenceOfDcgmStatus(code);
  std::string ids;
  for (const uint16_t id : batch.ids) {
    WatchedField& field = FindWatched(id);
    field.Refuse(absence);
    field.is_refused_by_engine = true;
    absl::StrAppendFormat(&ids, "%s%d", ids.empty() ? "" : ", ", id);
  }
  AddReason(result, absl::StrFormat("the engine refuses %s %s: %s",
                                    batch.ids.size() == 1 ? "field" : "fields", ids,
                                    DcgmWords(library_.api, code)));
}

Status DcgmWatches::NoteStates(dcgmHandle_t handle, const Topology& now) {
  std::set<size_t> grown;
  for (WatchedDevice& device : devices_) {
    device.is_lost = false;  // What is no GPU has no state to tell: it is tried.
    if (device.gpu_id) {
      const auto gpu = std::ranges::find(now.gpus, *device.gpu_id, &Gpu::gpu_id);
      device.is_lost = gpu == now.gpus.end() || gpu->state == DeviceState::kLost;
    }
    const bool may_be_back =
        device.reason == Absence::kDeviceLost || device.reason == Absence::kNotFound;
    if (!device.is_refused || !may_be_back || device.is_lost) {
      continue;
    }
    const dcgmReturn_t code = library_.api.dcgmGroupAddEntity(
        handle, groups_[device.group], device.entity.entityGroupId, device.entity.entityId);
    if (code == abi::DCGM_ST_OK) {
      device.is_refused = false;
      grown.insert(device.group);
    } else if (Status status = DcgmStatus(library_.api, code, "takes a device into no group");
               LostConnection(status)) {
      return status;
    }
  }
  for (const size_t group : grown) {
    for (const FieldGroup& fields : field_groups_) {
      const dcgmReturn_t code = WatchGroup(handle, group, fields);
      if (code != abi::DCGM_ST_MODULE_NOT_LOADED) {
        PODGPU_RETURN_IF_ERROR(
            DcgmStatus(library_.api, code, "does not watch a device that is back"));
      }
    }
  }
  return absl::OkStatus();
}

void DcgmWatches::Stop(dcgmHandle_t handle) {
  for (const FieldGroup& fields : field_groups_) {
    for (const abi::dcgmGpuGrp_t group : groups_) {
      library_.api.dcgmUnwatchFields(handle, group, fields.id);
    }
    library_.api.dcgmFieldGroupDestroy(handle, fields.id);
  }
  for (const abi::dcgmGpuGrp_t group : groups_) {
    library_.api.dcgmGroupDestroy(handle, group);
  }
  Forget();
}

void DcgmWatches::Forget() {
  fields_.clear();
  devices_.clear();
  groups_.clear();
  field_groups_.clear();
  period_ = {};
  topology_ = {};
}

std::string DcgmWatches::NewName(std::string_view kind) {
  // Names of field groups are unique per engine, and groups of a client that died may still be
  // there: the time tells two clients apart, the part and the count two groups.
  const int part = part_ ? 1 + static_cast<int>(*part_) : 0;
  return absl::StrFormat("podgpu-%s-%x-%d-%d", kind, ToMicroseconds(clock_.WallNow()), part,
                         names_++);
}

}  // namespace podgpu
