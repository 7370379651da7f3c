#include "top/frame.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "base/time_text.h"
#include "top/gpu_table.h"
#include "top/pane.h"
#include "top/silence.h"
#include "ui/status_words.h"

namespace podgpu {
namespace {

constexpr Size kSmallest{60, 12};
constexpr Size kStackedFrom{150, 44};
constexpr size_t kWideHeadFrom = 150;
constexpr double kSecondMs = 1'000;

bool IsStacked(Size size) {
  return size.columns >= kStackedFrom.columns && size.rows >= kStackedFrom.rows;
}

// Returns for example "8 GPUs: 6 ok 1 degr 1 lost".
std::string Counts(const NodeStatus& status, bool is_wide) {
  constexpr std::string_view kOrder[] = {"ok", "degraded", "unresponsive", "lost", "recovering"};
  std::string text =
      absl::StrFormat("%d GPU%s%s", status.gpus.size(), status.gpus.size() == 1 ? "" : "s",
                      status.gpus.empty() ? "" : ":");
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
  canvas.PutLeft(0, 0, canvas.size().columns, text);
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

Silence SilenceOf(const TopModel& model) {
  return {model.status ? model.shown().node : model.url, model.failure, model.silent_for_ms,
          model.next_try_in_ms};
}

// Returns for example "GPU 3 lost 2m15s: XID 79, left the PCIe bus. Reboot the node."
std::string FaultText(const NodeStatus& status, const StatusFault& fault, int64_t now_ms) {
  std::string text = fault.text;
  const size_t cause = fault.text.find(": ");
  if (fault.gpu && cause != std::string::npos) {
    const auto gpu = std::ranges::find(status.gpus, *fault.gpu, &StatusGpu::index);
    const std::optional<int64_t> since_ms =
        gpu != status.gpus.end() ? gpu->since_ms : std::optional<int64_t>();
    if (since_ms) {
      text = absl::StrFormat("GPU %d %s %s%s", *fault.gpu, ShortState(fault.state),
                             SpanText(now_ms - *since_ms), fault.text.substr(cause));
    }
  }
  text += text.ends_with('.') ? "" : ".";
  return fault.remedy.empty() ? text : text + " " + SentenceWords(fault.remedy);
}

std::string MissingText(const NodeStatus& status, const StatusMissing& missing) {
  return absl::StrFormat("not shown: %s%s%s: %s", missing.what,
                         missing.gpus.empty() ? "" : ", GPU ", missing.gpus,
                         ReasonWords(status, missing));
}

// The worst fault; without one, the first value that is missing.
std::string FootText(const NodeStatus& status, int64_t now_ms) {
  const auto more = [](size_t all) {
    return all > 1 ? absl::StrFormat("  +%d more", all - 1) : "";
  };
  if (!status.faults.empty()) {
    const StatusFault& worst = status.faults.front();
    return FaultText(status, worst, now_ms) + more(status.faults.size()) +
           (worst.explain.empty() ? "" : "  (4 explains)");
  }
  return status.missing.empty()
             ? ""
             : MissingText(status, status.missing.front()) + more(status.missing.size());
}

// Returns a line for each fault and each missing value; what the verdict of a node without GPUs
// says is not repeated.
std::vector<std::string> AllNotes(const NodeStatus& status, int64_t now_ms) {
  std::vector<std::string> notes;
  for (const StatusFault& fault : status.faults) {
    const size_t cause = fault.text.find(": ");
    const bool is_told = status.gpus.empty() && cause != std::string::npos &&
                         status.verdict.find(fault.text.substr(cause)) != std::string::npos;
    if (!is_told) {
      notes.push_back(FaultText(status, fault, now_ms));
    }
  }
  for (const StatusMissing& missing : status.missing) {
    notes.push_back(MissingText(status, missing));
  }
  return notes;
}

std::string CostText(const NodeStatus& status) {
  constexpr double kMib = 1024.0 * 1024, kPercent = 100;
  std::string text = "podgpu " + status.version;
  if (status.self.resident_bytes) {
    absl::StrAppendFormat(&text, ": %.1f MiB resident",
                          static_cast<double>(*status.self.resident_bytes) / kMib);
  }
  if (status.self.cpu_ratio) {
    absl::StrAppendFormat(&text, ", %.2f %% of a core", *status.self.cpu_ratio * kPercent);
  }
  absl::StrAppendFormat(&text, ", %d series", status.self.series);
  return text;
}

void DrawNoGpu(const TopModel& model, Canvas& canvas) {
  const NodeStatus& status = model.shown();
  constexpr std::string_view kReady = "ready: ";
  std::string_view reason = Trim(status.verdict, ". \n");
  reason.remove_prefix(reason.starts_with(kReady) ? kReady.size() : 0);
  const std::string text =
      absl::StrFormat("no GPU on %s: %s. podgpu doctor says more", status.node, reason);
  size_t row = 2;
  for (const std::string& line : Wrapped(text, canvas.size().columns - 1, 2)) {
    canvas.Put(row, row == 2 ? 0 : 2, line);
    ++row;
  }
  canvas.Put(row + 1, 0, CostText(status));
}

void DrawFoot(const TopModel& model, const TopView& view, Canvas& canvas) {
  const size_t rows = canvas.size().rows, columns = canvas.size().columns;
  const std::vector<StatusFault>& faults = model.shown().faults;
  canvas.PutLeft(rows - 2, 0, columns, FootText(model.shown(), model.now_ms),
                 faults.empty() ? Ink::kPlain : InkOfState(faults.front().state));
  if (view.is_typing_filter) {
    canvas.PutLeft(rows - 1, 0, columns,
                   absl::StrFormat("/%s_  Enter keeps it, Esc clears it", view.filter));
    return;
  }
  canvas.PutLeft(rows - 1, 0, columns,
                 "q quit ? help / filter < > sort r reverse i idle only p pause Enter detail");
}

// Draws a pane with its bar into an area.
void DrawPane(const TopModel& model, const TopView& view, Pane pane, bool alone, PaneArea area,
              Canvas& canvas) {
  const PaneArea below{area.row + 1, area.rows - 1};
  if (pane == Pane::kExplain) {
    DrawPaneBar(view, pane, alone, "", area.row, canvas);
    DrawExplanation(model, view, below, canvas);
    return;
  }
  const PaneTable table = TableOf(pane, model.shown(), view, model.now_ms);
  DrawPaneBar(view, pane, alone, NoteOn(table, view), area.row, canvas);
  if (view.shows_detail && pane == view.pane) {
    DrawDetail(model, view, below, canvas);
  } else {
    DrawPaneTable(table, view, pane, below, canvas);
  }
}

void DrawStacked(const TopModel& model, const TopView& view, PaneArea area, Canvas& canvas) {
  // Bars and heads take five rows; 12, 12 and 8 of 32 are the rows of the panes.
  constexpr size_t kBars = 5, kPodShare = 12, kAllShares = 32, kHeadAndBar = 2;
  const size_t rows = area.rows - kBars;
  const size_t pods = rows * kPodShare / kAllShares;
  const Pane first = view.pane == Pane::kEnergy ? Pane::kEnergy : Pane::kPods;
  DrawPane(model, view, first, true, {area.row, pods + kHeadAndBar}, canvas);
  area.row += pods + kHeadAndBar;
  DrawPane(model, view, Pane::kProcesses, true, {area.row, pods + kHeadAndBar}, canvas);
  area.row += pods + kHeadAndBar;
  DrawPane(model, view, Pane::kExplain, true, {area.row, rows - 2 * pods + 1}, canvas);
}

// Rows below the head of the frame that GPUs may take.
size_t MostGpuRows(Size size) {
  constexpr size_t kHeadAndFoot = 4, kLeastPane = 6;
  return size.rows - kHeadAndFoot - kLeastPane;
}

PaneArea AreaBelow(size_t row, Size size) {
  constexpr size_t kFoot = 2;
  return {row, size.rows - std::min(size.rows, row + kFoot)};
}

void DrawBody(const TopModel& model, const TopView& view, Canvas& canvas) {
  const Size size = canvas.size();
  const size_t row = DrawGpus(model.shown(), model.now_ms, 1, MostGpuRows(size), canvas);
  PaneArea area = AreaBelow(row, size);
  constexpr size_t kLeastStacked = 20;
  if (view.shows_help) {
    DrawPaneBar(view, view.pane, false, "help", area.row, canvas);
    DrawHelp({area.row + 1, area.rows - 1}, canvas);
  } else if (IsStacked(size) && area.rows > kLeastStacked) {
    --area.rows;  // A blank row before the fault.
    DrawStacked(model, view, area, canvas);
  } else {
    DrawPane(model, view, view.pane, false, area, canvas);
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
    canvas.PutLeft(0, 0, size.columns,
                   model.failure.empty() ? "podgpu top " + model.url + "  waiting for an answer"
                                         : SilenceText(SilenceOf(model)));
    canvas.Put(size.rows - 1, 0, "q quit");
    return canvas;
  }
  if (model.shown().gpus.empty()) {
    DrawNoGpu(model, canvas);
  } else {
    DrawBody(model, view, canvas);
  }
  DrawFoot(model, view, canvas);
  if (!model.failure.empty()) {
    for (size_t row = 1; row < size.rows; ++row) {
      canvas.Paint(row, Ink::kDim);
    }
    canvas.PutLeft(0, 0, size.columns, SilenceText(SilenceOf(model)));
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
    const size_t row = DrawGpus(status, model.now_ms, 1, gpus, canvas);
    DrawPaneTable(table, view, Pane::kPods, {row + 1, table.rows.size() + 1}, canvas);
  }
  std::string text = canvas.Text();
  while (text.ends_with("\n\n")) {
    text.pop_back();
  }
  // All of them and whole: a file has room for more than one line.
  std::vector<std::string> lines;
  for (const std::string& note : AllNotes(status, model.now_ms)) {
    std::ranges::copy(Wrapped(note, canvas.size().columns - 1, 2), std::back_inserter(lines));
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
  if (const auto index = ParseDecimal(chosen); index && view.pane == Pane::kExplain) {
    return static_cast<uint32_t>(*index);
  }
  for (const Pane pane : {view.pane, Pane::kPods, Pane::kProcesses}) {
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
    if (fault.gpu) {
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
  const size_t above =
      3 +
      std::min(GpuRows(status), MostGpuRows({size.columns, std::max(size.rows, kSmallest.rows)}));
  context.page_rows = size.rows > above + 3 ? size.rows - above - 3 : 1;
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
  }
  return context;
}

}  // namespace podgpu
