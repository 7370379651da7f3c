#include "sample/grid.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fields/field_ids.h"
#include "fields/slow_fields.h"
#include "sample/columns.h"

namespace podgpu {
namespace {

bool Ascending(const std::vector<const Field*>& fields) {
  return std::ranges::adjacent_find(
             fields, [](const Field* a, const Field* b) { return a->id >= b->id; }) == fields.end();
}

// Returns whether the value is absent although the device has the field: it gives no samples now.
bool LacksSamples(const Value& value) {
  constexpr std::array<Absence, 6> kReasons = {Absence::kNotRead,    Absence::kNoData,
                                               Absence::kBlank,      Absence::kStale,
                                               Absence::kDeviceLost, Absence::kSourceDown};
  return !value.present() && std::ranges::find(kReasons, value.absence()) != kReasons.end();
}

}  // namespace

Grid::Grid(std::shared_ptr<const Topology> topology, std::vector<const Field*> fields)
    : topology_(std::move(topology)), fields_(std::move(fields)) {
  PODGPU_CHECK(topology_ != nullptr);
  PODGPU_CHECK(std::ranges::find(fields_, nullptr) == fields_.end());
  PODGPU_CHECK(Ascending(fields_));
  size_t cells = 0;
  rows_.reserve(fields_.size());
  for (const Field* field : fields_) {
    rows_.push_back({.columns = ColumnsFor(field->level, *topology_),
                     .first_cell = cells,
                     .period = OwnPeriodOf(field->id)});
    cells += rows_.back().columns.count;
  }
  values_.resize(cells);
}

std::optional<FieldRow> Grid::RowOf(uint16_t field_id) const {
  const auto found = std::ranges::lower_bound(fields_, field_id, {}, &Field::id);
  if (found == fields_.end() || (*found)->id != field_id) {
    return std::nullopt;
  }
  return FieldRow{static_cast<uint16_t>(found - fields_.begin())};
}

bool Grid::HasFreshNumbers(EntityId entity, std::chrono::milliseconds limit) const {
  return HasNumbers(entity, limit, true);
}

bool Grid::HasCurrentNumbers(EntityId entity) const {
  return HasNumbers(entity, std::chrono::milliseconds::max(), false);
}

bool Grid::HasNumbers(EntityId entity, std::chrono::milliseconds limit, bool with_judged) const {
  if (const std::optional<bool> usual = HasNumbers(entity, {limit, with_judged, false})) {
    return *usual;
  }
  return HasNumbers(entity, {limit, with_judged, true}).value_or(false);
}

std::optional<bool> Grid::HasNumbers(EntityId entity, const Counted& counted) const {
  std::optional<bool> has_numbers;
  const auto rows = static_cast<uint16_t>(fields_.size());
  for (uint16_t row = 0; row < rows; ++row) {
    const uint16_t id = fields_[row]->id;
    const bool counts = OwnPeriodOf(id).count() == 0 && rows_[row].is_rare == counted.rare &&
                        (counted.with_judged || !field_ids::IsJudged(id));
    if (!counts || !rows_[row].columns.Contains(entity)) {
      continue;
    }
    const Value& value = at(FieldRow{row}, entity);
    const bool is_number = value.present() && value.kind() != Value::Kind::kText;
    if (is_number || (LacksSamples(value) && id != field_ids::kXid)) {
      has_numbers = false;
    }
    if (is_number && std::chrono::milliseconds(value.age_ms()) <=
                         std::max(counted.limit, kPeriodsUntilStale * rows_[row].period)) {
      return true;
    }
  }
  return has_numbers;
}

void Grid::SetCollections(std::shared_ptr<const FieldCollections> collections,
                          std::chrono::milliseconds interval) {
  if (collections == collections_) {
    return;
  }
  collections_ = std::move(collections);
  for (size_t row = 0; row < rows_.size(); ++row) {
    const uint16_t id = fields_[row]->id;
    const std::chrono::milliseconds own =
        collections_ == nullptr ? std::chrono::milliseconds(0) : IntervalOf(*collections_, id);
    rows_[row].period = std::max<std::chrono::milliseconds>(OwnPeriodOf(id), own);
    rows_[row].is_rare = own > interval;
  }
}

void Grid::Clear(Absence reason) {
  std::ranges::fill(values_, Value::OfAbsence(reason));
  text_count_ = 0;
  findings.Clear();
}

uint32_t Grid::InternText(std::string_view text) {
  const auto end = texts_.begin() + static_cast<std::ptrdiff_t>(text_count_);
  const auto found = std::find(texts_.begin(), end, text);
  const auto index = static_cast<uint32_t>(found - texts_.begin());
  if (found == end) {
    if (text_count_ == texts_.size()) {
      texts_.emplace_back();
    }
    texts_[text_count_++].assign(text);
  }
  return index;
}

}  // namespace podgpu
