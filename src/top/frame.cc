#include "top/frame.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "base/time_text.h"
#include "top/gpu_table.h"
#include "top/notes.h"
#include "top/pane.h"

namespace podgpu {
namespace {

constexpr Size kSmallest{60, 12};
constexpr Size kStackedFrom{150, 44};
constexpr size_t kWideHeadFrom = 150;
constexpr double kSecondMs = 1'000;

bool IsStacked(Size size) {
  return size.columns >= kStackedFrom.columns && size.rows >= kStackedFrom.rows;
}

Silence SilenceOf(const TopModel& model) {
  Silence silence = model.silence;
  silence.name = model.status ? model.shown().node : model.url;
  return silence;
}

// Returns for example "8 GPUs: 6 ok 1 degr 1 lost".
std::string Counts(const NodeStatus& status, bool is_wide) {
  constexpr std::string_view kOrder[] = {"ok", "degraded", "unresponsive", "lost", "recovering"};
  std::string text =
      absl::StrFormat("%d GPU%s%s", status.gpus.size(), status.gpus.size() == 1 ? "" : "s",
                      status.gpus.empty() ? "" : ":");
  if (status.gpus.empty() && !status.ready) {
    return "waiting";
  }
  const char* separator = " ";
  for (const std::string_view state : kOrder) {
    const auto count = std::ranges::count(status.gpus, state, &StatusGpu::state);
    if (count > 0) {
      absl::StrAppendFormat(&text, "%s%d %s", separator, count,
                            is_wide ? state : ShortState(state));
      separator = is_wide ? ", " : " ";
    }
  }
  return text;
}

std::string IdleCount(const NodeStatus& status) {
  const auto count = std::ranges::count_if(
      status.gpus, [](const StatusGpu& gpu) { return gpu.idle_since_ms.has_value(); });
  return count > 0 ? absl::StrFormat("%d idle", count) : "";
}

std::string TotalPower(const NodeStatus& status, bool with_limit) {
  double watts = 0, limit = 0;
  bool has_watts = false;
  for (const StatusGpu& gpu : status.gpus) {
    watts += gpu.power_watts.value_or(0);
    limit += gpu.power_limit_watts.value_or(0);
    has_watts = has_watts || gpu.power_watts;
  }
  if (!has_watts) {
    return "";
  }
  std::string text = PowerWord(watts);
  constexpr double kKilo = 1'000;
  if (with_limit && limit >= kKilo && watts >= kKilo) {
    absl::StrAppendFormat(&text, " of %.2f", limit / kKilo);
  }
  return text;
}

// Drops parts from the end until the node's name has room.
void DrawNarrowHead(const TopModel& model, const TopView& view, Canvas& canvas) {
  const NodeStatus& status = model.shown();
  const size_t columns = canvas.size().columns;
  const std::string right =
      absl::StrFormat("%s %s", TimeOfDay(model.now_ms, model.utc_offset_s),
                      view.is_paused ? "paused" : IntervalWord(view.interval.count()));
  constexpr std::string_view kName = "podgpu top ";
  constexpr size_t kShortestNode = 8;
  std::vector<std::string> parts = {Counts(status, false)};
  for (const std::string& part : {IdleCount(status), TotalPower(status, false)}) {
    if (!part.empty()) {
      parts.push_back(part);
    }
  }
  std::string middle;
  const size_t node_width = WidthOf(status.node);
  const auto room = [&] {
    const size_t used = kName.size() + middle.size() + 2 + right.size();
    return used < columns ? columns - used : 0;
  };
  for (const std::string& part : parts) {
    const std::string before = middle;
    middle += "  " + part;
    if (room() < std::min(node_width, kShortestNode)) {
      middle = before;
      break;
    }
  }
  const size_t width = std::min(node_width, room());
  canvas.Put(0, 0, kName);
  canvas.PutLeft(0, kName.size(), width, status.node);
  canvas.Put(0, kName.size() + width, middle);
  canvas.PutRight(0, columns - right.size(), right.size(), right);
}

void DrawNoGpu(const TopModel& model, Canvas& canvas) {
  size_t row = 2;
  for (const std::string& line : Wrapped(NoGpuText(model.shown()), canvas.size().columns - 1, 2)) {
    canvas.Put(row, row == 2 ? 0 : 2, line);
    ++row;
  }
  canvas.Put(row + 1, 0, CostText(model.shown()));
}

void DrawWideHead(const TopModel& model, const TopView& view, Canvas& canvas) {
  const NodeStatus& status = model.shown();
  std::string text = absl::StrFormat("podgpu top  %s  ", status.node);
  if (!status.driver_version.empty()) {
    absl::StrAppendFormat(&text, "driver %s, ", status.driver_version);
  }
  absl::StrAppendFormat(&text, "source %s", status.source.empty() ? "none" : status.source);
  if (status.sampled_at_ms) {
    absl::StrAppendFormat(
        &text, ", sample %.1f s old",
        static_cast<double>(std::max<int64_t>(0, model.now_ms - *status.sampled_at_ms)) /
            kSecondMs);
  }
  text += "   " + Counts(status, true);
  for (const std::string& part : {IdleCount(status), TotalPower(status, true)}) {
    text += part.empty() ? "" : "   " + part;
  }
  absl::StrAppendFormat(&text, "   %s  %s%s", TimeOfDay(model.now_ms, model.utc_offset_s),
                        view.is_paused ? "paused, every " : "every ",
                        IntervalWord(view.interval.count()));
  if (WidthOf(text) > canvas.size().columns) {
    DrawNarrowHead(model, view, canvas);
    return;
  }
  canvas.Put(0, 0, text);
}

void DrawFoot(const TopModel& model, const TopView& view, const std::vector<std::string>& lines,
              Canvas& canvas) {
  const size_t columns = canvas.size().columns, keys = canvas.size().rows - 1;
  const std::vector<StatusFault>& faults = model.shown().faults;
  const Ink ink = faults.empty() ? Ink::kPlain : InkOfState(faults.front().state);
  for (size_t i = 0; i < lines.size(); ++i) {
    canvas.PutLeft(keys - lines.size() + i, 0, columns, lines[i], ink);
  }
  canvas.PutLeft(
      keys, 0, columns,
      view.is_typing_filter
          ? FilterLine(view)
          : "q quit ? help / filter < > sort r reverse i idle only p pause Enter detail");
}

// Where the parts of a frame stand, from top to bottom: head, GPUs, panes, foot, keys.
struct FrameParts {
  std::string head;  // Set only while the node gives no status.
  size_t gpu_rows = 0;
  std::vector<std::string> foot;
  PaneArea panes;
  bool is_stacked = false;
};

// Lines that the foot may have.  A fault that takes a GPU away is told whole; all else only where
// GPUs and pods leave room.
size_t MostFootLines(const NodeStatus& status, Size size) {
  constexpr size_t kTall = 24, kMiddle = 18, kMostLines = 3, kOtherRows = 5;
  const size_t by_height = size.rows >= kTall ? kMostLines : size.rows >= kMiddle ? 2 : 1;
  if (!status.faults.empty() && InkOfState(status.faults.front().state) == Ink::kAlarm) {
    return by_height;
  }
  const size_t used = kOtherRows + GpuRows(status) + status.pods.size();
  return std::clamp<size_t>(size.rows - std::min(size.rows, used), 1, by_height);
}

FrameParts PartsFor(const TopModel& model, Size size) {
  constexpr size_t kHeads = 2, kKeys = 1, kLeastPane = 6, kLeastStacked = 20;
  FrameParts parts;
  std::string cause;
  if (!model.silence.failure.empty()) {
    parts.head = SilenceHead(SilenceOf(model), size.columns, cause);
  }
  const size_t most_foot = MostFootLines(model.shown(), size);
  parts.foot = cause.empty() ? FootLines(model.shown(), model.now_ms, size.columns, most_foot)
                             : WrappedTo(cause, size.columns, most_foot);
  parts.foot.resize(std::max<size_t>(parts.foot.size(), 1));
  const size_t around = kHeads + parts.foot.size() + kKeys;
  parts.gpu_rows = std::min(GpuRows(model.shown()), size.rows - around - kLeastPane);
  parts.panes = {kHeads + parts.gpu_rows, size.rows - around - parts.gpu_rows};
  parts.is_stacked = IsStacked(size) && parts.panes.rows > kLeastStacked;
  return parts;
}

// The area of a pane with its bar.
PaneArea AreaOf(Pane pane, const FrameParts& parts) {
  if (!parts.is_stacked) {
    return parts.panes;
  }
  // A blank row stands above the foot.  Bars and heads take five rows; 12, 12 and 8 of 32 are the
  // rows of the panes.
  constexpr size_t kAround = 6, kPodShare = 12, kAllShares = 32, kHeadAndBar = 2;
  const size_t rows = parts.panes.rows - kAround;
  const size_t pods = rows * kPodShare / kAllShares;
  const size_t first = parts.panes.row, second = first + pods + kHeadAndBar;
  switch (pane) {
    case Pane::kPods:
    case Pane::kEnergy:
      return {first, pods + kHeadAndBar};
    case Pane::kProcesses:
      return {second, pods + kHeadAndBar};
    case Pane::kExplain:
      break;
  }
  return {second + pods + kHeadAndBar, rows - 2 * pods + 1};
}

// The area of help: all but the head and the foot.
PaneArea HelpArea(const FrameParts& parts) { return {1, parts.panes.row + parts.panes.rows - 1}; }

// Returns the lines that a pane shows in place of rows; nothing if it has rows.
std::optional<std::vector<std::string>> LinesOf(const TopModel& model, const TopView& view,
                                                Pane pane, size_t columns) {
  if (pane == Pane::kExplain) {
    return ExplanationLines(model, view, columns);
  }
  return view.shows_detail && pane == view.pane ? std::optional(DetailLines(model, view, columns))
                                                : std::nullopt;
}

// Draws a pane with its bar.
void DrawPane(const TopModel& model, const TopView& view, Pane pane, const FrameParts& parts,
              Canvas& canvas) {
  const PaneArea area = AreaOf(pane, parts);
  const PaneArea below{area.row + 1, area.rows - 1};
  std::vector<std::string> notes;
  if (const auto lines = LinesOf(model, view, pane, canvas.size().columns)) {
    notes = DrawScrolled(*lines, view.scroll, below, canvas);
  } else {
    const PaneTable table = TableOf(pane, model.shown(), view, model.now_ms);
    notes = NotesOn(table, view, pane, below.rows);
    if (table.rows.empty()) {
      DrawLines({{WhyEmpty(table, pane, model)}}, below, canvas);
    } else {
      DrawPaneTable(table, view, pane, below, canvas);
    }
  }
  DrawPaneBar(view, pane, parts.is_stacked, notes, area.row, canvas);
}

void DrawBody(const TopModel& model, const TopView& view, const FrameParts& parts, Canvas& canvas) {
  if (view.shows_help) {
    const PaneArea area = HelpArea(parts);
    std::vector<std::string> notes = DrawScrolled(NodeHelpLines(canvas.size().columns), view.scroll,
                                                  {area.row + 1, area.rows - 1}, canvas);
    notes.emplace_back("help");
    std::erase(notes, "");
    DrawPaneBar(view, view.pane, false, notes, area.row, canvas);
    return;
  }
  DrawGpus(model.shown(), model.now_ms, GpuToExplain(model.shown(), view, model.now_ms),
           {1, parts.gpu_rows}, canvas);
  if (!parts.is_stacked) {
    DrawPane(model, view, view.pane, parts, canvas);
    return;
  }
  const Pane first = view.pane == Pane::kEnergy ? Pane::kEnergy : Pane::kPods;
  for (const Pane pane : {first, Pane::kProcesses, Pane::kExplain}) {
    DrawPane(model, view, pane, parts, canvas);
  }
}

}  // namespace

NodeStatus WithoutValues(NodeStatus status) {
  const auto clear = [](StatusUse& use) { use = StatusUse(); };
  for (StatusGpu& gpu : status.gpus) {
    StatusGpu kept;
    kept.index = gpu.index;
    kept.uuid = gpu.uuid;
    kept.model = gpu.model;
    kept.pci_bus_id = gpu.pci_bus_id;
    kept.state = kDash;
    kept.owners = gpu.owners;
    kept.holders = gpu.holders;
    kept.hidden_holders = gpu.hidden_holders;
    for (StatusInstance instance : gpu.instances) {
      instance.sm_ratio.reset();
      instance.memory_used_bytes.reset();
      kept.instances.push_back(std::move(instance));
    }
    gpu = std::move(kept);
  }
  for (StatusPod& pod : status.pods) {
    clear(pod.use);
    pod.idle_since_ms.reset();
  }
  for (StatusProcess& process : status.processes) {
    clear(process.use);
  }
  status.faults.clear();
  status.missing.clear();
  status.history.clear();
  status.sampled_at_ms.reset();
  return status;
}

Canvas DrawTop(const TopModel& model, const TopView& view, Size size, const Look& look) {
  Canvas canvas(size, look.ascii);
  if (size.columns < kSmallest.columns || size.rows < kSmallest.rows) {
    canvas.Put(0, 0,
               absl::StrFormat("podgpu top needs %d x %d; this is %d x %d", kSmallest.columns,
                               kSmallest.rows, size.columns, size.rows));
    return canvas;
  }
  if (!model.status) {
    DrawNoAnswer(SilenceOf(model), canvas);
    return canvas;
  }
  const FrameParts parts = PartsFor(model, size);
  if (model.shown().gpus.empty()) {
    DrawNoGpu(model, canvas);
  } else {
    DrawBody(model, view, parts, canvas);
  }
  DrawFoot(model, view, parts.foot, canvas);
  if (!parts.head.empty()) {
    for (size_t row = 1; row < size.rows; ++row) {
      canvas.Paint(row, Ink::kDim);
    }
    canvas.PutLeft(0, 0, size.columns, parts.head);
  } else if (size.columns >= kWideHeadFrom) {
    DrawWideHead(model, view, canvas);
  } else {
    DrawNarrowHead(model, view, canvas);
  }
  return canvas;
}

std::string DrawOnce(const TopModel& model, const TopView& view, size_t columns, const Look& look) {
  const NodeStatus& status = model.shown();
  constexpr size_t kHeads = 5, kWithoutGpus = 8;
  const PaneTable table = TableOf(Pane::kPods, status, view, model.now_ms);
  const size_t gpus = GpuRows(status);
  const size_t rows = status.gpus.empty() ? kWithoutGpus : kHeads + gpus + table.rows.size() + 1;
  Canvas canvas({std::max(columns, kSmallest.columns), rows}, look.ascii);
  if (columns >= kWideHeadFrom) {
    DrawWideHead(model, view, canvas);
  } else {
    DrawNarrowHead(model, view, canvas);
  }
  if (status.gpus.empty()) {
    DrawNoGpu(model, canvas);
  } else {
    DrawGpus(status, model.now_ms, {}, {1, gpus}, canvas);
    DrawPaneTable(table, view, Pane::kPods, {gpus + 3, table.rows.size() + 1}, canvas);
  }
  std::string text = canvas.Text();
  while (text.ends_with("\n\n")) {
    text.pop_back();
  }
  // All of them and whole: a file has room for more than one line.
  std::vector<std::string> lines;
  for (const std::string& note : AllNotes(status, model.now_ms)) {
    std::ranges::copy(WrappedTo(note, canvas.size().columns, note.size()),
                      std::back_inserter(lines));
  }
  Canvas foot({canvas.size().columns, lines.size() + 1}, look.ascii);
  for (size_t i = 0; i < lines.size(); ++i) {
    foot.Put(i + 1, 0, lines[i]);
  }
  text += lines.empty() ? "" : foot.Text();
  return text;
}

std::optional<uint32_t> GpuToExplain(const NodeStatus& status, const TopView& view,
                                     int64_t now_ms) {
  if (status.gpus.empty()) {
    return std::nullopt;
  }
  const std::string& chosen = view.selected[static_cast<size_t>(Pane::kExplain)];
  const auto index = ParseDecimal(chosen);
  if (index && view.pane == Pane::kExplain &&
      std::ranges::find(status.gpus, *index, &StatusGpu::index) != status.gpus.end()) {
    return static_cast<uint32_t>(*index);
  }
  for (const Pane pane : {view.pane, Pane::kPods, Pane::kProcesses, Pane::kEnergy}) {
    const std::string& selected = view.selected[static_cast<size_t>(pane)];
    if (pane == Pane::kExplain || selected.empty()) {
      continue;
    }
    const PaneTable table = TableOf(pane, status, view, now_ms);
    const auto row = std::ranges::find(table.rows, selected, &PaneRow::key);
    if (row != table.rows.end() && row->gpu) {
      return row->gpu;
    }
  }
  for (const StatusFault& fault : status.faults) {
    if (fault.gpu &&
        std::ranges::find(status.gpus, *fault.gpu, &StatusGpu::index) != status.gpus.end()) {
      return fault.gpu;
    }
  }
  return status.gpus.front().index;
}

ShownParts PartsOf(const TopView& view, Size size) {
  const bool is_stacked = IsStacked(size);
  return {.processes = is_stacked || view.pane == Pane::kProcesses || !view.filter.empty(),
          .history = ShowsPlot(size.columns),
          .explanation = is_stacked || view.pane == Pane::kExplain};
}

PressContext ContextOf(const TopModel& model, const TopView& view, Size size) {
  PressContext context;
  if (!model.status) {
    return context;
  }
  const NodeStatus& status = model.shown();
  context.namespaces = NamespacesOf(status);
  const FrameParts parts = PartsFor(
      model, {std::max(size.columns, kSmallest.columns), std::max(size.rows, kSmallest.rows)});
  const size_t rows = (view.shows_help ? HelpArea(parts) : AreaOf(view.pane, parts)).rows;
  constexpr size_t kBarAndHead = 2;
  context.page_rows = std::max(rows, kBarAndHead + 1) - kBarAndHead;
  const auto lines = view.shows_help ? std::optional(NodeHelpLines(size.columns))
                                     : LinesOf(model, view, view.pane, size.columns);
  if (lines) {
    context.lines = lines->size() - std::min(lines->size(), rows - 1);
  }
  if (view.pane == Pane::kExplain) {
    for (const StatusGpu& gpu : status.gpus) {
      context.rows.push_back(std::to_string(gpu.index));
    }
    return context;
  }
  const PaneTable table = TableOf(view.pane, status, view, model.now_ms);
  context.columns = static_cast<int>(table.columns.size());
  context.sorted_by = static_cast<int>(table.sorted_by);
  for (const PaneRow& row : table.rows) {
    context.rows.push_back(row.key);
    if (row.key == view.selection()) {
      context.gpu = row.gpu;
    }
  }
  return context;
}

}  // namespace podgpu
