#include "top/pane.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "base/time_text.h"

namespace podgpu {
namespace {

constexpr std::string_view kPaneNames[kPanes] = {"1 Pods", "2 Processes", "3 Energy", "4 Explain"};

// Draws lines from the top of an area, each in full columns.
class Lines {
 public:
  Lines(PaneArea area, Canvas& canvas) : area_(area), canvas_(canvas) {}
  void Add(std::string_view text, Ink ink = Ink::kPlain, size_t column = 1) {
    if (area_.rows > 0) {
      canvas_.PutLeft(area_.row++, column, canvas_.size().columns - column, text, ink);
      --area_.rows;
    }
  }
  void AddWrapped(std::string_view text, size_t hanging) {
    bool is_first = true;
    for (const std::string& line : Wrapped(text, canvas_.size().columns - 2, hanging)) {
      Add(line, Ink::kPlain, is_first ? 1 : 1 + hanging);
      is_first = false;
    }
  }

 private:
  PaneArea area_;
  Canvas& canvas_;
};

std::vector<size_t> WidthsOf(const PaneTable& table, size_t columns) {
  size_t fixed = 1;  // The mark of the selected row.
  for (const PaneColumn& column : table.columns) {
    fixed += column.width;
  }
  std::vector<size_t> widths;
  widths.reserve(table.columns.size());
  for (const PaneColumn& column : table.columns) {
    widths.push_back(column.width > 0 ? column.width : columns - std::min(columns, fixed));
  }
  return widths;
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

void DrawPaneBar(const TopView& view, Pane pane, bool alone, std::string_view note, size_t row,
                 Canvas& canvas) {
  canvas.Put(row, 0, std::string(canvas.size().columns, '-'));
  size_t at = 3;
  for (size_t i = 0; i < kPanes; ++i) {
    if (alone && i != static_cast<size_t>(pane)) {
      continue;
    }
    const bool is_chosen = i == static_cast<size_t>(view.pane);
    canvas.Put(row, at - 1, " ");
    at = canvas.Put(row, at, is_chosen ? absl::StrFormat("[%s]", kPaneNames[i]) : kPaneNames[i]);
    at = canvas.Put(row, at, " ");
  }
  const size_t width = WidthOf(note);
  if (width > 0 && at + width + 1 < canvas.size().columns) {
    canvas.Put(row, canvas.size().columns - width - 1, " " + std::string(note));
  }
}

std::string NoteOn(const PaneTable& table, const TopView& view) {
  std::string note;
  if (!view.filter.empty()) {
    const std::string error = RowFilter(view.filter).error();
    note += error.empty() ? "filter " + view.filter + ", " : "filter not used (" + error + "), ";
  }
  if (!view.only_namespace.empty()) {
    note += "namespace " + view.only_namespace + ", ";
  }
  note += view.idle_only ? "idle only, " : "";
  return note + absl::StrFormat("sort: %s, %s", Trim(table.columns[table.sorted_by].title),
                                table.is_rising ? "ascending" : "descending");
}

void DrawPaneTable(const PaneTable& table, const TopView& view, Pane pane, PaneArea area,
                   Canvas& canvas) {
  const std::vector<size_t> widths = WidthsOf(table, canvas.size().columns);
  size_t at = 1;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const PaneColumn& column = table.columns[i];
    if (column.is_left) {
      canvas.PutLeft(area.row, at, widths[i], column.title);
    } else {
      canvas.PutRight(area.row, at, widths[i], column.title);
    }
    at += widths[i];
  }
  ++area.row;
  area.rows = area.rows > 0 ? area.rows - 1 : 0;
  if (area.rows == 0) {
    return;
  }
  const std::string& selected = view.selected[static_cast<size_t>(pane)];
  const auto found = std::ranges::find(table.rows, selected, &PaneRow::key);
  const size_t selected_at =
      found == table.rows.end() ? 0 : static_cast<size_t>(found - table.rows.begin());
  const size_t first = selected_at / area.rows * area.rows;
  for (size_t i = first; i < table.rows.size() && i < first + area.rows; ++i) {
    const PaneRow& row = table.rows[i];
    at = 1;
    for (size_t c = 0; c < row.cells.size(); ++c) {
      if (table.columns[c].is_left) {
        const size_t width = widths[c] - (c + 1 < row.cells.size() && widths[c] > 1 ? 1 : 0);
        canvas.PutLeft(area.row, at, width, Shortened(row.cells[c].text, width, table.columns[c]),
                       row.cells[c].ink);
      } else {
        canvas.PutRight(area.row, at, widths[c], row.cells[c].text, row.cells[c].ink);
      }
      at += widths[c];
    }
    if (!selected.empty() && row.key == selected) {
      canvas.Put(area.row, 0, ">");
      canvas.Paint(area.row, Ink::kSelected);
    }
    ++area.row;
  }
}

void DrawExplanation(const TopModel& model, const TopView& view, PaneArea area, Canvas& canvas) {
  Lines lines(area, canvas);
  const std::optional<uint32_t> wanted = GpuToExplain(model.shown(), view, model.now_ms);
  if (!wanted) {
    lines.Add("no GPU to explain");
    return;
  }
  const StatusGpu* const gpu = GpuOf(model.shown(), *wanted);
  const std::string name =
      gpu == nullptr
          ? absl::StrFormat("GPU %d", *wanted)
          : absl::StrFormat("GPU %d  %s  %s  %s  %s", gpu->index, gpu->uuid, gpu->model,
                            gpu->pci_bus_id, StateLine(*gpu, model.now_ms, model.utc_offset_s));
  lines.AddWrapped(name, 2);
  if (!model.explanation || model.explained_gpu != *wanted) {
    lines.Add("waiting for /api/v1/explain");
    return;
  }
  constexpr size_t kBeforeDetail = 25;
  for (const ExplainedDevice& device : model.explanation->devices) {
    if (device.gpu_instance_id) {
      lines.Add(absl::StrFormat("instance %d  %s", *device.gpu_instance_id, device.profile));
    }
    int number = 0;
    for (const ExplainedStep& step : device.steps) {
      lines.AddWrapped(
          absl::StrFormat("%d %-11s %-10s %s", ++number, step.name, step.state, step.detail),
          kBeforeDetail);
    }
    if (!device.remedy.empty()) {
      lines.AddWrapped("What helps: " + device.remedy, 2);
    }
  }
  for (const std::string& note : model.explanation->notes) {
    lines.AddWrapped(note, 2);
  }
}

void DrawHelp(PaneArea area, Canvas& canvas) {
  constexpr std::string_view kHelp[] = {
      "q quit           ? this help        Esc back, clear the filter, unselect",
      "1-4 Tab  pane    up down j k PgUp PgDn Home End  select a row",
      "Enter detail of the row             e explain its GPU",
      "/ filter on namespace, pod, container, process; /~ a regular expression",
      "< > sort column  r reverse          i idle only      n next namespace",
      "p Space pause    + - interval       c colour",
      "",
      "~ is apportioned to processes, all else is measured. - is not known: see 4.",
      "IDLE: time since the last kernel on a GPU that is held; > older than podgpu.",
      "G is GiB. The words of STATE are in docs/top.md.",
  };
  Lines lines(area, canvas);
  for (const std::string_view line : kHelp) {
    lines.Add(line);
  }
}

void DrawDetail(const TopModel& model, const TopView& view, PaneArea area, Canvas& canvas) {
  Lines lines(area, canvas);
  const NodeStatus& status = model.shown();
  const PaneTable table = TableOf(view.pane, status, view, model.now_ms);
  const auto row = std::ranges::find(table.rows, view.selection(), &PaneRow::key);
  if (row == table.rows.end()) {
    lines.Add("no row is selected: an arrow key selects one, Esc leaves");
    return;
  }
  lines.Add(row->key);
  for (size_t i = 1; i < row->cells.size(); ++i) {
    const std::string_view title = Trim(table.columns[i].title);
    if (!title.empty() && !row->cells[i].text.empty()) {
      lines.Add(absl::StrFormat("%-9s %s", title, Trim(row->cells[i].text)), row->cells[i].ink);
    }
  }
  const auto pod = std::ranges::find_if(status.pods, [&](const StatusPod& candidate) {
    return candidate.pod_namespace + "/" + candidate.pod == row->key;
  });
  if (pod != status.pods.end() && !pod->use.method.empty()) {
    lines.Add(absl::StrFormat("%-9s %s", "energy", MethodWords(pod->use.method)));
  }
  const std::optional<uint32_t> number = row->gpu;
  if (const StatusGpu* const gpu = number ? GpuOf(status, *number) : nullptr) {
    lines.AddWrapped(
        absl::StrFormat("GPU %d     %s  %s  %s  %s", gpu->index, gpu->uuid, gpu->model,
                        gpu->pci_bus_id, StateLine(*gpu, model.now_ms, model.utc_offset_s)),
        10);
  }
}

}  // namespace podgpu
