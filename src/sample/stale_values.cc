#include "sample/stale_values.h"

#include <algorithm>

#include "fields/field_ids.h"
#include "fields/slow_fields.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

// Calls `visit(value, oldest)` for each present value that can become too old; `oldest` is the
// greatest age that it may have.
void ForEachAgeing(auto& grid, milliseconds limit, auto visit) {
  const auto rows = static_cast<uint16_t>(grid.fields().size());
  for (uint16_t row = 0; row < rows; ++row) {
    const uint16_t id = grid.fields()[row]->id;
    if (id == field_ids::kXid) {
      continue;
    }
    const milliseconds oldest = std::max(limit, kPeriodsUntilStale * grid.PeriodOf(FieldRow{row}));
    for (auto& value : grid.CellsOf(FieldRow{row})) {
      if (value.present()) {
        visit(value, oldest);
      }
    }
  }
}

}  // namespace

void WithdrawStale(Grid& grid, milliseconds limit, milliseconds since_read) {
  ForEachAgeing(grid, limit, [&](Value& value, milliseconds oldest) {
    if (since_read > limit || milliseconds(value.age_ms()) + since_read > oldest) {
      value = Value::OfAbsence(Absence::kStale);
    }
  });
}

milliseconds StaysFreshFor(const Grid& grid, milliseconds limit) {
  milliseconds shortest = milliseconds::max();
  ForEachAgeing(grid, limit, [&](const Value& value, milliseconds oldest) {
    shortest = std::min({shortest, limit, oldest - milliseconds(value.age_ms())});
  });
  return shortest;
}

}  // namespace podgpu
