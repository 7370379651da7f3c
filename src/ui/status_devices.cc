#include "ui/status_devices.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "ui/html.h"
#include "ui/status_words.h"

namespace podgpu {
namespace {

constexpr double kWholeBar = 100;
constexpr std::string_view kSmActivity = "SM activity";
constexpr std::string_view kUtilization = "Utilization";

// The place of a bar in its box, in percent: a MIG instance is a slice of its GPU.
struct BarPlace {
  double from = 0;
  double width = kWholeBar;
};

struct TableBasis {
  const NodeStatus& status;
  int64_t now_ms;
  bool shows_utilization;
  bool is_folded;
};

const StatusHistory* HistoryOf(const NodeStatus& status, uint32_t gpu) {
  const auto found = std::ranges::find(status.history, gpu, &StatusHistory::gpu);
  return found == status.history.end() ? nullptr : &*found;
}

// The line of a plot: its key in StatusHistory, and what it shows.
struct PlotLine {
  std::string_view key;
  std::string_view what;
  const std::vector<int8_t>& samples;
};

// A plot of the last five minutes, with the last line in front.  A lost GPU's plot ends in a bar,
// where its samples end.
void AppendPlot(std::initializer_list<PlotLine> lines, const TableBasis& basis, std::string& page) {
  const int64_t step_ms = basis.status.history_step_ms;
  std::string label, paths;
  for (const PlotLine& line : lines) {
    label = absl::StrFormat("%s%s%s", PlotWords(line.what, line.samples, step_ms),
                            label.empty() ? "" : "; ", label);
    absl::StrAppendFormat(&paths, "<path data-plot=\"%s\" data-what=\"%s\" d=\"%s\"/>", line.key,
                          line.what, PlotPath(line.samples, step_ms));
  }
  absl::StrAppendFormat(&page,
                        "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 300 100\" "
                        "preserveAspectRatio=\"none\" aria-label=\"%s\">%s</svg> ",
                        label, paths);
}

// A part of the whole as a bar; the number beside it says the same.  An empty bar would say 0 where
// the number is not known.
void AppendBar(const std::optional<double>& ratio, const BarPlace& place, std::string& page) {
  absl::StrAppendFormat(&page, "<svg class=\"bar%s\" aria-hidden=\"true\">",
                        ratio ? "" : " unknown");
  if (place.width < kWholeBar) {
    absl::StrAppendFormat(&page,
                          "<rect class=\"slice\" x=\"%.1f%%\" width=\"%.1f%%\" height=\"100%%\"/>",
                          place.from, place.width);
  }
  absl::StrAppendFormat(&page,
                        "<rect data-v=\"bar\" data-whole=\"%.1f\" x=\"%.1f%%\" width=\"%.1f%%\" "
                        "height=\"100%%\"/></svg> ",
                        place.width, place.from,
                        std::clamp(ratio.value_or(0), 0.0, 1.0) * place.width);
}

// `label` stands before the words on a narrow screen, which has no heads.
void AppendCell(std::string_view key, std::string_view label, std::string_view words,
                std::string& page) {
  absl::StrAppendFormat(&page, "<td class=\"number\" data-label=\"%s\" data-v=\"%s\">%s</td>",
                        label, key, words);
}

void AppendState(const StatusGpu& gpu, const TableBasis& basis, std::string& page) {
  const std::string state = EscapeHtml(gpu.state);
  absl::StrAppendFormat(&page, "<td class=\"state %s\">%s", state, state);
  if (gpu.since_ms) {
    absl::StrAppendFormat(&page, " <span class=\"note\" data-v=\"since\">%s</span>",
                          SpanWords(basis.now_ms - *gpu.since_ms));
  }
  page += " <span class=\"note\" data-v=\"throttled\">";
  for (const std::string& reason : gpu.throttle_reasons) {
    absl::StrAppendFormat(&page, "%s%s", &reason == gpu.throttle_reasons.data() ? "" : ", ",
                          EscapeHtml(reason));
  }
  page += "</span></td>";
}

void AppendGpuRow(const StatusGpu& gpu, const TableBasis& basis, std::string& page) {
  const StatusHistory none;
  const StatusHistory* const kept = HistoryOf(basis.status, gpu.index);
  const StatusHistory& history = kept == nullptr ? none : *kept;
  absl::StrAppendFormat(&page, "<tr id=\"gpu-%d\" class=\"gpu\"><th scope=\"row\">%d</th>",
                        gpu.index, gpu.index);
  AppendState(gpu, basis, page);
  const auto measured = [&](std::string_view key, std::initializer_list<PlotLine> lines,
                            const std::string& words) {
    absl::StrAppendFormat(&page, "<td class=\"number\" data-label=\"%s\">",
                          std::prev(lines.end())->what);
    AppendPlot(lines, basis, page);
    absl::StrAppendFormat(&page, "<span data-v=\"%s\">%s</span></td>", key, words);
  };
  const PlotLine utilization{"utilization", kUtilization, history.utilization};
  const std::string sm = PercentWords(SmRatio(gpu, basis.shows_utilization));
  if (basis.shows_utilization) {
    measured("sm", {utilization}, sm);
  } else {
    measured("sm", {utilization, {"sm", kSmActivity, history.sm}}, sm);
  }
  measured("memory", {{"memory", "Memory", history.memory}},
           MemoryWords(gpu.memory_used_bytes, gpu.memory_total_bytes));
  measured("power", {{"power", "Power", history.power}},
           PowerWords(gpu.power_watts, gpu.power_limit_watts));
  AppendCell("temperature", "Temp", TemperatureWords(gpu.temperature_celsius), page);
  AppendCell("energy", "Energy", EnergyWords(gpu.energy_joules), page);
  absl::StrAppendFormat(
      &page,
      "<td class=\"owner\"><span data-v=\"owners\">%s</span> <span class=\"idle\" data-v=\"idle\">"
      "%s</span> <a href=\"./explain?gpu=%d\">why<span class=\"unseen\">: GPU %d</span></a></td>"
      "</tr>\n",
      EscapeHtml(gpu.owners), IdleWords(gpu.idle_since_ms, gpu.idle_for_longer, basis.now_ms),
      gpu.index, gpu.index);
}

void AppendShare(const StatusShare& share, const TableBasis& basis, std::string& page) {
  absl::StrAppendFormat(
      &page, "<tr><th scope=\"row\">%s <span class=\"idle\" data-v=\"idle\">%s</span></th>",
      EscapeHtml(ShareWords(share)), IdleWords(share.idle_since_ms, false, basis.now_ms));
  page += "<td class=\"number\" data-label=\"SM time\">";
  AppendBar(share.use.sm_ratio, {}, page);
  absl::StrAppendFormat(&page, "<span data-v=\"sm\">%s</span></td>",
                        PercentWords(share.use.sm_ratio));
  AppendCell("memory", "Memory", MemoryWords(share.use.memory_bytes, std::nullopt), page);
  AppendCell("power", "Power", PowerWords(share.use), page);
  AppendCell("energy", "Energy", EnergyWords(share.use), page);
  absl::StrAppendFormat(&page, "<td>%s</td></tr>\n", EscapeHtml(MethodWords(share.use)));
}

void AppendShares(const StatusGpu& gpu, const TableBasis& basis, std::string& page) {
  absl::StrAppendFormat(
      &page,
      "<table class=\"shares\"><caption class=\"unseen\">Owners of GPU %d</caption>"
      "<thead><tr><th scope=\"col\">Owner</th><th scope=\"col\">SM time</th>"
      "<th scope=\"col\">Memory</th><th scope=\"col\">Power</th><th scope=\"col\">Energy</th>"
      "<th scope=\"col\">Method</th></tr></thead><tbody>\n",
      gpu.index);
  for (const StatusShare& share : gpu.shares) {
    AppendShare(share, basis, page);
  }
  page += "</tbody></table>\n";
}

// Returns the slices of the instances, as wide as their part of the GPU's memory; whole bars if the
// sizes are not known.
std::vector<BarPlace> SlicesOf(const StatusGpu& gpu) {
  std::vector<BarPlace> slices;
  double from = 0;
  const auto whole = static_cast<double>(gpu.memory_total_bytes.value_or(0));
  for (const StatusInstance& instance : gpu.instances) {
    const auto part = static_cast<double>(instance.memory_total_bytes.value_or(0));
    if (part <= 0 || whole <= 0) {
      return std::vector<BarPlace>(gpu.instances.size());
    }
    const double width = part / whole * kWholeBar;
    slices.push_back({from, std::min(width, kWholeBar - from)});
    from += slices.back().width;
  }
  return slices;
}

void AppendInstances(const StatusGpu& gpu, bool owners_known, std::string& page) {
  absl::StrAppendFormat(
      &page,
      "<table class=\"instances\"><caption class=\"unseen\">MIG instances of GPU %d</caption>"
      "<thead><tr><th scope=\"col\">Instance</th><th scope=\"col\">SM activity</th>"
      "<th scope=\"col\">Memory</th><th scope=\"col\">Owner</th></tr></thead><tbody>\n",
      gpu.index);
  const std::vector<BarPlace> slices = SlicesOf(gpu);
  for (size_t i = 0; i < slices.size(); ++i) {
    const StatusInstance& instance = gpu.instances[i];
    absl::StrAppendFormat(
        &page, "<tr><th scope=\"row\">%s</th><td class=\"number\" data-label=\"SM activity\">",
        EscapeHtml(InstanceWords(instance)));
    AppendBar(instance.sm_ratio, slices[i], page);
    absl::StrAppendFormat(&page, "<span data-v=\"sm\">%s</span></td>",
                          PercentWords(instance.sm_ratio));
    AppendCell("memory", "Memory",
               MemoryWords(instance.memory_used_bytes, instance.memory_total_bytes), page);
    absl::StrAppendFormat(&page, "<td>%s</td></tr>\n",
                          EscapeHtml(OwnerWords(instance, owners_known)));
  }
  page += "</tbody></table>\n";
}

// Appends the names of holders in one sentence, for holders whose use is not known.
void AppendHolders(const StatusGpu& gpu, std::string& page) {
  absl::StrAppendFormat(&page, "<p>%s</p>\n",
                        EscapeHtml(HoldersWords(gpu.holders, gpu.hidden_holders)));
}

// Names the first holders of a GPU whose rows are closed: ", a/b, a/c and 5 more".
std::string FirstHolders(const StatusGpu& gpu) {
  constexpr size_t kMostNames = 2;
  std::vector<std::string> names;
  const auto add = [&names](const std::vector<StatusHolder>& holders) {
    for (const StatusHolder& holder : holders) {
      names.push_back(absl::StrFormat("%s/%s", holder.pod_namespace, holder.pod));
    }
  };
  add(gpu.holders);
  for (const StatusInstance& instance : gpu.instances) {
    add(instance.holders);
  }
  return names.empty() ? "" : ", " + ListedFirst(names, kMostNames);
}

void AppendBelow(const StatusGpu& gpu, const TableBasis& basis, std::string& page) {
  const bool only_names =
      gpu.shares.empty() && gpu.instances.empty() && gpu.holders.size() + gpu.hidden_holders > 1;
  if (gpu.shares.empty() && gpu.instances.empty() && !only_names) {
    return;
  }
  const bool is_open = !basis.is_folded || gpu.state != "ok";
  absl::StrAppendFormat(
      &page,
      "<tr class=\"below\"><td colspan=\"8\"><details id=\"below-%d\"%s><summary>GPU %d: %s%s"
      "</summary>\n",
      gpu.index, is_open ? " open" : "", gpu.index,
      gpu.instances.empty() ? "its owners" : "its MIG instances",
      is_open ? "" : EscapeHtml(FirstHolders(gpu)));
  if (!gpu.instances.empty()) {
    AppendInstances(gpu, basis.status.owners_known, page);
  }
  if (!gpu.shares.empty()) {
    AppendShares(gpu, basis, page);
  }
  if (only_names) {
    AppendHolders(gpu, page);
  }
  page += "</details></td></tr>\n";
}

// Closed at first: only a page whose reader has opened it asks for processes.
void AppendProcesses(const NodeStatus& status, int64_t now_ms, std::string& page) {
  if (status.processes.empty()) {
    return;
  }
  absl::StrAppendFormat(
      &page,
      "<details id=\"processes\"><summary>Processes (%d)</summary>\n"
      "<table><caption class=\"unseen\">Processes on the GPUs</caption><thead><tr>"
      "<th scope=\"col\">GPU</th><th scope=\"col\">PID</th><th scope=\"col\">Type</th>"
      "<th scope=\"col\" class=\"number\">SM time</th><th scope=\"col\" "
      "class=\"number\">Memory</th>"
      "<th scope=\"col\" class=\"number\">Power</th><th scope=\"col\" class=\"number\">Energy</th>"
      "<th scope=\"col\" class=\"number\">Age</th><th scope=\"col\">Command, "
      "owner</th></tr></thead>"
      "<tbody>\n",
      status.processes.size());
  for (const StatusProcess& process : ProcessesByGpu(status)) {
    absl::StrAppendFormat(
        &page, "<tr id=\"process-%d-%d\"><td>%d</td><th scope=\"row\">%d</th><td>%s</td>",
        process.gpu, process.pid, process.gpu, process.pid, EscapeHtml(process.type));
    AppendCell("sm", "SM time", PercentWords(process.use.sm_ratio), page);
    AppendCell("memory", "Memory", MemoryWords(process.use.memory_bytes, std::nullopt), page);
    AppendCell("power", "Power", PowerWords(process.use), page);
    AppendCell("energy", "Energy", EnergyWords(process.use), page);
    AppendCell("age", "Age", process.started_ms ? SpanWords(now_ms - *process.started_ms) : "-",
               page);
    absl::StrAppendFormat(&page, "<td>%s</td></tr>\n", EscapeHtml(ProcessWords(process)));
  }
  page += "</tbody></table></details>\n";
}

void AppendIdentities(const NodeStatus& status, std::string& page) {
  page +=
      "<details id=\"identities\"><summary>Models, UUIDs, PCI addresses and containers</summary>\n"
      "<table><caption class=\"unseen\">Identities of the GPUs</caption><thead><tr>"
      "<th scope=\"col\">GPU</th><th scope=\"col\">Model</th><th scope=\"col\">UUID</th>"
      "<th scope=\"col\">PCI address</th><th scope=\"col\">Held by</th></tr></thead><tbody>\n";
  for (const StatusGpu& gpu : status.gpus) {
    const std::string holders = HoldersWords(gpu.holders, gpu.hidden_holders);
    absl::StrAppendFormat(
        &page, "<tr><th scope=\"row\">%d</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
        gpu.index, EscapeHtml(gpu.model), EscapeHtml(gpu.uuid), EscapeHtml(gpu.pci_bus_id),
        EscapeHtml(holders.empty() ? gpu.owners : holders));
  }
  page += "</tbody></table></details>\n";
}

}  // namespace

void AppendDevices(const NodeStatus& status, int64_t now_ms, std::string& page) {
  const TableBasis basis{status, now_ms, ShowsUtilization(status), IsFolded(status)};
  absl::StrAppendFormat(
      &page,
      "<table id=\"gpus\"%s><caption>GPUs</caption><thead><tr><th scope=\"col\">GPU</th>"
      "<th scope=\"col\">State</th><th scope=\"col\" class=\"number\">%s, 5 min</th>"
      "<th scope=\"col\" class=\"number\">Memory</th><th scope=\"col\" class=\"number\">Power</th>"
      "<th scope=\"col\" class=\"number\">Temp</th><th scope=\"col\" class=\"number\">Energy</th>"
      "<th scope=\"col\">Owner</th></tr></thead>"
      "<tbody>\n",
      basis.shows_utilization ? " data-utilization" : "",
      basis.shows_utilization ? kUtilization : kSmActivity);
  for (const StatusGpu& gpu : status.gpus) {
    AppendGpuRow(gpu, basis, page);
    AppendBelow(gpu, basis, page);
  }
  page += "</tbody></table>\n";
  AppendProcesses(status, now_ms, page);
  AppendIdentities(status, page);
}

}  // namespace podgpu
