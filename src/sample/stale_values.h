// Withdraws values that are too old from a reading.
//
// The source withdraws them when it reads, the tick while the next reading is late.  A field that
// is sampled at an interval of its own may have values as old as three of these intervals, while
// readings come.  Without a reading for `limit` no value stays, since the device may have another
// one now.
// Values of events (XID) stay: their time stamp is that of the event.  Pure functions.
#pragma once

#include <chrono>

#include "sample/grid.h"

namespace podgpu {

// Makes each value of `grid` absent (kStale) that is older than `limit` at `since_read` after the
// reading.
void WithdrawStale(Grid& grid, std::chrono::milliseconds limit,
                   std::chrono::milliseconds since_read);

// Returns how long after the reading its first value reaches its limit; max() if none can.
std::chrono::milliseconds StaysFreshFor(const Grid& grid, std::chrono::milliseconds limit);

}  // namespace podgpu
