#include "health/voices.h"

namespace podgpu {

bool Voices::Note(const Grid& grid) {
  const auto columns = static_cast<uint16_t>(grid.topology().entities.size());
  const bool is_new_epoch = epoch_ != grid.topology().epoch || speaking_.size() != columns;
  epoch_ = grid.topology().epoch;
  speaking_.resize(columns);
  for (uint16_t column = 0; column < columns; ++column) {
    const bool speaks = grid.HasCurrentNumbers(EntityId{column});
    if (!is_new_epoch && speaks != speaking_[column]) {
      looks_left_ = kLooks;
    }
    speaking_[column] = speaks;
  }
  const bool look = looks_left_ > 0;
  looks_left_ -= look ? 1 : 0;
  return look;
}

}  // namespace podgpu
