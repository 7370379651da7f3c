// Withdraws values that are too old from a reading.
//
// The source withdraws them when it reads, the tick while the next reading is late. Pure function.
#pragma once

#include <chrono>
#include <cstddef>

#include "sample/grid.h"

namespace podgpu {

// Makes each value of `grid` absent (kStale) that is older than `limit` at `since_read` after the
// reading. A field that the engine samples more slowly has a limit of three of its own periods.
// Values of events (XID) stay: their time stamp is that of the event. Returns how many values it
// withdrew.
size_t WithdrawStale(Grid& grid, std::chrono::milliseconds limit,
                     std::chrono::milliseconds since_read);

}  // namespace podgpu
