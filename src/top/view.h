// What a person has chosen to see in `podgpu top`: pane, order, filter, selection.
//
// Keys change it (Press); frames are drawn from it.  It refers to rows by their keys, so the
// selection follows its row when the order changes, and survives a terminal that is too small.
// Pure; one thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/node_status.h"
#include "top/keys.h"

namespace podgpu {

enum class Pane : uint8_t { kPods, kProcesses, kEnergy, kExplain };
inline constexpr size_t kPanes = 4;

// The column that orders the rows of a pane; -1: the pane has its own order.
struct PaneOrder {
  int column = -1;
  bool is_reversed = false;
};

struct TopView {
  Pane pane = Pane::kPods;
  std::array<PaneOrder, kPanes> orders;
  std::array<std::string, kPanes> selected;  // Keys of rows; empty: none.
  std::string filter;                        // A leading "~": a regular expression.
  bool is_typing_filter = false;
  bool idle_only = false;
  std::string only_namespace;  // Empty: all.
  size_t scroll = 0;           // Lines above the first visible one, of Explain, help and a detail.
  bool shows_help = false;
  bool shows_detail = false;
  bool is_paused = false;
  bool colour = true;
  std::chrono::milliseconds interval{1'000};

  PaneOrder& order() { return orders[static_cast<size_t>(pane)]; }
  const PaneOrder& order() const { return orders[static_cast<size_t>(pane)]; }
  std::string& selection() { return selected[static_cast<size_t>(pane)]; }
  const std::string& selection() const { return selected[static_cast<size_t>(pane)]; }
};

// Tells whether a filter accepts a text.  An invalid regular expression accepts all texts.
class RowFilter {
 public:
  explicit RowFilter(std::string_view filter);
  ~RowFilter();
  RowFilter(const RowFilter&) = delete;
  RowFilter& operator=(const RowFilter&) = delete;
  RowFilter(RowFilter&&) = delete;
  RowFilter& operator=(RowFilter&&) = delete;
  bool Matches(std::string_view text) const;
  // Why the expression is not used; empty if it is.
  const std::string& error() const { return error_; }

 private:
  struct Expression;
  std::string part_;  // In lower case.
  std::unique_ptr<Expression> expression_;
  std::string error_;
};

enum class PressResult : uint8_t { kNothing, kChanged, kQuit };

// The input of Press, which applies a key: `rows` are the keys of the pane's rows in their order,
// `columns` the number of columns by which it can be ordered, `sorted_by` the present one, and
// `namespaces` are those of the rows.  Only the first `panes` can be shown.  `lines` is set where
// lines are shown in place of rows: the number of those that have no room.
struct PressContext {
  std::vector<std::string> rows;
  int columns = 0, sorted_by = 0;
  std::vector<std::string> namespaces;
  size_t page_rows = 10;
  size_t panes = kPanes;
  std::optional<uint32_t> gpu = {};  // The GPU of the selected row.
  std::optional<size_t> lines = {};
};
PressResult Press(const KeyPress& key, const PressContext& context, TopView& view);

}  // namespace podgpu
