// One frame of `podgpu top --fleet`: the pods that waste the most GPU-hours, and the nodes.
//
// Nodes in trouble come first, then those with idle GPUs.  Pods are in the order of the GPU-hours
// that their GPUs have been idle.  Pane 1 has the pods, pane 2 the nodes.  Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "top/canvas.h"
#include "top/pane_table.h"
#include "top/read_fleet.h"
#include "top/silence.h"
#include "top/view.h"

namespace podgpu {

struct FleetModel {
  std::optional<FleetStatus> fleet;  // Absent before the first answer.
  std::string url;
  int64_t now_ms = 0;
  int64_t utc_offset_s = 0;
  Silence silence;      // Without a failure while the cluster role answers.
  bool is_old = false;  // Its answer is too old: names stay, numbers that change are dashes.

  // Call only after the first answer.
  const FleetStatus& shown() const {
    return *fleet;  // NOLINT(bugprone-unchecked-optional-access): the caller has checked.
  }
};

Canvas DrawFleet(const FleetModel& model, const TopView& view, Size size, bool ascii);
// All rows of both tables.
std::string DrawFleetOnce(const FleetModel& model, const TopView& view, size_t columns, bool ascii);
PressContext FleetContext(const FleetModel& model, const TopView& view, Size size);

// Makes the table of pods for Pane::kPods, and the table of nodes for each other pane.
PaneTable FleetTable(Pane pane, const FleetModel& model, const TopView& view);

}  // namespace podgpu
