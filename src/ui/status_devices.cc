#include "ui/status_devices.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"

#include "ui/html.h"
#include "ui/status_words.h"

namespace podgpu {
namespace {

constexpr double kWholeBar = 100;

struct TableBasis {
  const NodeStatus& status;
  int64_t now_ms;
  bool shows_utilization;
  bool is_folded;
};

std::string_view SmName(const TableBasis& basis) {
  return basis.shows_utilization ? "Utilization" : "SM activity";
}

const StatusHistory* HistoryOf(const NodeStatus& status, uint32_t gpu) {
  const auto found = std::ranges::find(status.history, gpu, &StatusHistory::gpu);
  return found == status.history.end() ? nullptr : &*found;
}

// A plot of the last minutes.  A lost GPU's plot ends in a bar, where its samples end.
void AppendPlot(std::string_view key, std::string_view what, const std::vector<int8_t>& samples,
                const TableBasis& basis, std::string& page) {
  absl::StrAppendFormat(
      &page,
      "<svg class=\"plot\" data-plot=\"%s\" data-what=\"%s\" role=\"img\" viewBox=\"0 0 300 100\" "
      "preserveAspectRatio=\"none\" aria-label=\"%s\"><path d=\"%s\"/></svg> ",
      key, what, PlotWords(what, samples, basis.status.history_step_ms), PlotPath(samples));
}

// A part of the whole as a bar; the number beside it says the same.
void AppendBar(const std::optional<double>& ratio, std::string& page) {
  absl::StrAppendFormat(
      &page,
      "<svg class=\"bar\" aria-hidden=\"true\"><rect data-v=\"bar\" width=\"%.1f%%\" "
      "height=\"100%%\"/></svg> ",
      std::clamp(ratio.value_or(0), 0.0, 1.0) * kWholeBar);
}

void AppendCell(std::string_view key, std::string_view words, std::string& page) {
  absl::StrAppendFormat(&page, "<td class=\"number\" data-v=\"%s\">%s</td>", key, words);
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
  const auto measured = [&](std::string_view key, std::string_view what,
                            const std::vector<int8_t>& samples, const std::string& words) {
    page += "<td class=\"number\">";
    AppendPlot(key, what, samples, basis, page);
    absl::StrAppendFormat(&page, "<span data-v=\"%s\">%s</span></td>", key, words);
  };
  measured("sm", SmName(basis), history.sm, PercentWords(SmRatio(gpu, basis.shows_utilization)));
  measured("memory", "Memory", history.memory,
           MemoryWords(gpu.memory_used_bytes, gpu.memory_total_bytes));
  measured("power", "Power", history.power, PowerWords(gpu.power_watts, gpu.power_limit_watts));
  AppendCell("temperature", TemperatureWords(gpu.temperature_celsius), page);
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
  page += "<td class=\"number\">";
  AppendBar(share.use.sm_ratio, page);
  absl::StrAppendFormat(&page, "<span data-v=\"sm\">%s</span></td>",
                        PercentWords(share.use.sm_ratio));
  AppendCell("memory", MemoryWords(share.use.memory_bytes, std::nullopt), page);
  AppendCell("power", PowerWords(share.use), page);
  AppendCell("energy", EnergyWords(share.use), page);
  absl::StrAppendFormat(&page, "<td>%s</td></tr>\n", EscapeHtml(MethodWords(share.use)));
}

void AppendShares(const StatusGpu& gpu, const TableBasis& basis, std::string& page) {
  absl::StrAppendFormat(
      &page,
      "<table class=\"shares\"><caption class=\"unseen\">Owners of GPU %d</caption>"
      "<thead><tr><th scope=\"col\">Owner</th><th scope=\"col\">SM time</th>"
      "<th scope=\"col\">Memory</th><th scope=\"col\">Power</th><th scope=\"col\">Energy</th>"
      "<th scope=\"col\">Power and energy are</th></tr></thead><tbody>\n",
      gpu.index);
  for (const StatusShare& share : gpu.shares) {
    AppendShare(share, basis, page);
  }
  page += "</tbody></table>\n";
}

void AppendInstances(const StatusGpu& gpu, bool owners_known, std::string& page) {
  absl::StrAppendFormat(
      &page,
      "<table class=\"instances\"><caption class=\"unseen\">MIG instances of GPU %d</caption>"
      "<thead><tr><th scope=\"col\">Instance</th><th scope=\"col\">SM activity</th>"
      "<th scope=\"col\">Memory</th><th scope=\"col\">Owner</th></tr></thead><tbody>\n",
      gpu.index);
  for (const StatusInstance& instance : gpu.instances) {
    absl::StrAppendFormat(&page, "<tr><th scope=\"row\">%s</th><td class=\"number\">",
                          EscapeHtml(InstanceWords(instance)));
    AppendBar(instance.sm_ratio, page);
    absl::StrAppendFormat(&page, "<span data-v=\"sm\">%s</span></td>",
                          PercentWords(instance.sm_ratio));
    AppendCell("memory", MemoryWords(instance.memory_used_bytes, instance.memory_total_bytes),
               page);
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

void AppendBelow(const StatusGpu& gpu, const TableBasis& basis, std::string& page) {
  const bool only_names =
      gpu.shares.empty() && gpu.instances.empty() && gpu.holders.size() + gpu.hidden_holders > 1;
  if (gpu.shares.empty() && gpu.instances.empty() && !only_names) {
    return;
  }
  const bool is_open = !basis.is_folded || gpu.state != "ok";
  absl::StrAppendFormat(
      &page,
      "<tr class=\"below\"><td colspan=\"7\"><details id=\"below-%d\"%s><summary>GPU %d: %s"
      "</summary>\n",
      gpu.index, is_open ? " open" : "", gpu.index,
      gpu.instances.empty() ? "its owners" : "its MIG instances");
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
      "<th scope=\"col\" class=\"number\">Temp</th><th scope=\"col\">Owner</th></tr></thead>"
      "<tbody>\n",
      basis.shows_utilization ? " data-utilization" : "", SmName(basis));
  for (const StatusGpu& gpu : status.gpus) {
    AppendGpuRow(gpu, basis, page);
    AppendBelow(gpu, basis, page);
  }
  page += "</tbody></table>\n";
  AppendIdentities(status, page);
}

}  // namespace podgpu
