#include "top/pane.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "base/text.h"
#include "base/time_text.h"
#include "top/notes.h"
#include "ui/status_words.h"

namespace podgpu {
namespace {

constexpr std::string_view kPaneNames[kPanes] = {"1 Pods", "2 Processes", "3 Energy", "4 Explain"};
constexpr size_t kUsualName = 48;  // Columns of a name before another column grows.

// Adds `text` to lines of `columns`, each with a blank before it and the later ones indented.
void AddWrapped(std::string_view text, size_t hanging, size_t columns,
                std::vector<std::string>& lines) {
  size_t indent = 1;
  for (const std::string& line : Wrapped(text, columns - 2, hanging)) {
    lines.push_back(std::string(indent, ' ') + line);
    indent = 1 + hanging;
  }
}

// Returns the widths of the columns, 0 for those that have no room beside the name.
std::vector<size_t> WidthsOf(const PaneTable& table, size_t columns) {
  std::vector<size_t> widths;
  size_t rest = 0;
  int dropped = -1;
  do {
    ++dropped;
    widths.clear();
    size_t fixed = 1;  // The mark of the selected row.
    for (const PaneColumn& column : table.columns) {
      const bool is_dropped = column.dropped_as != 0 && column.dropped_as <= dropped;
      widths.push_back(is_dropped ? 0 : column.width);
      fixed += is_dropped ? 0 : column.gap + column.width;
    }
    rest = columns - std::min(columns, fixed);
  } while (rest < table.least_name &&
           std::ranges::any_of(table.columns, [dropped](const PaneColumn& column) {
             return column.dropped_as > dropped;
           }));
  for (size_t i = 0; i < widths.size(); ++i) {
    const PaneColumn& column = table.columns[i];
    const size_t spare = rest - std::min(rest, kUsualName);
    if (widths[i] > 0 && column.most > column.width) {
      const size_t more = std::min(column.most - column.width, spare);
      widths[i] += more;
      rest -= more;
    }
  }
  for (size_t i = 0; i < widths.size(); ++i) {
    widths[i] = table.columns[i].width == 0 ? rest : widths[i];
  }
  return widths;
}

// The page of rows that has the selected one.
struct Page {
  size_t first = 0, rows = 0;  // `rows`: room for them.
};

Page PageOf(const PaneTable& table, const TopView& view, Pane pane, size_t rows) {
  const std::string& selected = view.selected[static_cast<size_t>(pane)];
  const auto found = std::ranges::find(table.rows, selected, &PaneRow::key);
  const size_t at = found == table.rows.end() ? 0 : static_cast<size_t>(found - table.rows.begin());
  return {rows == 0 ? 0 : at / rows * rows, rows};
}

// Returns for example "1-9 of 14"; empty if all have room.
std::string RangeText(size_t first, size_t all, size_t rows) {
  return all <= rows || rows == 0
             ? ""
             : absl::StrFormat("%d-%d of %d", first + 1, std::min(first + rows, all), all);
}

std::string_view Shortened(std::string_view text, size_t width, const PaneColumn& column) {
  const size_t slash = text.find('/');
  return column.sheds_namespace && WidthOf(text) > width && slash != std::string_view::npos
             ? text.substr(slash + 1)
             : text;
}

std::string StateLine(const StatusGpu& gpu, int64_t now_ms, int64_t utc_offset_s) {
  std::string text = gpu.state;
  if (gpu.since_ms) {
    absl::StrAppendFormat(&text, " since %s (%s)", TimeOfDay(*gpu.since_ms, utc_offset_s),
                          SpanText(now_ms - *gpu.since_ms));
  }
  return text;
}

const StatusGpu* GpuOf(const NodeStatus& status, uint32_t index) {
  const auto row = std::ranges::find(status.gpus, index, &StatusGpu::index);
  return row == status.gpus.end() ? nullptr : &*row;
}

}  // namespace

void DrawBar(std::span<const std::string_view> names, size_t chosen,
             std::span<const std::string> notes, size_t row, Canvas& canvas) {
  const size_t columns = canvas.size().columns;
  canvas.Put(row, 0, std::string(columns, '-'));
  size_t at = 3;
  for (size_t i = 0; i < names.size(); ++i) {
    canvas.Put(row, at - 1, " ");
    at = canvas.Put(row, at, i == chosen ? absl::StrFormat("[%s]", names[i]) : names[i]);
    at = canvas.Put(row, at, " ");
  }
  for (const std::string& note : notes) {
    const size_t room = columns - std::min(columns, at + 1);
    const bool is_last = &note == &notes.back();
    if (!note.empty() && room > 1 && (is_last || WidthOf(note) < room)) {
      const size_t width = std::min(WidthOf(note), room - 1);
      canvas.Put(row, columns - width - 1, " ");
      canvas.PutLeft(row, columns - width, width, note);
      return;
    }
  }
}

void DrawPaneBar(const TopView& view, Pane pane, bool alone, std::span<const std::string> notes,
                 size_t row, Canvas& canvas) {
  std::span<const std::string_view> names = kPaneNames;
  auto chosen = static_cast<size_t>(view.pane);
  if (alone) {
    names = names.subspan(static_cast<size_t>(pane), 1);
    chosen = view.pane == pane ? 0 : 1;
  }
  DrawBar(names, chosen, notes, row, canvas);
}

std::vector<std::string> NotesOn(const PaneTable& table, const TopView& view, Pane pane,
                                 size_t rows) {
  constexpr size_t kHead = 1;
  const Page page = PageOf(table, view, pane, rows - std::min(rows, kHead));
  std::vector<std::string> parts;
  if (!view.filter.empty()) {
    const std::string error = RowFilter(view.filter).error();
    parts.push_back(error.empty() ? "filter " + view.filter : "filter not used (" + error + ")");
  }
  if (!view.only_namespace.empty() && table.has_namespaces) {
    parts.push_back("namespace " + view.only_namespace);
  }
  if (view.idle_only) {
    parts.emplace_back("idle only");
  }
  if (std::string range = RangeText(page.first, table.rows.size(), page.rows); !range.empty()) {
    parts.push_back(std::move(range));
  }
  const std::string limits = absl::StrJoin(parts, ", ");
  const std::string sort = absl::StrFormat("%ssort: %s", limits.empty() ? "" : limits + ", ",
                                           Trim(table.columns[table.sorted_by].title));
  return {sort + (table.is_rising ? ", ascending" : ", descending"), sort, limits};
}

std::string FilterLine(const TopView& view) {
  const std::string error = RowFilter(view.filter).error();
  return error.empty() ? absl::StrFormat("/%s_  Enter keeps it, Esc clears it", view.filter)
                       : absl::StrFormat("/%s_  not used yet: %s", view.filter, error);
}

void DrawPaneTable(const PaneTable& table, const TopView& view, Pane pane, PaneArea area,
                   Canvas& canvas) {
  const std::vector<size_t> widths = WidthsOf(table, canvas.size().columns);
  // Calls `draw` with each column that is shown and the place where it begins.
  const auto each = [&](const auto& draw) {
    size_t at = 1;
    for (size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] > 0) {
        at += table.columns[i].gap;
        draw(i, at);
        at += widths[i];
      }
    }
  };
  each([&](size_t i, size_t at) {
    const PaneColumn& column = table.columns[i];
    if (column.is_left) {
      canvas.PutLeft(area.row, at, widths[i], column.title);
    } else {
      canvas.PutRight(area.row, at, widths[i], column.title);
    }
  });
  const Page page = PageOf(table, view, pane, area.rows - std::min<size_t>(area.rows, 1));
  const std::string& selected = view.selected[static_cast<size_t>(pane)];
  for (size_t r = page.first; r < table.rows.size() && r < page.first + page.rows; ++r) {
    const PaneRow& row = table.rows[r];
    const size_t line = area.row + 1 + r - page.first;
    each([&](size_t i, size_t at) {
      const PaneCell& cell = row.cells[i];
      if (table.columns[i].is_left) {
        const size_t width = widths[i] - (i + 1 < row.cells.size() && widths[i] > 1 ? 1 : 0);
        canvas.PutLeft(line, at, width, Shortened(cell.text, width, table.columns[i]), cell.ink);
      } else {
        canvas.PutRight(line, at, widths[i], cell.text, cell.ink);
      }
    });
    if (!selected.empty() && row.key == selected) {
      canvas.Put(line, 0, ">");
      canvas.Paint(line, Ink::kSelected);
    }
  }
}

void DrawLines(std::span<const std::string> lines, PaneArea area, Canvas& canvas) {
  for (size_t i = 0; i < std::min(lines.size(), area.rows); ++i) {
    canvas.PutLeft(area.row + i, 0, canvas.size().columns, lines[i]);
  }
}

std::vector<std::string> DrawScrolled(std::span<const std::string> lines, size_t scroll,
                                      PaneArea area, Canvas& canvas) {
  const size_t first = std::min(scroll, lines.size() - std::min(lines.size(), area.rows));
  DrawLines(lines.subspan(first), area, canvas);
  const std::string range = RangeText(first, lines.size(), area.rows);
  return {range.empty() ? range : "lines " + range + ", PgUp PgDn", range};
}

void DrawNoAnswer(const Silence& silence, Canvas& canvas) {
  const std::string text = silence.failure.empty()
                               ? "podgpu top " + silence.name + "  waiting for an answer"
                               : SilenceText(silence);
  const size_t columns = canvas.size().columns, rows = canvas.size().rows;
  size_t row = 0;
  for (const std::string& line : Wrapped(text, columns, 2)) {
    canvas.Put(row, row == 0 ? 0 : 2, line);
    ++row;
  }
  canvas.PutLeft(rows - 1, 0, columns, "q quit");
}

std::optional<std::string> WhyHidden(const PaneTable& table) {
  if (table.hidden == 0) {
    return std::nullopt;
  }
  return absl::StrFormat(" no row: the filter, the namespace or \"idle only\" hides all %d",
                         table.hidden);
}

std::string WhyEmpty(const PaneTable& table, Pane pane, const TopModel& model) {
  const NodeStatus& status = model.shown();
  if (const auto hidden = WhyHidden(table)) {
    return *hidden;
  }
  if (pane != Pane::kProcesses) {
    return status.owners_known ? " no pod holds a GPU" : " no owner of a GPU is known";
  }
  if (!model.has_processes) {
    return " waiting for the processes";
  }
  const auto part = std::ranges::find(status.parts, "processes", &StatusPart::part);
  if (part == status.parts.end()) {
    return " processes are not read; --process-metrics=on reads them";
  }
  return part->state == "ok" ? " no process uses a GPU" : " " + DetailWords(status, *part);
}

std::vector<std::string> ExplanationLines(const TopModel& model, const TopView& view,
                                          size_t columns) {
  std::vector<std::string> lines;
  const std::optional<uint32_t> wanted = GpuToExplain(model.shown(), view, model.now_ms);
  const StatusGpu* const gpu = wanted ? GpuOf(model.shown(), *wanted) : nullptr;
  if (gpu == nullptr) {
    return {" no GPU to explain"};
  }
  AddWrapped(absl::StrFormat("GPU %d  %s  %s  %s  %s", gpu->index, gpu->uuid, gpu->model,
                             gpu->pci_bus_id, StateLine(*gpu, model.now_ms, model.utc_offset_s)),
             2, columns, lines);
  if (!model.has_explanation() || model.explained_gpu != gpu->index) {
    lines.emplace_back(" waiting for /api/v1/explain");
    return lines;
  }
  if (!model.explanation) {
    AddWrapped("no explanation: " + model.explanation_failure, 2, columns, lines);
    return lines;
  }
  constexpr size_t kBeforeDetail = 25;
  for (const ExplainedDevice& device : model.explanation->devices) {
    if (device.gpu_instance_id) {
      lines.push_back(absl::StrFormat(" instance %d  %s", *device.gpu_instance_id, device.profile));
    }
    int number = 0;
    for (const ExplainedStep& step : device.steps) {
      AddWrapped(absl::StrFormat("%d %-11s %-10s %s", ++number, step.name, step.state, step.detail),
                 kBeforeDetail, columns, lines);
    }
    if (!device.remedy.empty()) {
      AddWrapped("What helps: " + device.remedy, 2, columns, lines);
    }
  }
  for (const std::string& note : model.explanation->notes) {
    AddWrapped(note, 2, columns, lines);
  }
  for (const std::string& note : AllNotes(model.shown(), model.now_ms, wanted)) {
    const bool is_told = std::ranges::any_of(
        model.explanation->notes, [&](const std::string& told) { return note.starts_with(told); });
    if (!is_told) {
      AddWrapped("Also: " + note, 2, columns, lines);
    }
  }
  return lines;
}

std::vector<std::string> HelpLines(std::span<const std::string_view> text, size_t columns) {
  std::vector<std::string> lines;
  for (const std::string_view line : text) {
    if (WidthOf(line) < columns) {
      lines.push_back(" " + std::string(line));
    } else {
      AddWrapped(line, 2, columns, lines);
    }
  }
  return lines;
}

std::vector<std::string> NodeHelpLines(size_t columns) {
  constexpr std::string_view kHelp[] = {
      "q quit           ? this help        Esc back, clear the filter, unselect",
      "1-4 Tab  pane    up down j k PgUp PgDn Home End  select a row; 4 scrolls",
      "Enter detail of the row             e explain its GPU",
      "/ filter on namespace, pod, container, process; /~ a regular expression",
      "< > sort column  r reverse          i idle only      n next namespace",
      "p Space pause    + - interval       c colour",
      "",
      "~ is apportioned to processes, all else is measured. - is not known: see 4.",
      "IDLE: time since the last kernel on a GPU that is held; > older than podgpu.",
      "G is GiB. The words of STATE are in docs/top.md.",
  };
  return HelpLines(kHelp, columns);
}

std::vector<std::string> RowLines(const PaneTable& table, const TopView& view) {
  const auto row = std::ranges::find(table.rows, view.selection(), &PaneRow::key);
  if (view.selection().empty() || row == table.rows.end()) {
    return {" no row is selected: an arrow key selects one, Esc leaves"};
  }
  std::vector<std::string> lines = {" " + row->key};
  for (size_t i = 1; i < row->cells.size(); ++i) {
    const std::string_view text = Trim(row->cells[i].text);
    if (!text.empty()) {
      lines.push_back(absl::StrFormat(" %-10s %s", Trim(table.columns[i].title), text));
    }
  }
  return lines;
}

std::vector<std::string> DetailLines(const TopModel& model, const TopView& view, size_t columns) {
  const NodeStatus& status = model.shown();
  const PaneTable table = TableOf(view.pane, status, view, model.now_ms);
  std::vector<std::string> lines = RowLines(table, view);
  const auto row = std::ranges::find(table.rows, view.selection(), &PaneRow::key);
  const auto pod = std::ranges::find_if(status.pods, [&](const StatusPod& candidate) {
    return candidate.pod_namespace + "/" + candidate.pod == view.selection();
  });
  if (pod != status.pods.end() && !pod->use.method.empty()) {
    lines.push_back(absl::StrFormat(" %-10s %s", "energy", MethodWords(pod->use.method)));
  }
  const std::optional<uint32_t> number = row == table.rows.end() ? std::nullopt : row->gpu;
  if (const StatusGpu* const gpu = number ? GpuOf(status, *number) : nullptr) {
    AddWrapped(absl::StrFormat("GPU %-6d %s  %s  %s  %s", gpu->index, gpu->uuid, gpu->model,
                               gpu->pci_bus_id, StateLine(*gpu, model.now_ms, model.utc_offset_s)),
               11, columns, lines);
  }
  return lines;
}

}  // namespace podgpu
