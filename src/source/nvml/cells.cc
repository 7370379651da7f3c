#include "source/nvml/cells.h"

namespace podgpu {

void NvmlCells::CopyTo(Grid& grid) const {
  const Topology& topology = grid.topology();
  size_t next_instance = 0;  // Of the GPU that the entities have come to.
  const auto columns = static_cast<uint16_t>(topology.column_count());
  for (uint16_t column = 0; column < columns; ++column) {
    const EntityId entity{column};
    if (column >= topology.entities.size()) {
      Fill(grid, entity, Absence::kNotInSource);
      continue;
    }
    const Entity& what = topology.entities[column];
    const NvmlSlot& slot = slots_[what.gpu];
    next_instance = what.kind == EntityKind::kGpu ? 0 : next_instance;
    std::optional<size_t> instance;
    if (what.kind == EntityKind::kGpuInstance) {
      instance = slot.instances[next_instance++];
      if (!instance) {
        Fill(grid, entity, slot.is_read ? Absence::kNotFound : slot.absence);
        continue;
      }
    }
    if (slot.is_read) {
      CopyColumn(grid, slot, entity, instance);
    } else {
      Fill(grid, entity, slot.absence);
    }
  }
}

void NvmlCells::Fill(Grid& grid, EntityId entity, Absence absence) const {
  const auto rows = static_cast<uint16_t>(grid.fields().size());
  for (uint16_t row = 0; row < rows; ++row) {
    if (grid.ColumnsOf(FieldRow{row}).Contains(entity)) {
      const bool is_ours = column_of_row_[row].has_value();
      grid.at(FieldRow{row}, entity) = Value::OfAbsence(is_ours ? absence : Absence::kNotInSource);
    }
  }
}

void NvmlCells::CopyColumn(Grid& grid, const NvmlSlot& slot, EntityId entity,
                           std::optional<size_t> instance) const {
  const auto rows = static_cast<uint16_t>(grid.fields().size());
  for (uint16_t row = 0; row < rows; ++row) {
    if (!grid.ColumnsOf(FieldRow{row}).Contains(entity)) {
      continue;
    }
    Value& cell = grid.at(FieldRow{row}, entity);
    const std::optional<size_t>& column = column_of_row_[row];
    if (!column) {
      cell = Value::OfAbsence(Absence::kNotInSource);
      continue;
    }
    cell = slot.device->CellOf(*column, instance);
    if (plan_.columns[*column].recipe.call == NvmlCall::kXid) {
      cell = history_.LastXid(slot, events_, grid.read_at_wall);
    } else if (cell.kind() == Value::Kind::kText) {
      cell = Value::OfText(grid.InternText(slot.device->TextOf(*column, instance)), cell.age_ms());
    }
  }
}

}  // namespace podgpu
