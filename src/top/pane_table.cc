#include "top/pane_table.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/str_format.h"

#include "base/time_text.h"

namespace podgpu {
namespace {

constexpr std::string_view kUnattributed = "(unattributed)";

PaneCell Number(std::string text, std::optional<double> number, Ink ink = Ink::kPlain) {
  return {std::move(text), number, ink};
}

std::optional<double> AsNumber(std::optional<uint64_t> value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

PaneCell RatioCell(std::optional<double> ratio) {
  constexpr double kLittle = 0.01;
  return Number(PercentWord(ratio), ratio, ratio && *ratio < kLittle ? Ink::kDim : Ink::kPlain);
}

PaneCell IdleCell(std::optional<int64_t> since_ms, bool is_longer, int64_t now_ms) {
  if (!since_ms) {
    return {};
  }
  const int64_t idle = now_ms - *since_ms;
  return Number(IdleWord(idle, is_longer), static_cast<double>(idle), Ink::kIdle);
}

PaneCell AgeCell(std::optional<int64_t> started_ms, int64_t now_ms) {
  if (!started_ms) {
    return {std::string(kDash), {}, {}};
  }
  const int64_t age = now_ms - *started_ms;
  return Number(SpanText(age), static_cast<double>(age));
}

PaneCell GpusCell(const std::vector<uint32_t>& gpus) {
  return Number(GpusWord(gpus), gpus.empty() ? std::nullopt : std::optional<double>(gpus.front()));
}

// Returns whether an idle spell of one of these GPUs is older than the exporter.
bool IsLonger(const NodeStatus& status, const std::vector<uint32_t>& gpus) {
  return std::ranges::any_of(status.gpus, [&](const StatusGpu& gpu) {
    return gpu.idle_for_longer && std::ranges::find(gpus, gpu.index) != gpus.end();
  });
}

// Returns whether the GPU of a process, or its pod, has been idle for 5 minutes.
bool IsIdle(const NodeStatus& status, const StatusProcess& process) {
  const auto gpu = std::ranges::find(status.gpus, process.gpu, &StatusGpu::index);
  if (gpu != status.gpus.end() && gpu->idle_since_ms) {
    return true;
  }
  return process.holder && std::ranges::any_of(status.pods, [&](const StatusPod& pod) {
           return pod.idle_since_ms && pod.pod == process.holder->pod &&
                  pod.pod_namespace == process.holder->pod_namespace;
         });
}

PaneRow RowOfPod(const StatusPod& pod) {
  PaneRow row;
  row.is_rest = pod.pod.empty();
  row.key = row.is_rest ? std::string(kUnattributed) : pod.pod_namespace + "/" + pod.pod;
  row.pod_namespace = pod.pod_namespace;
  row.searched = row.key;
  row.is_idle = pod.idle_since_ms.has_value();
  if (!pod.gpus.empty()) {
    row.gpu = pod.gpus.front();
  }
  row.cells = {{row.key, {}, {}}, GpusCell(pod.gpus)};
  return row;
}

// The filter searches containers and processes too: it finds the pod by their names.
void AddNames(const NodeStatus& status, std::vector<PaneRow>& rows) {
  const auto add = [&rows](const StatusHolder& holder, const std::string& name) {
    const std::string key = holder.pod_namespace + "/" + holder.pod;
    const auto row = std::ranges::find(rows, key, &PaneRow::key);
    if (row != rows.end()) {
      row->searched += " " + name;
    }
  };
  for (const StatusGpu& gpu : status.gpus) {
    for (const StatusHolder& holder : gpu.holders) {
      add(holder, holder.container);
    }
  }
  for (const StatusProcess& process : status.processes) {
    if (process.holder) {
      add(*process.holder, process.name);
    }
  }
}

PaneTable PodTable(const NodeStatus& status, int64_t now_ms) {
  PaneTable table;
  table.columns = {{"NAMESPACE/POD", 0, true, true, true},
                   {"GPU", 6, true, true},
                   {"SM%", 4},
                   {.title = "MEMORY", .width = 8, .dropped_as = 1},
                   {"W", 7},
                   {"ENERGY", 11},
                   {"IDLE", 8}};
  table.sorted_by = 4;
  for (const StatusPod& pod : status.pods) {
    const StatusUse& use = pod.use;
    PaneRow row = RowOfPod(pod);
    row.cells.push_back(RatioCell(use.sm_ratio));
    row.cells.push_back(Number(MemoryWord(use.memory_bytes), AsNumber(use.memory_bytes)));
    row.cells.push_back(Number(WattsWord(use.power_watts, use.is_apportioned), use.power_watts));
    row.cells.push_back(
        Number(EnergyWord(use.energy_joules, use.is_apportioned), use.energy_joules));
    row.cells.push_back(IdleCell(pod.idle_since_ms, IsLonger(status, pod.gpus), now_ms));
    table.rows.push_back(std::move(row));
  }
  AddNames(status, table.rows);
  return table;
}

PaneTable EnergyTable(const NodeStatus& status) {
  PaneTable table;
  table.columns = {
      {"NAMESPACE/POD", 0, true, true, true},
      {"GPU", 6, true, true},
      {"W", 7},
      {"ENERGY", 11},
      {.title = "SHARE", .width = 9, .dropped_as = 2},
      {.title = "HOW", .width = 17, .is_left = true, .rises = true, .gap = 2, .dropped_as = 1}};
  table.sorted_by = 3;
  const double all = std::accumulate(
      status.pods.begin(), status.pods.end(), 0.0,
      [](double sum, const StatusPod& pod) { return sum + pod.use.energy_joules.value_or(0); });
  for (const StatusPod& pod : status.pods) {
    const StatusUse& use = pod.use;
    PaneRow row = RowOfPod(pod);
    const std::optional<double> share =
        use.energy_joules && all > 0 ? std::optional(*use.energy_joules / all) : std::nullopt;
    row.cells.push_back(Number(WattsWord(use.power_watts, use.is_apportioned), use.power_watts));
    row.cells.push_back(
        Number(EnergyWord(use.energy_joules, use.is_apportioned), use.energy_joules));
    row.cells.push_back(
        Number(share ? absl::StrFormat("%s%.1f %%", use.is_apportioned ? "~" : "", *share * 100)
                     : std::string(kDash),
               share));
    row.cells.push_back({std::string(row.is_rest ? "of no pod" : MethodWords(use.method)), {}, {}});
    table.rows.push_back(std::move(row));
  }
  AddNames(status, table.rows);
  return table;
}

PaneTable ProcessTable(const NodeStatus& status, int64_t now_ms) {
  PaneTable table;
  table.columns = {{"PID", 7, false, true},
                   {"GPU", 5, false, true},
                   {.title = " TYPE", .width = 6, .is_left = true, .rises = true, .dropped_as = 2},
                   {"SM%", 4},
                   {.title = "MEMORY", .width = 8, .dropped_as = 4},
                   {"W", 6},
                   {.title = "ENERGY", .width = 11, .dropped_as = 3},
                   {.title = "AGE", .width = 7, .dropped_as = 1},
                   {"POD", 0, true, true, true, 1},
                   {.title = "COMMAND", .width = 12, .is_left = true, .rises = true, .most = 40}};
  table.sorted_by = 3;
  table.least_name = 18;
  for (const StatusProcess& process : status.processes) {
    const StatusUse& use = process.use;
    PaneRow row;
    row.key = absl::StrFormat("%d on GPU %d", process.pid, process.gpu);
    row.gpu = process.gpu;
    row.pod_namespace = process.holder ? process.holder->pod_namespace : "";
    row.is_idle = IsIdle(status, process);
    const std::string pod =
        process.holder ? process.holder->pod_namespace + "/" + process.holder->pod : "";
    row.searched =
        pod + " " + (process.holder ? process.holder->container : "") + " " + process.name;
    row.cells = {Number(std::to_string(process.pid), process.pid),
                 Number(std::to_string(process.gpu), process.gpu),
                 {" " + (process.type.empty() ? std::string(kDash) : process.type), {}, {}},
                 RatioCell(use.sm_ratio),
                 Number(MemoryWord(use.memory_bytes), AsNumber(use.memory_bytes)),
                 Number(WattsWord(use.power_watts, use.is_apportioned), use.power_watts),
                 Number(EnergyWord(use.energy_joules, use.is_apportioned), use.energy_joules),
                 AgeCell(process.started_ms, now_ms),
                 {pod.empty() ? std::string(kDash) : pod, {}, {}},
                 {process.name.empty() ? std::string(kDash) : process.name, {}, {}}};
    table.rows.push_back(std::move(row));
  }
  return table;
}

bool HasNothing(const PaneCell& cell) {
  return !cell.number && (cell.text.empty() || cell.text == kDash);
}

// Orders two cells; negative: `a` is first.
int Compare(const PaneCell& a, const PaneCell& b, bool is_rising) {
  if (HasNothing(a) || HasNothing(b)) {
    return static_cast<int>(HasNothing(a)) - static_cast<int>(HasNothing(b));
  }
  int order = 0;
  if (a.number && b.number) {
    order = *a.number < *b.number ? -1 : static_cast<int>(*b.number < *a.number);
  } else {
    order = a.text.compare(b.text);
  }
  return is_rising ? order : -order;
}

void Sort(PaneTable& table) {
  std::ranges::stable_sort(table.rows, [&](const PaneRow& a, const PaneRow& b) {
    if (a.is_rest != b.is_rest) {
      return b.is_rest;
    }
    const int order = Compare(a.cells[table.sorted_by], b.cells[table.sorted_by], table.is_rising);
    return order != 0 ? order < 0 : a.key < b.key;
  });
}

}  // namespace

void ArrangeRows(const TopView& view, const PaneOrder& order, PaneTable& table) {
  if (order.column >= 0 && static_cast<size_t>(order.column) < table.columns.size()) {
    table.sorted_by = static_cast<size_t>(order.column);
  }
  table.is_rising = table.columns[table.sorted_by].rises != order.is_reversed;
  const RowFilter filter(view.filter);
  const bool has_namespace = table.has_namespaces && !view.only_namespace.empty();
  table.hidden = std::erase_if(table.rows, [&](const PaneRow& row) {
    return (view.idle_only && !row.is_idle) || !filter.Matches(row.searched) ||
           (has_namespace && row.pod_namespace != view.only_namespace);
  });
  Sort(table);
}

PaneTable TableOf(Pane pane, const NodeStatus& status, const TopView& view, int64_t now_ms) {
  PaneTable table = pane == Pane::kPods     ? PodTable(status, now_ms)
                    : pane == Pane::kEnergy ? EnergyTable(status)
                                            : ProcessTable(status, now_ms);
  ArrangeRows(view, view.orders[static_cast<size_t>(pane)], table);
  return table;
}

std::vector<std::string> NamespacesOf(const NodeStatus& status) {
  std::set<std::string> names;
  for (const StatusPod& pod : status.pods) {
    if (!pod.pod.empty()) {
      names.insert(pod.pod_namespace);
    }
  }
  return {names.begin(), names.end()};
}

std::string_view MethodWords(std::string_view method) {
  struct Words {
    std::string_view method, words;
  };
  constexpr Words kMethods[] = {
      {"exclusive", "measured, alone"},  {"sm_share", "by SM time"},
      {"equal", "in equal parts"},       {"mig_activity", "by MIG activity"},
      {"unattributed", "of no process"},
  };
  const auto* const row = std::ranges::find(kMethods, method, &Words::method);
  return row == std::end(kMethods) ? (method.empty() ? kDash : method) : row->words;
}

}  // namespace podgpu
