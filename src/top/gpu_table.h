// The table of GPUs at the top of a frame, in the columns that the width allows.
//
// A narrower terminal loses, in this order: the plot, the clock, the throttle reasons, tensor
// activity, memory traffic, the power limit.  GPUs are in the order of their numbers, each with its
// MIG instances under it.  Pure functions; any thread.
#pragma once

#include <cstdint>

#include "report/node_status.h"
#include "top/canvas.h"

namespace podgpu {

// Rows of the table without its head: GPUs and MIG instances.
size_t GpuRows(const NodeStatus& status);

// Draws the head and at most `most_rows` rows from `row` on; returns the row after them.  A table
// with more rows ends with their number.
size_t DrawGpus(const NodeStatus& status, int64_t now_ms, size_t row, size_t most_rows,
                Canvas& canvas);

// Returns whether a plot is drawn at this width, so the history is needed.
bool ShowsPlot(size_t columns);

}  // namespace podgpu
