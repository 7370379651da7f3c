// One frame of `podgpu top`: what is known of the node, and a view of it, drawn on a canvas.
//
// A frame depends on nothing else: no clock, no terminal.  At 80 x 24 it is the table of GPUs, one
// pane, the worst fault, and the keys; from 150 x 44 on, Pods, Processes and Explain stand under
// each other.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "report/node_status.h"
#include "top/canvas.h"
#include "top/silence.h"
#include "top/view.h"
#include "ui/explanation.h"

namespace podgpu {

// The facts that top knows at one moment.
struct TopModel {
  std::optional<NodeStatus> status;  // Absent before the first answer.
  std::string url;
  int64_t now_ms = 0;  // The node's time, in milliseconds since 1970.
  int64_t utc_offset_s = 0;

  bool has_processes = false;  // The status was asked with its processes.
  Silence silence;             // Without a failure while the node answers.

  std::optional<Explanation> explanation;
  std::string explanation_failure;  // Why the node gave none.
  uint32_t explained_gpu = 0;       // The GPU that these two are about.
  bool has_explanation() const { return explanation || !explanation_failure.empty(); }

  // Call only after the first answer.
  const NodeStatus& shown() const {
    return *status;  // NOLINT(bugprone-unchecked-optional-access): the caller has checked.
  }
};

// Properties of the terminal.
struct Look {
  bool ascii = false;
};

Canvas DrawTop(const TopModel& model, const TopView& view, Size size, const Look& look = {});

// All rows as plain text, without keys and selection: --once.
std::string DrawOnce(const TopModel& model, const TopView& view, size_t columns, const Look& look);

// Returns the GPU that the pane Explain explains: the selected one, else that of the selected row,
// else that of the worst fault, else the first.  Absent without GPUs.
std::optional<uint32_t> GpuToExplain(const NodeStatus& status, const TopView& view, int64_t now_ms);

// The parts of a status that a frame of this size shows.
struct ShownParts {
  bool processes = false, history = false, explanation = false;
  bool operator==(const ShownParts&) const = default;
};
ShownParts PartsOf(const TopView& view, Size size);

// Returns the rows and columns to which a key may refer now.
PressContext ContextOf(const TopModel& model, const TopView& view, Size size);

// Returns the status without its measured values, for a status that is too old.
NodeStatus WithoutValues(NodeStatus status);

}  // namespace podgpu
