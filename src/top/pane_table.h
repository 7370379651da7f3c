// The rows of the panes Pods, Processes and Energy: made from a status, filtered and ordered.
//
// Ties are ordered by name, so rows do not jump.  Dashes come last in either direction, and the
// unattributed rest of the node after them, so columns add up from top to bottom.  Pure functions;
// any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/node_status.h"
#include "top/view.h"
#include "top/words.h"

namespace podgpu {

struct PaneColumn {
  std::string_view title;
  size_t width = 0;  // 0: all that the other columns leave, the name.
  bool is_left = false;
  bool rises = false;            // Its own order is ascending.
  bool sheds_namespace = false;  // A cell that is too long loses what stands before "/" first.
  size_t gap = 0;                // Columns before it.
  int dropped_as = 0;            // 1: the first that a narrower terminal loses; 0: never.
  size_t most = 0;               // It grows up to this width once the name has its usual one.
};

struct PaneCell {
  std::string text;
  std::optional<double> number;  // The value that orders rows; absent: the text does, a dash last.
  Ink ink = Ink::kPlain;
};

struct PaneRow {
  std::string key;  // Names the row for the selection.
  std::vector<PaneCell> cells;
  std::string pod_namespace;
  std::string searched;  // The text that the filter searches.
  std::optional<uint32_t> gpu;
  bool is_idle = false;
  bool is_rest = false;  // The unattributed rest: last, and in each selection of rows.
};

struct PaneTable {
  std::vector<PaneColumn> columns;
  std::vector<PaneRow> rows;
  size_t sorted_by = 0;
  bool is_rising = false;
  size_t least_name = 22;      // Columns are dropped until the name has so many.
  bool has_namespaces = true;  // Its rows are of pods.
  size_t hidden = 0;           // Rows that the view does not show.
};

// Returns the table of `pane`, which is not kExplain.  `now_ms` is the node's time.
PaneTable TableOf(Pane pane, const NodeStatus& status, const TopView& view, int64_t now_ms);

// Removes the rows that the view does not show, and orders the others.
void ArrangeRows(const TopView& view, const PaneOrder& order, PaneTable& table);

// The namespaces of all pods, sorted.
std::vector<std::string> NamespacesOf(const NodeStatus& status);

// Returns how an energy was found: "measured, alone", or by what it was apportioned: "by SM time".
std::string_view MethodWords(std::string_view method);

}  // namespace podgpu
