#include "sample/stale_values.h"

#include <algorithm>

#include "fields/field_ids.h"
#include "fields/slow_fields.h"

namespace podgpu {

size_t WithdrawStale(Grid& grid, std::chrono::milliseconds limit,
                     std::chrono::milliseconds since_read) {
  using std::chrono::milliseconds;
  constexpr int kOwnPeriods = 3;
  size_t withdrawn = 0;
  const auto rows = static_cast<uint16_t>(grid.fields().size());
  for (uint16_t row = 0; row < rows; ++row) {
    const uint16_t id = grid.fields()[row]->id;
    if (id == field_ids::kXid) {
      continue;
    }
    const milliseconds oldest = std::max<milliseconds>(limit, kOwnPeriods * OwnPeriodOf(id));
    for (Value& value : grid.CellsOf(FieldRow{row})) {
      if (value.present() && milliseconds(value.age_ms()) + since_read > oldest) {
        value = Value::OfAbsence(Absence::kStale);
        ++withdrawn;
      }
    }
  }
  return withdrawn;
}

}  // namespace podgpu
