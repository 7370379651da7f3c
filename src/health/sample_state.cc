#include "health/sample_state.h"

#include <algorithm>

#include "fields/field_ids.h"

namespace podgpu {
namespace {

// Returns whether a healthy GPU may lack a number of `field` for this reason.
bool IsExcuse(const Field& field, Absence absence) {
  switch (absence) {
    case Absence::kSuspended:
    case Absence::kPaused:
      return true;
    case Absence::kNotSupported:
    case Absence::kNotInSource:
      return !field_ids::IsMemory(field.id);  // Every healthy GPU reports its memory.
    default:
      return false;
  }
}

// Adds the absent values of one column to the verdict; returns false when the verdict is final.
bool AddAbsences(const Grid& grid, EntityId column, SampleVerdict& verdict) {
  const auto rows = static_cast<uint16_t>(grid.fields().size());
  for (uint16_t row = 0; row < rows; ++row) {
    const Field& field = *grid.fields()[row];
    if (field_ids::IsJudged(field.id) || !grid.ColumnsOf(FieldRow{row}).Contains(column)) {
      continue;
    }
    const Value& value = grid.at(FieldRow{row}, column);
    if (value.present()) {
      continue;  // The value is a text.
    }
    // Precedence: a stale value decides at once; else the first reason that is no excuse counts,
    // else the first excuse.
    if (value.absence() == Absence::kStale) {
      verdict = {SampleState::kStale, Absence::kStale};
      return false;
    }
    if (verdict.state == SampleState::kExcused) {
      const bool is_excuse = IsExcuse(field, value.absence());
      const bool is_first = !is_excuse || verdict.reason == Absence::kNotRead;
      verdict.state = is_excuse ? SampleState::kExcused : SampleState::kMissing;
      verdict.reason = is_first ? value.absence() : verdict.reason;
    }
  }
  return true;
}

}  // namespace

SampleVerdict JudgeSamples(const Grid& grid, size_t index) {
  const std::vector<Entity>& entities = grid.topology().entities;
  const auto begin = std::ranges::find(entities, index, &Entity::gpu);
  const auto first = static_cast<uint16_t>(begin - entities.begin());
  const auto is_of_gpu = [&](uint16_t column) {
    return column < entities.size() && entities[column].gpu == index;
  };
  for (uint16_t column = first; is_of_gpu(column); ++column) {
    if (grid.HasCurrentNumbers(EntityId{column})) {
      return {SampleState::kFresh, Absence::kNotRead};
    }
  }
  SampleVerdict verdict;
  for (uint16_t column = first; is_of_gpu(column); ++column) {
    if (!AddAbsences(grid, EntityId{column}, verdict)) {
      break;
    }
  }
  return verdict;
}

}  // namespace podgpu
