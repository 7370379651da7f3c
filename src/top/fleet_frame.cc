#include "top/fleet_frame.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"

#include "base/time_text.h"
#include "top/pane.h"
#include "top/silence.h"

namespace podgpu {
namespace {

constexpr int64_t kMsPerSecond = 1'000;
constexpr double kSecondsPerHour = 3'600;
constexpr uint64_t kBytesPerMib = uint64_t{1} << 20;
constexpr Size kSmallestFleet{60, 12};

PaneCell Count(uint32_t count) { return {std::to_string(count), count, {}}; }

PaneTable WastefulPods(const FleetStatus& fleet, int64_t now_s) {
  PaneTable table;
  table.columns = {{"NAMESPACE/POD", 0, true, true},
                   {"GPUS", 5},
                   {"IDLE", 6},
                   {"IDLE FOR", 10},
                   {"MEMORY", 8},
                   {"GPU-HOURS", 11},
                   {"", 2, true, true},
                   {"FIRST NODE", 20, true, true}};
  table.sorted_by = 5;
  for (const FleetPodRow& pod : fleet.pods) {
    PaneRow row;
    row.key = pod.pod_namespace + "/" + pod.pod;
    row.pod_namespace = pod.pod_namespace;
    row.searched = row.key + " " + pod.first_node;
    row.is_idle = pod.idle_gpus > 0;
    row.cells = {{row.key, {}, {}}, Count(pod.gpus), Count(pod.idle_gpus)};
    if (pod.idle_since_s) {
      const int64_t idle_ms = (now_s - *pod.idle_since_s) * kMsPerSecond;
      const double hours =
          static_cast<double>(now_s * pod.idle_gpus - pod.idle_since_sum_s) / kSecondsPerHour;
      row.cells.push_back({SpanText(idle_ms), static_cast<double>(idle_ms), Ink::kIdle});
      row.cells.push_back({MemoryWord(pod.memory_used_mib * kBytesPerMib),
                           static_cast<double>(pod.memory_used_mib),
                           {}});
      row.cells.push_back({absl::StrFormat("%.1f", std::max(hours, 0.0)), hours, {}});
    } else {
      row.cells.push_back({});
      row.cells.push_back({MemoryWord(pod.memory_used_mib * kBytesPerMib),
                           static_cast<double>(pod.memory_used_mib),
                           {}});
      row.cells.push_back({"0.0", 0.0, Ink::kDim});
    }
    row.cells.push_back({});
    row.cells.push_back({pod.first_node, {}, {}});
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Larger for a node that needs a look sooner.
double Urgency(const FleetNodeRow& node) {
  constexpr double kBad = 1e6;
  return (node.state == "ok" ? 0 : kBad) + node.bad * kBad / 1e3 + node.idle;
}

PaneTable Nodes(const FleetStatus& fleet, int64_t now_s) {
  PaneTable table;
  table.columns = {{"NODE", 0, true, true},
                   {"STATE", 13, true},
                   {"GPUS", 5},
                   {"HELD", 5},
                   {"IDLE", 5},
                   {"FREE", 5},
                   {"BAD", 4},
                   {"SM%", 5},
                   {"MEMORY", 14},
                   {"READ", 8}};
  table.sorted_by = 1;
  for (const FleetNodeRow& node : fleet.nodes) {
    PaneRow row;
    row.key = node.node.empty() ? node.address : node.node;
    row.searched = row.key + " " + node.address + " " + node.state;
    row.is_idle = node.idle > 0;
    const Ink ink = node.state == "ok" ? Ink::kPlain : Ink::kAlarm;
    row.cells = {{row.key, {}, {}}, {node.state, Urgency(node), ink},
                 Count(node.gpus),  Count(node.held),
                 Count(node.idle),  Count(node.free),
                 Count(node.bad)};
    row.cells.push_back(node.activity_percent
                            ? PaneCell{std::to_string(*node.activity_percent),
                                       static_cast<double>(*node.activity_percent),
                                       {}}
                            : PaneCell{std::string(kDash), {}, {}});
    row.cells.push_back(
        node.memory_total_mib > 0
            ? PaneCell{absl::StrFormat("%s/%s", MemoryWord(node.memory_used_mib * kBytesPerMib),
                                       MemoryWord(node.memory_total_mib * kBytesPerMib)),
                       static_cast<double>(node.memory_used_mib),
                       {}}
            : PaneCell{std::string(kDash), {}, {}});
    row.cells.push_back(node.read_at_s
                            ? PaneCell{SpanText((now_s - *node.read_at_s) * kMsPerSecond),
                                       static_cast<double>(now_s - *node.read_at_s),
                                       {}}
                            : PaneCell{std::string(kDash), {}, {}});
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
  std::string text = absl::StrFormat(
      "podgpu top --fleet  %d nodes: %d ok  %d GPUs: %d held, %d of them idle, %d "
      "free",
      fleet.nodes.size(), nodes_ok, gpus, held, idle, free);
  if (bad > 0) {
    absl::StrAppendFormat(&text, ", %d bad", bad);
  }
  return text;
}

// Returns the pane: there are two, and the other keys of panes mean the nodes too.
Pane FleetPane(const TopView& view) {
  return view.pane == Pane::kPods ? Pane::kPods : Pane::kProcesses;
}

void DrawFleetBar(const TopView& view, std::string_view note, size_t row, Canvas& canvas) {
  const bool pods = FleetPane(view) == Pane::kPods;
  canvas.Put(row, 0, std::string(canvas.size().columns, '-'));
  canvas.Put(row, 2, pods ? " [1 Pods] 2 Nodes " : " 1 Pods [2 Nodes] ");
  const size_t width = WidthOf(note) + 1;
  canvas.Put(row, canvas.size().columns - std::min(canvas.size().columns, width),
             " " + std::string(note));
}

// The detail of the selected node, in the line above the keys.
std::string DetailOf(const FleetStatus& fleet, const TopView& view) {
  const std::string& selected = view.selected[static_cast<size_t>(Pane::kProcesses)];
  const auto node = std::ranges::find_if(fleet.nodes, [&](const FleetNodeRow& row) {
    return !selected.empty() && (row.node == selected || row.address == selected);
  });
  if (FleetPane(view) != Pane::kPods && node != fleet.nodes.end()) {
    return absl::StrFormat("%s  podgpu top http://%s", node->detail, node->address);
  }
  return fleet.verdict;
}

}  // namespace

PaneTable FleetTable(Pane pane, const FleetStatus& fleet, const TopView& view, int64_t now_ms) {
  const int64_t now_s = now_ms / kMsPerSecond;
  PaneTable table = pane == Pane::kPods ? WastefulPods(fleet, now_s) : Nodes(fleet, now_s);
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
  const Silence silence{model.url, model.failure, model.silent_for_ms, model.next_try_in_ms};
  if (!model.fleet) {
    canvas.PutLeft(0, 0, size.columns,
                   model.failure.empty() ? "podgpu top " + model.url + "  waiting for an answer"
                                         : SilenceText(silence));
    canvas.Put(size.rows - 1, 0, "q quit");
    return canvas;
  }
  const Pane pane = FleetPane(view);
  const PaneTable table = FleetTable(pane, model.shown(), view, model.now_ms);
  DrawFleetBar(view, NoteOn(table, view), 1, canvas);
  constexpr size_t kAround = 5;
  DrawPaneTable(table, view, pane, {2, size.rows - kAround + 1}, canvas);
  canvas.PutLeft(size.rows - 2, 0, size.columns, DetailOf(model.shown(), view));
  canvas.PutLeft(size.rows - 1, 0, size.columns,
                 view.is_typing_filter
                     ? absl::StrFormat("/%s_  Enter keeps it, Esc clears it", view.filter)
                     : "q quit 1 2 pane / filter < > sort r reverse i idle only n namespace p "
                       "pause");
  if (!model.failure.empty()) {
    for (size_t row = 1; row < size.rows; ++row) {
      canvas.Paint(row, Ink::kDim);
    }
    canvas.PutLeft(0, 0, size.columns, SilenceText(silence));
    return canvas;
  }
  const std::string clock =
      TimeOfDay(model.now_ms, model.utc_offset_s) + (view.is_paused ? " paused" : "");
  canvas.PutLeft(0, 0, size.columns - clock.size() - 1, FleetHead(model));
  canvas.PutRight(0, size.columns - clock.size(), clock.size(), clock);
  return canvas;
}

std::string DrawFleetOnce(const FleetModel& model, const TopView& view, size_t columns,
                          bool ascii) {
  const PaneTable pods = FleetTable(Pane::kPods, model.shown(), view, model.now_ms);
  const PaneTable nodes = FleetTable(Pane::kProcesses, model.shown(), view, model.now_ms);
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
  if (!model.fleet) {
    return context;
  }
  constexpr size_t kAround = 5;
  context.page_rows = size.rows > kAround ? size.rows - kAround : 1;
  const Pane pane = FleetPane(view);
  const PaneTable table = FleetTable(pane, model.shown(), view, model.now_ms);
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
