#include "top/gpu_table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "absl/strings/str_format.h"

#include "top/words.h"

namespace podgpu {
namespace {

// The beginning of the node's words about owners that it cannot tell.
constexpr std::string_view kNotKnown = "not known";
constexpr size_t kPlotCells = 30;
constexpr int64_t kPlotCellMs = 2'000;
constexpr size_t kBarCells = 10;
constexpr double kEighths = 8;

// The facts that a cell is drawn from.
struct GpuContext {
  const NodeStatus& status;
  const StatusGpu& gpu;
  int64_t now_ms = 0;
  bool is_wide = false;
  bool is_instance = false;
};

struct GpuCell {
  std::string text;
  Ink ink = Ink::kPlain;
};

struct GpuColumn {
  std::string_view head;
  size_t gap;    // Columns before it.
  size_t width;  // 0: all that the other columns leave.
  bool is_left;
  bool dash_is_left;
  int dropped_as;  // 1: the first that a narrower terminal loses; 0: never.
  GpuCell (*draw)(const GpuContext& context);
};

bool IsGone(const StatusGpu& gpu) { return gpu.state == "lost" || gpu.state == "unresponsive"; }

GpuCell Ratio(std::optional<double> ratio) {
  constexpr double kLittle = 0.01;
  return {PercentWord(ratio), ratio && *ratio < kLittle ? Ink::kDim : Ink::kPlain};
}

// Returns whether the driver gives residency alone, in place of the activity of the SMs.
bool HasResidencyAlone(const NodeStatus& status) {
  const auto has = [&status](std::optional<double> StatusGpu::*ratio) {
    return std::ranges::any_of(status.gpus,
                               [ratio](const StatusGpu& gpu) { return (gpu.*ratio).has_value(); });
  };
  return !has(&StatusGpu::sm_active_ratio) && has(&StatusGpu::utilization_ratio);
}

GpuCell DrawState(const GpuContext& context) {
  return {std::string(ShortState(context.gpu.state)), InkOfState(context.gpu.state)};
}

GpuCell DrawSm(const GpuContext& context) {
  return Ratio(HasResidencyAlone(context.status) ? context.gpu.utilization_ratio
                                                 : context.gpu.sm_active_ratio);
}

// One of the eight levels, U+2581 to U+2588.
void AppendLevel(double ratio, std::string& text) {
  AppendUtf8(U'▁' + static_cast<char32_t>(std::lround(ratio * (kEighths - 1))), text);
}

GpuCell DrawPlot(const GpuContext& context) {
  const auto row =
      std::ranges::find(context.status.history, context.gpu.index, &StatusHistory::gpu);
  const int64_t step = context.status.history_step_ms;
  if (context.is_instance || row == context.status.history.end() || step <= 0) {
    return {};  // The node keeps the samples of whole GPUs.
  }
  const bool is_utilization =
      HasResidencyAlone(context.status) && !row->utilization.empty();  // Not of an older podgpu.
  const std::vector<int8_t>& samples = is_utilization ? row->utilization : row->sm;
  std::string text;
  constexpr double kPercent = 100;
  for (size_t cell = 0; cell < kPlotCells; ++cell) {
    // The newest samples of the time that the cell covers, counted back from the last sample.
    const int64_t until = static_cast<int64_t>(kPlotCells - cell - 1) * kPlotCellMs;
    const int64_t first = until / step;
    const int64_t last = std::max(first + 1, (until + kPlotCellMs) / step);
    double sum = 0;
    int count = 0;
    for (int64_t back = first; back < last && back < std::ssize(samples); ++back) {
      const int8_t sample = samples[samples.size() - 1 - static_cast<size_t>(back)];
      sum += std::max<int8_t>(sample, 0);
      count += sample >= 0 ? 1 : 0;
    }
    if (count == 0) {
      text += ' ';
    } else {
      AppendLevel(sum / count / kPercent, text);
    }
  }
  return {text};
}

GpuCell DrawMemoryBar(std::optional<uint64_t> used, std::optional<uint64_t> total) {
  if (!used) {
    return {std::string(kDash)};
  }
  std::string text;
  if (total && *total > 0) {
    const double cells = std::min(1.0, static_cast<double>(*used) / static_cast<double>(*total)) *
                         static_cast<double>(kBarCells);
    const auto eighths = static_cast<size_t>(std::lround(cells * kEighths));
    for (size_t i = 0; i < eighths / 8; ++i) {
      AppendUtf8(U'█', text);
    }
    if (eighths % 8 != 0) {
      AppendUtf8(U'▏' - static_cast<char32_t>(eighths % 8 - 1), text);
    }
  }
  text += std::string(kBarCells - std::min(kBarCells, WidthOf(text)), ' ');
  return {text + absl::StrFormat("%6s", MemoryWord(used))};
}

GpuCell DrawMemory(const GpuContext& context) {
  const StatusGpu& gpu = context.gpu;
  if (context.is_wide) {
    return DrawMemoryBar(gpu.memory_used_bytes, gpu.memory_total_bytes);
  }
  if (!gpu.memory_used_bytes || !gpu.memory_total_bytes) {
    return {MemoryWord(gpu.memory_used_bytes)};
  }
  constexpr double kGib = 1024.0 * 1024 * 1024;
  constexpr size_t kWidest = 9;
  const double used = static_cast<double>(*gpu.memory_used_bytes) / kGib;
  const double total = static_cast<double>(*gpu.memory_total_bytes) / kGib;
  std::string text = absl::StrFormat("%.1f/%.0fG", used, total);
  return {text.size() <= kWidest ? text : absl::StrFormat("%.0f/%.0fG", used, total)};
}

GpuCell DrawTemperature(const GpuContext& context) {
  const StatusGpu& gpu = context.gpu;
  if (!gpu.temperature_celsius) {
    return {std::string(kDash)};
  }
  constexpr double kClose = 5;
  const bool is_close =
      gpu.slowdown_celsius && *gpu.temperature_celsius >= *gpu.slowdown_celsius - kClose;
  std::string text = absl::StrFormat("%.0f", *gpu.temperature_celsius);
  if (context.is_wide && gpu.slowdown_celsius) {
    absl::StrAppendFormat(&text, "/%.0f", *gpu.slowdown_celsius);
  }
  return {text, is_close ? Ink::kWarning : Ink::kPlain};
}

GpuCell DrawWatts(const GpuContext& context) { return {WattsWord(context.gpu.power_watts)}; }

GpuCell DrawWattsOfLimit(const GpuContext& context) {
  GpuCell cell = DrawWatts(context);
  if (!context.gpu.power_watts || !context.gpu.power_limit_watts) {
    return cell;
  }
  constexpr size_t kWidest = 7;
  const std::string text = absl::StrFormat("%s/%.0f", cell.text, *context.gpu.power_limit_watts);
  return context.is_wide || text.size() <= kWidest ? GpuCell{text} : cell;
}

GpuCell DrawClock(const GpuContext& context) {
  return {context.gpu.sm_clock_mhz ? absl::StrFormat("%.0f", *context.gpu.sm_clock_mhz)
                                   : std::string(kDash)};
}

GpuCell DrawThrottle(const GpuContext& context) {
  std::string text;
  for (const std::string& reason : context.gpu.throttle_reasons) {
    text += (text.empty() ? "" : ",") + reason;
  }
  return {text, Ink::kWarning};
}

std::string OwnerOf(const std::vector<StatusHolder>& holders, uint32_t hidden, bool is_wide) {
  if (holders.size() != 1 || hidden > 0) {
    return "";
  }
  const StatusHolder& holder = holders.front();
  std::string owner = holder.pod_namespace + "/" + holder.pod;
  if (is_wide && !holder.container.empty()) {
    owner += "/" + holder.container;
  }
  return owner;
}

GpuCell DrawOwner(const GpuContext& context) {
  const StatusGpu& gpu = context.gpu;
  const std::string owner = OwnerOf(gpu.holders, gpu.hidden_holders, context.is_wide);
  if (!owner.empty() && context.status.owners_known) {
    return {owner};
  }
  return {gpu.owners == "free" ? "(free)" : gpu.owners};
}

GpuCell DrawIdle(const GpuContext& context) {
  const StatusGpu& gpu = context.gpu;
  if (gpu.idle_since_ms) {
    return {IdleWord(context.now_ms - *gpu.idle_since_ms, gpu.idle_for_longer), Ink::kIdle};
  }
  return {IsGone(gpu) ? std::string(kDash) : std::string()};
}

constexpr GpuColumn kWide[] = {
    {"STATE", 1, 7, true, true, 0, DrawState},
    {"SM%", 1, 3, false, false, 0, DrawSm},
    {"SM, LAST 60 s", 1, kPlotCells, true, true, 1, DrawPlot},
    {"TEN%", 1, 4, false, false, 4,
     [](const GpuContext& c) { return Ratio(c.gpu.tensor_active_ratio); }},
    {"DRM%", 1, 4, false, false, 5,
     [](const GpuContext& c) { return Ratio(c.gpu.dram_active_ratio); }},
    {"MEMORY", 1, 16, true, true, 0, DrawMemory},
    {"TEMP", 2, 6, true, true, 0, DrawTemperature},
    {"W/LIMIT", 2, 7, false, true, 0, DrawWattsOfLimit},
    {"MHz", 3, 4, false, false, 2, DrawClock},
    {"THROTTLED", 1, 10, true, true, 3, DrawThrottle},
    {"OWNER (namespace/pod/container)", 2, 0, true, true, 0, DrawOwner},
    {"IDLE", 1, 6, false, false, 0, DrawIdle},
};
constexpr GpuColumn kNarrow[] = {
    {"STATE", 1, 7, true, true, 0, DrawState},
    {"SM%", 1, 3, false, false, 0, DrawSm},
    {"TEN%", 1, 4, false, false, 4,
     [](const GpuContext& c) { return Ratio(c.gpu.tensor_active_ratio); }},
    {"DRM%", 1, 4, false, false, 5,
     [](const GpuContext& c) { return Ratio(c.gpu.dram_active_ratio); }},
    {"MEMORY", 1, 9, false, false, 0, DrawMemory},
    {"TEMP", 1, 4, false, false, 0, DrawTemperature},
    {"W/LIM", 1, 7, false, false, 6, DrawWattsOfLimit},
    {"OWNER", 2, 0, true, true, 0, DrawOwner},
    {"IDLE", 0, 6, false, false, 0, DrawIdle},
};
constexpr GpuColumn kWattsAlone = {"W", 1, 4, false, false, 0, DrawWatts};

// Widths that depend on the GPUs: of names such as "6:10", and of profiles such as "1g.10gb+me".
struct GpuWidths {
  size_t name = 3, state = 7;
};

struct Layout {
  std::vector<GpuColumn> columns;
  size_t name_width = 0;  // Width of the first column.
  size_t fixed = 0;       // Columns of all but the owner.
  bool is_wide = false;
};

std::string NameOf(const StatusGpu& gpu, const StatusInstance& instance) {
  return absl::StrFormat("%d:%d", gpu.index, instance.gpu_instance_id);
}

GpuWidths WidthsOf(const NodeStatus& status) {
  constexpr size_t kWidestState = 10;
  GpuWidths widths;
  for (const StatusGpu& gpu : status.gpus) {
    widths.name = std::max(widths.name, std::to_string(gpu.index).size());
    for (const StatusInstance& instance : gpu.instances) {
      widths.name = std::max(widths.name, NameOf(gpu, instance).size());
      widths.state = std::max(widths.state, std::min(WidthOf(instance.profile), kWidestState));
    }
  }
  return widths;
}

Layout Make(std::span<const GpuColumn> columns, GpuWidths widths, int dropped, bool is_wide) {
  Layout layout{{}, widths.name, widths.name, is_wide};
  for (GpuColumn column : columns) {
    const bool is_dropped = column.dropped_as != 0 && column.dropped_as <= dropped;
    if (is_dropped && column.draw != DrawWattsOfLimit) {
      continue;
    }
    if (is_dropped) {
      column = kWattsAlone;
    }
    column.width = column.draw == DrawState ? widths.state : column.width;
    layout.fixed += column.gap + column.width;
    layout.columns.push_back(column);
  }
  return layout;
}

Layout LayoutFor(size_t columns, GpuWidths widths) {
  constexpr int kLastOfWide = 3, kLast = 6;
  constexpr size_t kWideOwner = 32, kNarrowOwner = 18, kMargin = 2;
  for (int dropped = 0; dropped <= kLastOfWide; ++dropped) {
    Layout layout = Make(kWide, widths, dropped, true);
    layout.fixed += kMargin;
    if (layout.fixed + kWideOwner <= columns) {
      return layout;
    }
  }
  for (int dropped = kLastOfWide; dropped < kLast; ++dropped) {
    Layout layout = Make(kNarrow, widths, dropped, false);
    if (layout.fixed + kNarrowOwner <= columns) {
      return layout;
    }
  }
  return Make(kNarrow, widths, kLast, false);
}

size_t WidthIn(const Layout& layout, const GpuColumn& column, size_t columns) {
  return column.width > 0 ? column.width : columns - std::min(columns, layout.fixed);
}

// A name that is too long loses its namespace first; words such as "not known: ..." have none.
std::string WithoutNamespace(const std::string& owner) {
  const size_t slash = owner.find('/');
  return slash == std::string::npos || owner.find(' ') < slash ? owner : owner.substr(slash + 1);
}

void DrawGpuRow(const Layout& layout, const GpuContext& context, std::string_view name, size_t row,
                Canvas& canvas) {
  canvas.PutLeft(row, 0, layout.name_width, name);
  size_t at = layout.name_width;
  for (const GpuColumn& column : layout.columns) {
    at += column.gap;
    const size_t width = WidthIn(layout, column, canvas.size().columns);
    GpuCell cell = column.draw(context);
    if (column.draw == DrawOwner && WidthOf(cell.text) > width) {
      cell.text = WithoutNamespace(cell.text);
    }
    if (column.is_left || (column.dash_is_left && cell.text == kDash)) {
      canvas.PutLeft(row, at, width, cell.text, cell.ink);
    } else {
      const size_t shown = std::clamp(WidthOf(cell.text), width, width + column.gap);
      canvas.PutRight(row, at + width - shown, shown, cell.text, cell.ink);
    }
    at += width;
  }
}

// Returns the instances by their numbers; the driver lists them in another order.
std::vector<const StatusInstance*> InstancesOf(const StatusGpu& gpu) {
  std::vector<const StatusInstance*> instances;
  instances.reserve(gpu.instances.size());
  for (const StatusInstance& instance : gpu.instances) {
    instances.push_back(&instance);
  }
  std::ranges::sort(instances, {}, &StatusInstance::gpu_instance_id);
  return instances;
}

// An instance, drawn as a GPU of its own: its profile stands in the place of the state.
StatusGpu AsGpu(const StatusGpu& gpu, const StatusInstance& instance) {
  StatusGpu drawn;
  drawn.state = instance.profile;
  drawn.holders = instance.holders;
  drawn.hidden_holders = instance.hidden_holders;
  drawn.owners =
      instance.holders.size() + instance.hidden_holders > 1
          ? absl::StrFormat("%d containers", instance.holders.size() + instance.hidden_holders)
          : "free";
  if (instance.holders.empty() && instance.hidden_holders == 1) {
    drawn.owners = "1 container";
  }
  if (gpu.owners.starts_with(kNotKnown)) {
    drawn.owners = gpu.owners;  // Without the kubelet's answer an instance is not free either.
  }
  // Containers outside Kubernetes are told for the whole board alone.
  if (gpu.owners.starts_with("container ") || gpu.owners.ends_with(" containers")) {
    drawn.owners = kNotKnown;
  }
  if (IsGone(gpu)) {
    return drawn;
  }
  drawn.sm_active_ratio = drawn.utilization_ratio = instance.sm_ratio;
  drawn.memory_used_bytes = instance.memory_used_bytes;
  drawn.memory_total_bytes = instance.memory_total_bytes;
  return drawn;
}

void DrawHead(const Layout& layout, const NodeStatus& status, size_t row, Canvas& canvas) {
  canvas.Put(row, 0, "GPU");
  size_t at = layout.name_width;
  for (const GpuColumn& column : layout.columns) {
    at += column.gap;
    const size_t width = WidthIn(layout, column, canvas.size().columns);
    const bool is_residency = column.draw == DrawSm && HasResidencyAlone(status);
    const std::string_view head = is_residency ? "UTL%" : column.head;
    if (column.is_left) {
      canvas.PutLeft(row, at, width, head);
    } else {
      const size_t shown = std::max(width, head.size());  // May take the gap before it.
      canvas.PutRight(row, at + width - shown, shown, head);
    }
    at += width;
  }
}

// A GPU, or one of its instances.
struct TableRow {
  const StatusGpu* gpu;
  const StatusInstance* instance;  // Null for the GPU itself.
};

std::vector<TableRow> RowsOf(const NodeStatus& status) {
  std::vector<TableRow> rows;
  rows.reserve(GpuRows(status));
  for (const StatusGpu& gpu : status.gpus) {
    rows.push_back({&gpu, nullptr});
    for (const StatusInstance* const instance : InstancesOf(gpu)) {
      rows.push_back({&gpu, instance});
    }
  }
  return rows;
}

void DrawRow(const Layout& layout, const NodeStatus& status, int64_t now_ms, const TableRow& row,
             size_t line, Canvas& canvas) {
  if (row.instance == nullptr) {
    DrawGpuRow(layout, {status, *row.gpu, now_ms, layout.is_wide}, std::to_string(row.gpu->index),
               line, canvas);
    return;
  }
  const StatusGpu drawn = AsGpu(*row.gpu, *row.instance);
  DrawGpuRow(layout, {status, drawn, now_ms, layout.is_wide, true}, NameOf(*row.gpu, *row.instance),
             line, canvas);
}

}  // namespace

size_t GpuRows(const NodeStatus& status) {
  size_t rows = status.gpus.size();
  for (const StatusGpu& gpu : status.gpus) {
    rows += gpu.instances.size();
  }
  return rows;
}

void DrawGpus(const NodeStatus& status, int64_t now_ms, std::optional<uint32_t> in_view,
              PaneArea area, Canvas& canvas) {
  const Layout layout = LayoutFor(canvas.size().columns, WidthsOf(status));
  DrawHead(layout, status, area.row, canvas);
  const std::vector<TableRow> rows = RowsOf(status);
  const bool has_room = rows.size() <= area.rows;
  const size_t shown = has_room || area.rows == 0 ? rows.size() : area.rows - 1;
  const auto wanted = std::ranges::find_if(rows, [in_view](const TableRow& row) {
    return row.instance == nullptr && row.gpu->index == in_view;
  });
  // Whole pages, so the rows stand still while the selection moves within one.
  const auto at = wanted == rows.end() ? 0 : static_cast<size_t>(wanted - rows.begin());
  const size_t first =
      has_room || shown == 0 ? 0 : std::min(at / shown * shown, rows.size() - shown);
  size_t line = area.row + 1;
  for (size_t i = first; i < std::min(first + shown, rows.size()); ++i) {
    DrawRow(layout, status, now_ms, rows[i], line++, canvas);
  }
  if (!has_room) {
    canvas.PutLeft(line, 0, canvas.size().columns,
                   absl::StrFormat("... %d more rows; a selected row brings its GPU here",
                                   rows.size() - shown));
  }
}

bool ShowsPlot(size_t columns) {
  const Layout layout = LayoutFor(columns, GpuWidths());
  return std::ranges::any_of(layout.columns,
                             [](const GpuColumn& column) { return column.draw == DrawPlot; });
}

}  // namespace podgpu
