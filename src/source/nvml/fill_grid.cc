#include "source/nvml/fill_grid.h"

#include <algorithm>
#include <limits>

#include "fields/field_ids.h"

namespace podgpu {
namespace {

uint32_t XidAgeMs(int64_t stamp_us, WallTime now) {
  return static_cast<uint32_t>(std::clamp<int64_t>((ToMicroseconds(now) - stamp_us) / 1000, 0,
                                                   std::numeric_limits<uint32_t>::max()));
}

EntityId ColumnOfGpu(const Topology& topology, size_t gpu) {
  const auto column = std::ranges::find_if(topology.entities, [&](const Entity& entity) {
    return entity.kind == EntityKind::kGpu && entity.gpu == gpu;
  });
  return EntityId{static_cast<uint16_t>(column - topology.entities.begin())};
}

}  // namespace

void NvmlHistory::TakeXids(NvmlEvents& events, const std::vector<NvmlSlot>& slots) {
  events.Take(xids_);
  for (const NvmlXid& xid : xids_) {
    for (size_t gpu = 0; gpu < slots.size(); ++gpu) {
      const NvmlSlot& slot = slots[gpu];
      if (slot.uuid == xid.uuid) {
        counts_.AddXid(gpu, xid.code, xid.stamp_us);
        last_xids_[slot.uuid] = xid;
      }
    }
  }
}

Value NvmlHistory::LastXid(const NvmlSlot& slot, const NvmlEvents& events, WallTime now) const {
  const auto last = last_xids_.find(slot.uuid);
  if (last != last_xids_.end()) {
    return Value::OfInt64(last->second.code, XidAgeMs(last->second.stamp_us, now));
  }
  return Value::OfAbsence(events.IsSubscribed(slot.device->address().gpu.handle)
                              ? Absence::kNoData
                              : Absence::kNotSupported);
}

void NvmlHistory::Fill(Grid& grid, std::vector<NvmlSlot>& slots, const NvmlEvents& events) {
  const std::optional<FieldRow> reasons = grid.RowOf(field_ids::kClockReasons);
  const bool counts_clocks = grid.findings.asked.clock_window.count() > 0 && reasons.has_value();
  const int64_t stamp_us = ToMicroseconds(grid.read_at_wall);
  if (counts_clocks && stamp_us != clocks_at_us_) {
    clocks_at_us_ = stamp_us;
    SampleClocks(grid, *reasons, slots);
  }
  counts_.Fill(grid.read_at_wall, grid.findings);
  for (size_t gpu = 0; gpu < grid.findings.gpus.size(); ++gpu) {
    const NvmlSlot& slot = slots[gpu];
    GpuEventCounts& counts = grid.findings.gpus[gpu];
    counts.xids_known =
        counts.xids > 0 || (slot.is_read && events.IsSubscribed(slot.device->address().gpu.handle));
    counts.clocks_known = counts_clocks && (counts.clock_samples > 0 || slot.tells_clocks);
  }
}

void NvmlHistory::SampleClocks(const Grid& grid, FieldRow reasons, std::vector<NvmlSlot>& slots) {
  for (size_t gpu = 0; gpu < slots.size(); ++gpu) {
    const Value value = grid.at(reasons, ColumnOfGpu(grid.topology(), gpu));
    slots[gpu].tells_clocks = value.present();
    if (value.present() && value.age_ms() == 0) {  // Else a sample that was counted before.
      counts_.AddClocks(gpu, value.int64(), ToMicroseconds(grid.read_at_wall));
    }
  }
}

void NvmlCells::CopyTo(Grid& grid) const {
  const Topology& topology = grid.topology();
  size_t next_instance = 0;  // Next instance of the current GPU.
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
    const NvmlRecipe& recipe = plan_.columns[*column].recipe;
    if (recipe.unit != nullptr) {
      cell = InBaseUnit(*recipe.unit, cell);
    } else if (recipe.call == NvmlCall::kXid) {
      cell = history_.LastXid(slot, events_, grid.read_at_wall);
    } else if (cell.kind() == Value::Kind::kText) {
      cell = Value::OfText(grid.InternText(slot.device->TextOf(*column, instance)), cell.age_ms());
    }
  }
}

}  // namespace podgpu
