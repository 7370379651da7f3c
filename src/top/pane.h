// The lower part of a frame: its panes, help, and the detail of a row.
//
// Used by frame.cc alone.  Pure functions; any thread.
#pragma once

#include "top/frame.h"
#include "top/pane_table.h"

namespace podgpu {

// The rows [row, row + rows) of a canvas.
struct PaneArea {
  size_t row = 0, rows = 0;
};

// Draws the names of the panes; with `alone` only the name of `pane`.
void DrawPaneBar(const TopView& view, Pane pane, bool alone, std::string_view note, size_t row,
                 Canvas& canvas);
// Returns for example "sort: W, descending", and the conditions that limit the rows.
std::string NoteOn(const PaneTable& table, const TopView& view);

// Draws head and rows.  The page with the selected row is shown.
void DrawPaneTable(const PaneTable& table, const TopView& view, Pane pane, PaneArea area,
                   Canvas& canvas);
void DrawExplanation(const TopModel& model, const TopView& view, PaneArea area, Canvas& canvas);
void DrawHelp(PaneArea area, Canvas& canvas);
void DrawDetail(const TopModel& model, const TopView& view, PaneArea area, Canvas& canvas);

}  // namespace podgpu
