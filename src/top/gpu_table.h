// The table of GPUs at the top of a frame, in the columns that the width allows.
//
// A narrower terminal loses, in this order: the plot, the clock, the throttle reasons, tensor
// activity, memory traffic, the power limit.  GPUs are in the order of their numbers, each with its
// MIG instances under it.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "report/node_status.h"
#include "top/canvas.h"

namespace podgpu {

// Rows of the table without its head: GPUs and MIG instances.
size_t GpuRows(const NodeStatus& status);

// Draws the head and the rows into the area below `area.row`.  If not all of its rows fit, the row
// of GPU `in_view` is among those that are drawn, and the last line counts the others.
void DrawGpus(const NodeStatus& status, int64_t now_ms, std::optional<uint32_t> in_view,
              PaneArea area, Canvas& canvas);

// Returns whether a plot is drawn at this width, so the history is needed.
bool ShowsPlot(size_t columns);

}  // namespace podgpu
