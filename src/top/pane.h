// The lower part of a frame: its panes, help, and the detail of a row.
//
// Used by the frames of a node and of a fleet alone.  Pure functions; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "top/frame.h"
#include "top/pane_table.h"

namespace podgpu {

// Draws the names of the panes, with `alone` only the name of `pane`; and the first of `notes` that
// has room beside them, or else the last one, cut.
void DrawPaneBar(const TopView& view, Pane pane, bool alone, std::span<const std::string> notes,
                 size_t row, Canvas& canvas);
// The same for any names; `chosen` is the number of the one that is shown.
void DrawBar(std::span<const std::string_view> names, size_t chosen,
             std::span<const std::string> notes, size_t row, Canvas& canvas);
// Returns what a bar says of a table of `rows` rows with its head, longest first: for example
// "filter llama, 1-9 of 14, sort: W, descending".
std::vector<std::string> NotesOn(const PaneTable& table, const TopView& view, Pane pane,
                                 size_t rows);
// The last line of a frame while a filter is typed, with the error of its expression.
std::string FilterLine(const TopView& view);

// Draws head and rows.  The page with the selected row is shown.
void DrawPaneTable(const PaneTable& table, const TopView& view, Pane pane, PaneArea area,
                   Canvas& canvas);
// Draws lines from the top of an area; those that have no room are left out.
void DrawLines(std::span<const std::string> lines, PaneArea area, Canvas& canvas);
// The same, from `scroll` on at most, and what a bar says of it: "lines 3-9 of 14, PgUp PgDn".
std::vector<std::string> DrawScrolled(std::span<const std::string> lines, size_t scroll,
                                      PaneArea area, Canvas& canvas);
// Draws the frame of a server that has not answered yet.
void DrawNoAnswer(const Silence& silence, Canvas& canvas);

// Why a pane has no row.
std::string WhyEmpty(const PaneTable& table, Pane pane, const TopModel& model);
// The same for rows that the view hides; nothing when it hides none.
std::optional<std::string> WhyHidden(const PaneTable& table);
// Returns the lines of the pane Explain: its GPU, and what else is wrong on the node.
std::vector<std::string> ExplanationLines(const TopModel& model, const TopView& view,
                                          size_t columns);
// `text` in lines that fit in `columns`.
std::vector<std::string> HelpLines(std::span<const std::string_view> text, size_t columns);
std::vector<std::string> NodeHelpLines(size_t columns);
// Returns the cells of the selected row as lines; one line if no row is selected.
std::vector<std::string> RowLines(const PaneTable& table, const TopView& view);
// Returns the detail of the selected row.
std::vector<std::string> DetailLines(const TopModel& model, const TopView& view, size_t columns);

}  // namespace podgpu
