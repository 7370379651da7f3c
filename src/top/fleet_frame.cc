#include "top/fleet_frame.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "base/time_text.h"
#include "top/notes.h"
#include "top/pane.h"

namespace podgpu {
namespace {

constexpr int64_t kMsPerSecond = 1'000;
constexpr double kSecondsPerHour = 3'600;
constexpr uint64_t kBytesPerMib = uint64_t{1} << 20;
constexpr Size kSmallestFleet{60, 12};

PaneCell Count(uint32_t count) { return {std::to_string(count), count, {}}; }
PaneCell NoNumber() { return {std::string(kDash), {}, {}}; }

PaneCell Memory(uint64_t mib) {
  return {MemoryWord(mib * kBytesPerMib), static_cast<double>(mib), {}};
}

PaneCell Span(std::optional<int64_t> since_s, int64_t now_s, Ink ink = Ink::kPlain) {
  if (!since_s) {
    return NoNumber();
  }
  const int64_t ms = (now_s - *since_s) * kMsPerSecond;
  return {SpanText(ms), static_cast<double>(ms), ink};
}

double IdleHours(const FleetPodRow& pod, int64_t now_s) {
  return std::max(
      0.0, static_cast<double>(now_s * pod.idle_gpus - pod.idle_since_sum_s) / kSecondsPerHour);
}

PaneTable WastefulPods(const FleetModel& model, int64_t now_s) {
  PaneTable table;
  table.columns = {{"NAMESPACE/POD", 0, true, true, true},
                   {"GPUS", 5},
                   {"IDLE", 6},
                   {.title = "IDLE FOR", .width = 10, .dropped_as = 3},
                   {.title = "MEMORY", .width = 8, .dropped_as = 2},
                   {"GPU-HOURS", 11},
                   {.title = "FIRST NODE",
                    .width = 20,
                    .is_left = true,
                    .rises = true,
                    .gap = 2,
                    .dropped_as = 1,
                    .most = 44}};
  table.sorted_by = 5;
  table.least_name = 30;
  for (const FleetPodRow& pod : model.shown().pods) {
    PaneRow row;
    row.key = pod.pod_namespace + "/" + pod.pod;
    row.pod_namespace = pod.pod_namespace;
    row.searched = row.key + " " + pod.first_node;
    row.is_idle = pod.idle_gpus > 0;
    row.cells = {{row.key, {}, {}}, Count(pod.gpus)};
    if (model.is_old) {
      row.cells.insert(row.cells.end(), 4, NoNumber());
    } else {
      const double hours = IdleHours(pod, now_s);
      row.cells.push_back(Count(pod.idle_gpus));
      row.cells.push_back(pod.idle_since_s ? Span(pod.idle_since_s, now_s, Ink::kIdle)
                                           : PaneCell());
      row.cells.push_back(Memory(pod.memory_used_mib));
      row.cells.push_back(
          {absl::StrFormat("%.1f", hours), hours, pod.idle_gpus > 0 ? Ink::kPlain : Ink::kDim});
    }
    row.cells.push_back({pod.first_node, {}, {}});
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Two nodes may have the same name, by mistake.
std::string NodeKey(const FleetNodeRow& node) {
  return node.node.empty() ? node.address : node.node + "  " + node.address;
}

// Larger for a node that needs a look sooner.
double Urgency(const FleetNodeRow& node) {
  constexpr double kBad = 1e6;
  return (node.state == "ok" ? 0 : kBad) + node.bad * kBad / 1e3 + node.idle;
}

PaneCell UsedMemory(const FleetNodeRow& node) {
  if (node.memory_total_mib == 0) {
    return NoNumber();
  }
  return {absl::StrFormat("%s/%s", MemoryWord(node.memory_used_mib * kBytesPerMib),
                          MemoryWord(node.memory_total_mib * kBytesPerMib)),
          static_cast<double>(node.memory_used_mib),
          {}};
}

PaneTable Nodes(const FleetModel& model, int64_t now_s) {
  PaneTable table;
  table.columns = {{"NODE", 0, true, true},
                   {"STATE", 13, true},
                   {"GPUS", 5},
                   {"HELD", 5},
                   {"IDLE", 5},
                   {"FREE", 5},
                   {"BAD", 4},
                   {"SM%", 5},
                   {.title = "MEMORY", .width = 14, .dropped_as = 1},
                   {.title = "READ", .width = 8, .dropped_as = 2}};
  table.sorted_by = 1;
  table.has_namespaces = false;
  for (const FleetNodeRow& node : model.shown().nodes) {
    PaneRow row;
    row.key = NodeKey(node);
    row.searched = row.key + " " + node.state;
    row.is_idle = node.idle > 0;
    row.cells = {{node.node.empty() ? node.address : node.node, {}, {}}};
    if (model.is_old) {
      row.cells.push_back(NoNumber());
      row.cells.push_back(Count(node.gpus));
      row.cells.insert(row.cells.end(), 6, NoNumber());
    } else {
      const Ink ink = node.state == "ok" ? Ink::kPlain : Ink::kAlarm;
      row.cells.push_back({node.state, Urgency(node), ink});
      for (const uint32_t count : {node.gpus, node.held, node.idle, node.free, node.bad}) {
        row.cells.push_back(Count(count));
      }
      row.cells.push_back(node.activity_percent
                              ? PaneCell{std::to_string(*node.activity_percent),
                                         static_cast<double>(*node.activity_percent),
                                         {}}
                              : NoNumber());
      row.cells.push_back(UsedMemory(node));
    }
    row.cells.push_back(Span(node.read_at_s, now_s));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string FleetHead(const FleetModel& model) {
  const FleetStatus& fleet = model.shown();
  uint64_t gpus = 0, held = 0, idle = 0, free = 0, bad = 0, nodes_ok = 0;
  for (const FleetNodeRow& node : fleet.nodes) {
    gpus += node.gpus;
    held += node.held;
    idle += node.idle;
    free += node.free;
    bad += node.bad;
    nodes_ok += node.state == "ok" ? 1U : 0U;
  }
  if (model.is_old) {
    return absl::StrFormat("podgpu top  %d nodes  %d GPUs", fleet.nodes.size(), gpus);
  }
  // A narrow terminal cuts the end.
  return absl::StrFormat("podgpu top  %d nodes: %d ok  %d GPUs:%s %d idle %d free %d held",
                         fleet.nodes.size(), nodes_ok, gpus,
                         bad > 0 ? absl::StrFormat(" %d bad", bad) : "", idle, free, held);
}

// The second of the two panes has the nodes.
Pane FleetPane(const TopView& view) {
  return view.pane == Pane::kPods ? Pane::kPods : Pane::kProcesses;
}

// What else is known of the selected row, above the keys: the node's state and its address for top.
std::string FleetFoot(const FleetStatus& fleet, const TopView& view) {
  const std::string& selected = view.selection();
  const auto node = std::ranges::find(fleet.nodes, selected, NodeKey);
  if (FleetPane(view) != Pane::kPods && node != fleet.nodes.end()) {
    return absl::StrFormat("%s  podgpu top http://%s", node->detail, node->address);
  }
  return fleet.verdict;
}

std::vector<std::string> FleetHelp(size_t columns) {
  constexpr std::string_view kHelp[] = {
      "q quit           ? this help        Esc back, clear the filter, unselect",
      "1 2 Tab  pane    up down j k PgUp PgDn Home End  select a row",
      "Enter detail of the row             n next namespace",
      "/ filter on namespace, pod, node, state; /~ a regular expression",
      "< > sort column  r reverse          i idle only",
      "p Space pause    + - interval       c colour",
      "",
      "IDLE: GPUs that are held and do nothing. IDLE FOR: since the first of them stopped.",
      "GPU-HOURS: their idle times, added up. BAD: neither ok nor degraded.",
  };
  return HelpLines(kHelp, columns);
}

// The verdict, the failure, or the selected row's facts, in as many lines as they need.
std::vector<std::string> FleetFootLines(const FleetModel& model, const TopView& view,
                                        const std::string& cause, size_t columns) {
  constexpr size_t kMostLines = 3;
  std::vector<std::string> lines =
      WrappedTo(cause.empty() ? FleetFoot(model.shown(), view) : cause, columns, kMostLines);
  lines.resize(std::max<size_t>(lines.size(), 1));
  return lines;
}

// Returns the lines that the pane shows in place of rows; nothing if it has rows.
std::optional<std::vector<std::string>> FleetLines(const PaneTable& table, const TopView& view,
                                                   size_t columns) {
  if (view.shows_help) {
    return FleetHelp(columns);
  }
  return view.shows_detail ? std::optional(RowLines(table, view)) : std::nullopt;
}

// The pane between the head and the foot.
void DrawFleetPane(const FleetModel& model, const TopView& view, PaneArea area, Canvas& canvas) {
  constexpr std::string_view kNames[] = {"1 Pods", "2 Nodes"};
  const Pane pane = FleetPane(view);
  const PaneTable table = FleetTable(pane, model, view);
  const PaneArea below{area.row + 1, area.rows - 1};
  std::vector<std::string> notes = NotesOn(table, view, pane, below.rows);
  if (const auto lines = FleetLines(table, view, canvas.size().columns)) {
    notes = DrawScrolled(*lines, view.scroll, below, canvas);
  } else if (table.rows.empty()) {
    const char* none = pane == Pane::kPods ? " no pod holds a GPU" : " no node is known yet";
    DrawLines({{WhyHidden(table).value_or(none)}}, below, canvas);
  } else {
    DrawPaneTable(table, view, pane, below, canvas);
  }
  DrawBar(kNames, pane == Pane::kPods ? 0 : 1, notes, area.row, canvas);
}

// Rows of the pane, its bar and its head included.
size_t FleetPaneRows(Size size, size_t foot) {
  constexpr size_t kHeadAndKeys = 2;
  return size.rows - std::min(size.rows, kHeadAndKeys + foot);
}

Silence SilenceOf(const FleetModel& model) {
  Silence silence = model.silence;
  silence.name = model.url;
  return silence;
}

}  // namespace

PaneTable FleetTable(Pane pane, const FleetModel& model, const TopView& view) {
  const int64_t now_s = model.now_ms / kMsPerSecond;
  PaneTable table = pane == Pane::kPods ? WastefulPods(model, now_s) : Nodes(model, now_s);
  ArrangeRows(view, view.orders[static_cast<size_t>(pane)], table);
  return table;
}

Canvas DrawFleet(const FleetModel& model, const TopView& view, Size size, bool ascii) {
  Canvas canvas(size, ascii);
  if (size.columns < kSmallestFleet.columns || size.rows < kSmallestFleet.rows) {
    canvas.Put(0, 0,
               absl::StrFormat("podgpu top needs %d x %d; this is %d x %d", kSmallestFleet.columns,
                               kSmallestFleet.rows, size.columns, size.rows));
    return canvas;
  }
  if (!model.fleet) {
    DrawNoAnswer(SilenceOf(model), canvas);
    return canvas;
  }
  std::string cause;
  const std::string silent =
      model.silence.failure.empty() ? "" : SilenceHead(SilenceOf(model), size.columns, cause);
  const std::vector<std::string> foot = FleetFootLines(model, view, cause, size.columns);
  DrawFleetPane(model, view, {1, FleetPaneRows(size, foot.size())}, canvas);
  DrawLines(foot, {size.rows - 1 - foot.size(), foot.size()}, canvas);
  canvas.PutLeft(
      size.rows - 1, 0, size.columns,
      view.is_typing_filter
          ? FilterLine(view)
          : "q quit ? help / filter < > sort r reverse i idle only p pause Enter detail");
  if (!silent.empty()) {
    for (size_t row = 1; row < size.rows; ++row) {
      canvas.Paint(row, Ink::kDim);
    }
    canvas.PutLeft(0, 0, size.columns, silent);
    return canvas;
  }
  const std::string clock =
      absl::StrFormat("%s %s", TimeOfDay(model.now_ms, model.utc_offset_s),
                      view.is_paused ? "paused" : IntervalWord(view.interval.count()));
  canvas.PutLeft(0, 0, size.columns - clock.size() - 1, FleetHead(model));
  canvas.PutRight(0, size.columns - clock.size(), clock.size(), clock);
  return canvas;
}

std::string DrawFleetOnce(const FleetModel& model, const TopView& view, size_t columns,
                          bool ascii) {
  const PaneTable pods = FleetTable(Pane::kPods, model, view);
  const PaneTable nodes = FleetTable(Pane::kProcesses, model, view);
  constexpr size_t kHeads = 5;
  Canvas canvas(
      {std::max(columns, kSmallestFleet.columns), pods.rows.size() + nodes.rows.size() + kHeads},
      ascii);
  canvas.PutLeft(0, 0, canvas.size().columns, FleetHead(model));
  DrawPaneTable(pods, view, Pane::kPods, {2, pods.rows.size() + 1}, canvas);
  DrawPaneTable(nodes, view, Pane::kProcesses, {pods.rows.size() + 4, nodes.rows.size() + 1},
                canvas);
  return canvas.Text();
}

PressContext FleetContext(const FleetModel& model, const TopView& view, Size size) {
  PressContext context;
  constexpr size_t kPanesOfFleet = 2;
  context.panes = kPanesOfFleet;
  if (!model.fleet) {
    return context;
  }
  constexpr size_t kBarAndHead = 2;
  const size_t foot = FleetFootLines(model, view, "", std::max(size.columns, size_t{2})).size();
  context.page_rows = std::max(FleetPaneRows(size, foot), kBarAndHead + 1) - kBarAndHead;
  const PaneTable table = FleetTable(FleetPane(view), model, view);
  if (const auto lines = FleetLines(table, view, size.columns)) {
    context.lines = lines->size() - std::min(lines->size(), FleetPaneRows(size, foot) - 1);
  }
  context.columns = static_cast<int>(table.columns.size());
  context.sorted_by = static_cast<int>(table.sorted_by);
  std::set<std::string> namespaces;
  for (const PaneRow& row : table.rows) {
    context.rows.push_back(row.key);
  }
  for (const FleetPodRow& pod : model.shown().pods) {
    namespaces.insert(pod.pod_namespace);
  }
  context.namespaces.assign(namespaces.begin(), namespaces.end());
  return context;
}

}  // namespace podgpu
