#include "health/device_states.h"

#include <algorithm>

namespace podgpu {
namespace {

constexpr uint16_t kEventOfXid = 230;
// The framebuffer's fields: a GPU that does not even tell its memory is no GPU that lacks a field.
constexpr uint16_t kFirstMemoryField = 250;
constexpr uint16_t kLastMemoryField = 252;

// Whether a GPU that is well may give no number of `field` for this reason.
bool IsExcuse(const Field& field, Absence absence) {
  const bool is_memory = field.id >= kFirstMemoryField && field.id <= kLastMemoryField;
  switch (absence) {
    case Absence::kSuspended:
    case Absence::kPaused:
      return true;
    case Absence::kNotSupported:
    case Absence::kNotInSource:
      return !is_memory;
    default:
      return false;
  }
}

// Adds what the absent values of one column say; false when no more need be asked.
bool AddAbsences(const Grid& grid, EntityId column, HeardVoice& heard) {
  const auto rows = static_cast<uint16_t>(grid.fields().size());
  for (uint16_t row = 0; row < rows; ++row) {
    const Field& field = *grid.fields()[row];
    if (field.id == kEventOfXid || !grid.ColumnsOf(FieldRow{row}).Contains(column)) {
      continue;
    }
    const Value& value = grid.at(FieldRow{row}, column);
    if (value.present()) {
      continue;  // A text.
    }
    if (value.absence() == Absence::kStale) {
      heard = {Voice::kStale, Absence::kStale};
      return false;
    }
    if (heard.voice == Voice::kExcused) {
      const bool is_excuse = IsExcuse(field, value.absence());
      const bool is_first = !is_excuse || heard.reason == Absence::kNotRead;
      heard.voice = is_excuse ? Voice::kExcused : Voice::kSilent;
      heard.reason = is_first ? value.absence() : heard.reason;
    }
  }
  return true;
}

}  // namespace

HeardVoice Hear(const Grid& grid, size_t index) {
  const std::vector<Entity>& entities = grid.topology().entities;
  const auto begin = std::ranges::find(entities, index, &Entity::gpu);
  const auto first = static_cast<uint16_t>(begin - entities.begin());
  const auto is_of_gpu = [&](uint16_t column) {
    return column < entities.size() && entities[column].gpu == index;
  };
  for (uint16_t column = first; is_of_gpu(column); ++column) {
    if (grid.HasCurrentNumbers(EntityId{column})) {
      return {Voice::kSpeaks, Absence::kNotRead};
    }
  }
  HeardVoice heard;
  for (uint16_t column = first; is_of_gpu(column); ++column) {
    if (!AddAbsences(grid, EntityId{column}, heard)) {
      break;
    }
  }
  return heard;
}

}  // namespace podgpu
