#include "source/dcgm/watched_kind.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"

#include "fields/field_ids.h"
#include "fields/slow_fields.h"
#include "source/dcgm/error.h"

namespace podgpu {
namespace {

using abi::dcgmHandle_t;
using abi::dcgmReturn_t;

// The client refuses 128 (DCGM 4.6.0, observed), whatever the header says.
constexpr size_t kFieldsPerGroup = abi::DCGM_MAX_FIELD_IDS_PER_FIELD_GROUP - 1;
// The message that watches profiling fields holds at most 64; 65 return -3 (DCGM 4.6.0, observed).
constexpr size_t kProfilingFieldsPerGroup = 64;

// An XID stays the newest sample until it expires; dcgm-exporter keeps it for ten minutes.  Of all
// other fields only the newest sample is read.
constexpr double kXidKeepSeconds = 600;
constexpr double kKeepSeconds = 30;
// Samples of a field that are kept: the newest must not expire while the next one is late.
constexpr int kPeriodsKept = 3;

// Codes that refuse single fields, so a smaller group may succeed.
bool RefusesFields(dcgmReturn_t code) {
  constexpr std::array<dcgmReturn_t, 11> kRefusals = {
      abi::DCGM_ST_BADPARAM,
      abi::DCGM_ST_GENERIC_ERROR,
      abi::DCGM_ST_NOT_SUPPORTED,
      abi::DCGM_ST_UNKNOWN_FIELD,
      abi::DCGM_ST_NO_PERMISSION,
      abi::DCGM_ST_REQUIRES_ROOT,
      abi::DCGM_ST_MODULE_NOT_LOADED,
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

// Codes by which an engine or a GPU says that it has no profiling.
bool LacksProfiling(dcgmReturn_t code) {
  return code == abi::DCGM_ST_MODULE_NOT_LOADED || code == abi::DCGM_ST_PROFILING_NOT_SUPPORTED ||
         code == abi::DCGM_ST_NOT_SUPPORTED;
}

// Returns the absence of a field whose watch was refused.  An engine reports a field that it does
// not know as a bad parameter.
Absence AbsenceOfRefusal(dcgmReturn_t code) {
  if (code == abi::DCGM_ST_GENERIC_ERROR) {
    return Absence::kNotWatched;
  }
  return code == abi::DCGM_ST_BADPARAM ? Absence::kNotSupported : AbsenceOfDcgmStatus(code);
}

// Returns the fields of all groups; nothing when there are none, or more than the struct can hold.
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

void AddReason(WatchResult& result, const std::string& reason) {
  result.reason += result.reason.empty() ? reason : "; " + reason;
}

}  // namespace

bool IsListedProfilingField(uint16_t id) {
  return id >= field_ids::kFirstProfiling && id <= field_ids::kLastProfiling;
}

std::string DcgmNames::Next(std::string_view kind) {
  return absl::StrFormat("podgpu-%s-%x-%d-%d", kind, ToMicroseconds(clock_.WallNow()), part_,
                         count_++);
}

DcgmWatchedKind::DcgmWatchedKind(const abi::DcgmLibrary& library, DcgmNames& names,
                                 std::string name, bool among_others)
    : library_(&library),
      names_(&names),
      name_(std::move(name)),
      where_(among_others ? " on " + name_ : "") {}

StatusOr<size_t> DcgmWatchedKind::MakeRoom(dcgmHandle_t handle) {
  if (groups_.empty() || groups_.back().places == library_->MaxEntities()) {
    DeviceGroup group;
    const dcgmReturn_t code = library_->api.dcgmGroupCreate(
        handle, abi::DCGM_GROUP_EMPTY, names_->Next("devices").c_str(), &group.id);
    PODGPU_RETURN_IF_ERROR(DcgmStatus(library_->api, code, "cannot create a device group",
                                      "Another client may hold all of its 64 groups"));
    groups_.push_back(group);
  }
  ++groups_.back().places;
  return groups_.size() - 1;
}

dcgmReturn_t DcgmWatchedKind::Add(dcgmHandle_t handle, size_t group,
                                  const abi::dcgmGroupEntityPair_t& device) {
  DeviceGroup& target = groups_[group];
  const dcgmReturn_t code =
      library_->api.dcgmGroupAddEntity(handle, target.id, device.entityGroupId, device.entityId);
  target.has_devices = target.has_devices || code == abi::DCGM_ST_OK;
  return code;
}

Status DcgmWatchedKind::Watch(dcgmHandle_t handle, std::span<const WatchedField> fields,
                              std::optional<uint32_t> gpu_id, WatchResult& result) {
  states_.assign(fields.size(), {});
  return WatchOpen(handle, fields, gpu_id, result);
}

Status DcgmWatchedKind::Retry(dcgmHandle_t handle, std::span<const WatchedField> fields,
                              std::optional<uint32_t> gpu_id, WatchResult& result) {
  for (FieldState& state : states_) {
    if (state.is_refused_by_engine) {
      state = {};
    }
  }
  return WatchOpen(handle, fields, gpu_id, result);
}

bool DcgmWatchedKind::HasRefusals() const {
  return std::ranges::any_of(states_, &FieldState::is_refused_by_engine);
}

// Watches the fields that are neither refused nor watched.
Status DcgmWatchedKind::WatchOpen(dcgmHandle_t handle, std::span<const WatchedField> fields,
                                  std::optional<uint32_t> gpu_id, WatchResult& result) {
  PODGPU_RETURN_IF_ERROR(FilterProfiling(handle, fields, gpu_id, result));
  for (const Batch& batch : MakeBatches(fields)) {
    PODGPU_RETURN_IF_ERROR(WatchBatch(handle, fields, batch, result));
  }
  return absl::OkStatus();
}

// Refuses the profiling fields that the GPU does not support.
Status DcgmWatchedKind::FilterProfiling(dcgmHandle_t handle, std::span<const WatchedField> fields,
                                        std::optional<uint32_t> gpu_id, WatchResult& result) {
  std::vector<size_t> wanted;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (IsListedProfilingField(fields[i].id) && !fields[i].is_refused && !states_[i].is_refused &&
        !states_[i].is_watched) {
      wanted.push_back(i);
    }
  }
  if (wanted.empty()) {
    return absl::OkStatus();
  }
  std::optional<std::vector<uint16_t>> offered;
  std::string reason;
  if (!library_->Has(abi::DcgmCapability::kProfiling)) {
    reason = library_->name + " lacks dcgmProfGetSupportedMetricGroups";
  } else if (gpu_id) {
    abi::dcgmProfGetMetricGroups_v3 groups{};
    groups.version = abi::dcgmProfGetMetricGroups_version3;
    groups.gpuId = *gpu_id;
    const dcgmReturn_t code = library_->api.dcgmProfGetSupportedMetricGroups(handle, &groups);
    if (Status status = DcgmStatus(library_->api, code, "does not list its profiling fields");
        LostConnection(status)) {
      return status;
    }
    result.is_fault = result.is_fault || (code != abi::DCGM_ST_OK && !LacksProfiling(code));
    offered = code == abi::DCGM_ST_OK ? FieldsIn(groups) : std::nullopt;
    reason = code == abi::DCGM_ST_OK ? "the engine's list of them is empty or invalid"
                                     : DcgmWords(library_->api, code);
  }
  if (!offered && !reason.empty()) {
    result.profiling_refused = true;
    AddReason(result, "no profiling fields" + where_ + ": " + reason);
  }
  for (const size_t i : wanted) {
    // A list that cannot be read now may be readable later, so Retry asks again.  A field that a
    // readable list lacks is not asked for again.
    if (!offered || std::ranges::find(*offered, fields[i].id) == offered->end()) {
      states_[i].Refuse(offered ? Absence::kNotSupported : Absence::kNotWatched);
      states_[i].is_refused_by_engine = !offered;
    }
  }
  return absl::OkStatus();
}

DcgmWatchedKind::Terms DcgmWatchedKind::TermsOf(const WatchedField& field) {
  const std::chrono::duration<double> slower =
      std::max<std::chrono::microseconds>(field.period, OwnPeriodOf(field.id));
  const double least_s = field.id == field_ids::kXid ? kXidKeepSeconds : kKeepSeconds;
  return {.is_profiling = field.is_profiling,
          .keep_s = std::max(least_s, kPeriodsKept * slower.count()),
          .period = field.period};
}

// Fields that are watched on different terms need watches of their own.
std::vector<DcgmWatchedKind::Batch> DcgmWatchedKind::MakeBatches(
    std::span<const WatchedField> fields) const {
  std::map<Terms, std::vector<size_t>> by_terms;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i].is_refused && !states_[i].is_refused && !states_[i].is_watched) {
      by_terms[TermsOf(fields[i])].push_back(i);
    }
  }
  std::vector<Batch> batches;
  for (const auto& [terms, all] : by_terms) {
    const size_t most = terms.is_profiling ? kProfilingFieldsPerGroup : kFieldsPerGroup;
    for (size_t begin = 0; begin < all.size(); begin += most) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
      const size_t count = std::min(most, all.size() - begin);
      batches.push_back({{first, first + static_cast<std::ptrdiff_t>(count)}, terms});
    }
  }
  return batches;
}

Status DcgmWatchedKind::WatchBatch(dcgmHandle_t handle, std::span<const WatchedField> fields,
                                   const Batch& batch, WatchResult& result) {
  // Done even when all devices are lost: the field groups must exist when they are back.
  const dcgmReturn_t code = TryWatch(handle, fields, batch);
  if (code == abi::DCGM_ST_OK) {
    for (const size_t i : batch.fields) {
      states_[i].is_watched = true;
    }
    return absl::OkStatus();
  }
  if (!RefusesFields(code)) {
    return DcgmStatus(library_->api, code, "does not watch the fields");
  }
  if (batch.fields.size() == 1 || (batch.terms.is_profiling && RefusesProfiling(code))) {
    result.profiling_refused = result.profiling_refused || batch.terms.is_profiling;
    Refuse(fields, batch, code, result);
    return absl::OkStatus();
  }
  // The engine does not say which field it refuses.  Halving finds k refused fields of n with about
  // k log n calls, and all others end up watched.
  const auto middle = batch.fields.begin() + static_cast<std::ptrdiff_t>(batch.fields.size() / 2);
  const Batch halves[] = {{{batch.fields.begin(), middle}, batch.terms},
                          {{middle, batch.fields.end()}, batch.terms}};
  for (const Batch& half : halves) {
    PODGPU_RETURN_IF_ERROR(WatchBatch(handle, fields, half, result));
  }
  return absl::OkStatus();
}

// Watches all of `batch` on every group; after a failure none of it.
dcgmReturn_t DcgmWatchedKind::TryWatch(dcgmHandle_t handle, std::span<const WatchedField> fields,
                                       const Batch& batch) {
  std::vector<uint16_t> ids;
  ids.reserve(batch.fields.size());
  for (const size_t i : batch.fields) {
    ids.push_back(fields[i].id);
  }
  FieldGroup made{.id = 0, .terms = batch.terms};
  dcgmReturn_t code = library_->api.dcgmFieldGroupCreate(
      handle, static_cast<int>(ids.size()), ids.data(), names_->Next("fields").c_str(), &made.id);
  if (code != abi::DCGM_ST_OK) {
    return code;
  }
  for (size_t i = 0; i < groups_.size() && code == abi::DCGM_ST_OK; ++i) {
    code = WatchGroup(handle, groups_[i], made);
  }
  if (code == abi::DCGM_ST_OK) {
    field_groups_.push_back(made);
    return code;
  }
  // The groups before the one that failed are watched by now, and the engine would sample them.
  for (const DeviceGroup& group : groups_) {
    library_->api.dcgmUnwatchFields(handle, group.id, made.id);
  }
  library_->api.dcgmFieldGroupDestroy(handle, made.id);
  return code;
}

dcgmReturn_t DcgmWatchedKind::WatchGroup(dcgmHandle_t handle, const DeviceGroup& group,
                                         const FieldGroup& fields) const {
  if (!group.has_devices) {
    return abi::DCGM_ST_OK;
  }
  return library_->api.dcgmWatchFields(handle, group.id, fields.id, fields.terms.period.count(),
                                       fields.terms.keep_s, 0);
}

Status DcgmWatchedKind::WatchAgain(dcgmHandle_t handle, size_t group) {
  for (const FieldGroup& fields : field_groups_) {
    const dcgmReturn_t code = WatchGroup(handle, groups_[group], fields);
    if (!RefusesFields(code)) {
      PODGPU_RETURN_IF_ERROR(
          DcgmStatus(library_->api, code, "does not watch a device that is back"));
    }
  }
  return absl::OkStatus();
}

void DcgmWatchedKind::Refuse(std::span<const WatchedField> fields, const Batch& batch,
                             dcgmReturn_t code, WatchResult& result) {
  std::string ids;
  for (const size_t i : batch.fields) {
    states_[i].Refuse(AbsenceOfRefusal(code));
    states_[i].is_refused_by_engine = true;
    absl::StrAppendFormat(&ids, "%s%d", ids.empty() ? "" : ", ", fields[i].id);
  }
  result.is_fault = result.is_fault || !batch.terms.is_profiling || !LacksProfiling(code);
  AddReason(result, absl::StrFormat("the engine refuses %s %s%s: %s",
                                    batch.fields.size() == 1 ? "field" : "fields", ids, where_,
                                    DcgmWords(library_->api, code)));
}

void DcgmWatchedKind::Stop(dcgmHandle_t handle) {
  for (const FieldGroup& fields : field_groups_) {
    for (const DeviceGroup& group : groups_) {
      library_->api.dcgmUnwatchFields(handle, group.id, fields.id);
    }
    library_->api.dcgmFieldGroupDestroy(handle, fields.id);
  }
  for (const DeviceGroup& group : groups_) {
    library_->api.dcgmGroupDestroy(handle, group.id);
  }
  field_groups_.clear();
  groups_.clear();
}

}  // namespace podgpu
