#include "health/rescan_trigger.h"

namespace podgpu {

bool RescanTrigger::Note(const Grid& grid) {
  const auto columns = static_cast<uint16_t>(grid.topology().entities.size());
  const bool is_new_epoch = epoch_ != grid.topology().epoch || has_numbers_.size() != columns;
  epoch_ = grid.topology().epoch;
  has_numbers_.resize(columns);
  for (uint16_t column = 0; column < columns; ++column) {
    const bool has_number = grid.HasCurrentNumbers(EntityId{column});
    // In a new epoch the columns are other devices, and a difference means nothing.
    if (!is_new_epoch && has_number != has_numbers_[column]) {
      rescans_left_ = kRescans;
    }
    has_numbers_[column] = has_number;
  }
  const bool rescan = rescans_left_ > 0;
  rescans_left_ -= rescan ? 1 : 0;
  return rescan;
}

}  // namespace podgpu
