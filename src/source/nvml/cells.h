// The way of what the devices have read into a grid.
//
// Each cell gets its device's value, or why there is none: the device sleeps, hangs or is lost, an
// instance is not there any more, or NVML does not know the field.  A view for one call; borrows
// everything, allocates nothing but new texts.  Source thread only.
#pragma once

#include <optional>
#include <vector>

#include "sample/grid.h"
#include "source/nvml/device.h"
#include "source/nvml/events.h"
#include "source/nvml/history.h"
#include "source/nvml/slot.h"

namespace podgpu {

class NvmlCells {
 public:
  // `column_of_row`: of the plan, by row of the grid; nothing where the field is not NVML's.
  NvmlCells(const NvmlPlan& plan, const std::vector<std::optional<size_t>>& column_of_row,
            const std::vector<NvmlSlot>& slots, const NvmlHistory& history,
            const NvmlEvents& events)
      : plan_(plan),
        column_of_row_(column_of_row),
        slots_(slots),
        history_(history),
        events_(events) {}

  void CopyTo(Grid& grid) const;

 private:
  void CopyColumn(Grid& grid, const NvmlSlot& slot, EntityId entity,
                  std::optional<size_t> instance) const;
  void Fill(Grid& grid, EntityId entity, Absence absence) const;

  const NvmlPlan& plan_;
  const std::vector<std::optional<size_t>>& column_of_row_;
  const std::vector<NvmlSlot>& slots_;
  const NvmlHistory& history_;
  const NvmlEvents& events_;
};

}  // namespace podgpu
