#include "view/held_measures.h"

#include "view/native_table.h"

namespace podgpu {
namespace {

// Returns whether the line of `measure` is not 0 for `value`.
bool Holds(const Measure& measure, const Value& value) {
  if (!value.present() || value.kind() == Value::Kind::kText) {
    return false;
  }
  if (measure.bit) {
    return value.kind() == Value::Kind::kInt64 && ((value.int64() >> *measure.bit) & 1) != 0;
  }
  return measure.word ? value.kind() == Value::Kind::kInt64 && value.int64() == *measure.word
                      : value.number() != 0;
}

}  // namespace

void HeldMeasures::Take(const Grid& grid) {
  const Topology& topology = grid.topology();
  for (size_t i = 0; i < Measures().size(); ++i) {
    const Measure& measure = Measures()[i];
    const std::optional<FieldRow> row =
        measure.shown == Shown::kOnceSeen ? grid.RowOf(measure.field_id) : std::nullopt;
    if (!row) {
      continue;
    }
    const auto columns = static_cast<uint16_t>(topology.entities.size());
    for (uint16_t column = 0; column < columns; ++column) {
      const EntityId entity{column};
      if (topology.entities[column].kind == EntityKind::kGpu &&
          Holds(measure, grid.at(*row, entity))) {
        Note(topology.GpuOf(entity).uuid, i);
      }
    }
  }
}

bool HeldMeasures::Has(std::string_view uuid, size_t measure) const {
  const auto found = held_.find(uuid);
  return found != held_.end() && found->second[measure];
}

void HeldMeasures::Note(const std::string& uuid, size_t measure) {
  const auto [entry, is_new] = held_.try_emplace(uuid);
  if (is_new) {
    entry->second.resize(Measures().size());
  }
  if (!entry->second[measure]) {
    entry->second[measure] = true;
    ++generation_;
  }
}

}  // namespace podgpu
