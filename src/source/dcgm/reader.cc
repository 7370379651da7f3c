#include "source/dcgm/reader.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "source/dcgm/error.h"

namespace podgpu {
namespace {

using abi::dcgmFieldValue_v2;
using abi::dcgmReturn_t;

constexpr size_t kValuesPerRoundTrip = 512;
constexpr size_t kValuesPerEmbeddedCall = 128;
constexpr size_t kFieldsPerCall = abi::DCGM_MAX_FIELD_IDS_PER_FIELD_GROUP - 1;

bool SameEntity(const dcgmFieldValue_v2& raw, const abi::dcgmGroupEntityPair_t& entity) {
  return raw.entityGroupId == entity.entityGroupId && raw.entityId == entity.entityId;
}

// The cells of a row that `watches` covers: a row may also have columns of another kind of part.
std::span<Value> CellsOf(const DcgmWatches& watches, FieldRow row, Grid& grid) {
  const size_t count = watches.devices().size();
  return count == 0
             ? std::span<Value>()
             : grid.CellsOf(row).subspan(watches.first_column() - grid.ColumnsOf(row).first, count);
}

// Calls `use` with each row that has the field's values.
template <typename Use>
void ForEachRow(const WatchedField& field, const Use& use) {
  for (const std::optional<FieldRow>& row : {field.row, field.base_row}) {
    if (row) {
      use(*row);
    }
  }
}

}  // namespace

DcgmReader::DcgmReader(const abi::DcgmLibrary& library, bool is_embedded, DcgmEvents* events)
    : library_(library),
      values_per_call_(is_embedded ? kValuesPerEmbeddedCall : kValuesPerRoundTrip),
      events_(events) {}

Status DcgmReader::Read(abi::dcgmHandle_t handle, const DcgmWatches& watches, Grid& grid) {
  const ColumnRange columns = watches.ColumnsIn(grid.topology());
  PODGPU_CHECK(columns.first == watches.first_column() || columns.count == 0);
  PODGPU_CHECK(watches.devices().size() == columns.count);
  dropped_.clear();
  Prepare(watches, grid);
  for (size_t field = 0; field < ids_.size(); field += fields_per_call_) {
    for (size_t device = 0; device < entities_.size(); device += devices_per_call_) {
      PODGPU_RETURN_IF_ERROR(ReadPart(handle, watches, device, field, grid));
    }
  }
  return absl::OkStatus();
}

void DcgmReader::Prepare(const DcgmWatches& watches, Grid& grid) {
  entities_.clear();
  columns_.clear();
  ids_.clear();
  requested_.clear();
  bool all_devices_are_watched = true;
  for (size_t i = 0; i < watches.devices().size(); ++i) {
    const WatchedDevice& device = watches.devices()[i];
    const EntityId column{static_cast<uint16_t>(watches.first_column() + i)};
    all_devices_are_watched = all_devices_are_watched && !device.is_refused;
    if (!device.is_refused) {
      entities_.push_back(device.entity);
      columns_.push_back(column);
    }
  }
  for (size_t f = 0; f < watches.fields().size(); ++f) {
    const WatchedField& field = watches.fields()[f];
    const bool is_refused_somewhere = !watches.IsWatchedOnAllKinds(f);
    // It stays when the engine omits a requested value.
    PODGPU_CHECK(!field.row || grid.fields()[field.row->index]->id == field.id);
    ForEachRow(field, [&](FieldRow row) {
      std::ranges::fill(CellsOf(watches, row, grid), Value::OfAbsence(Absence::kNoData));
    });
    if (is_refused_somewhere || !all_devices_are_watched) {
      SetReasons(watches, f, grid);
    }
    if (watches.IsWatched(f)) {
      ids_.push_back(field.id);
      requested_.push_back({f, is_refused_somewhere});
    }
  }
  fields_per_call_ = std::clamp<size_t>(ids_.size(), 1, kFieldsPerCall);
  devices_per_call_ =
      std::min(std::max<size_t>(values_per_call_ / fields_per_call_, 1), library_.MaxEntities());
  reply_.resize(fields_per_call_ * std::min(devices_per_call_, entities_.size()));
}

void DcgmReader::SetReasons(const DcgmWatches& watches, size_t field, Grid& grid) const {
  for (size_t i = 0; i < watches.devices().size(); ++i) {
    if (const std::optional<Absence> reason = watches.RefusalOf(field, i)) {
      const EntityId column{static_cast<uint16_t>(watches.first_column() + i)};
      ForEachRow(watches.fields()[field],
                 [&](FieldRow row) { grid.at(row, column) = Value::OfAbsence(*reason); });
    }
  }
}

Status DcgmReader::ReadPart(abi::dcgmHandle_t handle, const DcgmWatches& watches,
                            size_t first_device, size_t first_field, Grid& grid) {
  const size_t devices = std::min(devices_per_call_, entities_.size() - first_device);
  const size_t fields = std::min(fields_per_call_, ids_.size() - first_field);
  const std::span<dcgmFieldValue_v2> reply = std::span(reply_).first(devices * fields);
  for (dcgmFieldValue_v2& raw : reply) {
    raw.entityGroupId = abi::DCGM_FE_NONE;  // Marks the value as unanswered.
  }
  const dcgmReturn_t code = library_.api.dcgmEntitiesGetLatestValues(
      handle, &entities_[first_device], static_cast<uint32_t>(devices), &ids_[first_field],
      static_cast<uint32_t>(fields), 0, reply.data());
  if (code != abi::DCGM_ST_OK) {  // Tested first, so a successful reading formats no text.
    return DcgmStatus(
        library_.api, code,
        absl::StrFormat("does not answer for %d fields of %d devices", fields, devices));
  }
  for (size_t i = 0; i < reply.size(); ++i) {
    Store(watches, reply[i], first_device + i / fields, first_field + i % fields, grid);
  }
  return absl::OkStatus();
}

// Stores `raw` in its cell.  It is expected for `device` and `field` (indices into entities_ and
// ids_), but the order of a reply is not guaranteed, so both are checked.
void DcgmReader::Store(const DcgmWatches& watches, const dcgmFieldValue_v2& raw, size_t device,
                       size_t field, Grid& grid) {
  if (!SameEntity(raw, entities_[device])) {
    const auto found = std::ranges::find_if(
        entities_, [&](const auto& entity) { return SameEntity(raw, entity); });
    device = static_cast<size_t>(found - entities_.begin());
  }
  if (raw.fieldId != ids_[field]) {
    field = static_cast<size_t>(std::ranges::find(ids_, raw.fieldId) - ids_.begin());
  }
  if (device == entities_.size() || field == ids_.size()) {
    return;  // It was not requested.
  }
  if (events_ != nullptr) {
    events_->See(raw);
  }
  const EntityId column = columns_[device];
  const size_t index = column.index - watches.first_column();
  const RequestedField& requested = requested_[field];
  if (requested.is_refused_somewhere && watches.RefusalOf(requested.index, index)) {
    return;  // Requested only because of other devices.
  }
  const WatchedField& watched = watches.fields()[requested.index];
  Value value = DecodeDcgm(watched.decoder, raw, grid.read_at_wall, grid);
  // A lost device answers with status 0 and plain blanks, or with "not watched".
  const bool is_dropped = raw.status == abi::DCGM_ST_NOT_WATCHED;
  const bool says_nothing = !value.present() && (is_dropped || value.absence() == Absence::kBlank);
  // The engine repeats its last sample of a slow collection.
  const bool is_repeated = watched.is_slow && value.present();
  if ((says_nothing || is_repeated) && watches.devices()[index].is_lost) {
    value = Value::OfAbsence(Absence::kDeviceLost);
  } else if (is_dropped && (dropped_.empty() || dropped_.back() != index)) {
    dropped_.push_back(index);
  }
  if (watched.row) {
    grid.at(*watched.row, column) = value;
  }
  if (watched.base_row) {
    grid.at(*watched.base_row, column) = InBaseUnit(*watched.base_unit, value);
  }
}

}  // namespace podgpu
