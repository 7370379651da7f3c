#include "ui/status_page.h"

#include "absl/strings/str_format.h"

#include "ui/html.h"
#include "ui/status_devices.h"
#include "ui/status_words.h"

namespace podgpu {
namespace {

// More lines than this are folded.
constexpr size_t kMostOpenMissing = 4;

constexpr std::string_view kStartingVerdict = "starting: the first page is not ready yet";

constexpr std::string_view kMoreLinks =
    "<a href=\"./api/v1/status\">API</a> <a href=\"./explain\">Explain</a> "
    "<a href=\"./assets/node-page.md\">Docs</a>";

std::string_view VerdictOf(const StatusPageFacts& facts) {
  return facts.status == nullptr ? kStartingVerdict : std::string_view(facts.status->verdict);
}

void AppendHeader(const StatusPageFacts& facts, const std::string& counts, std::string& page) {
  absl::StrAppendFormat(
      &page,
      "<header><h1>podgpu on %s</h1><p id=\"counts\">%s</p>"
      "<p id=\"age\">%s</p><button id=\"pause\" type=\"button\" "
      "aria-pressed=\"false\" hidden>Pause</button><nav aria-label=\"podgpu\">"
      "<a href=\"./metrics\">Metrics</a> %s</nav></header>\n"
      "<p id=\"notice\" role=\"alert\" hidden></p>\n",
      EscapeHtml(facts.hostname), EscapeHtml(counts),
      facts.status == nullptr ? "no sample yet" : AgeWords(*facts.status, facts.now_ms),
      kMoreLinks);
}

void AppendFaults(const NodeStatus& status, std::string& page) {
  if (status.faults.empty()) {
    return;
  }
  page += "<section id=\"faults\" aria-label=\"Faults\">\n";
  for (const StatusFault& fault : status.faults) {
    const std::string state = EscapeHtml(fault.state);
    absl::StrAppendFormat(&page,
                          "<p class=\"fault %s\"><strong class=\"%s\">%s</strong> <span "
                          "data-v=\"text\">%s</span> <span data-v=\"remedy\">%s</span>",
                          state, state, state, EscapeHtml(SentenceWords(fault.text)),
                          EscapeHtml(SentenceWords(fault.remedy)));
    if (!fault.explain.empty()) {
      absl::StrAppendFormat(&page,
                            " <a href=\"./explain?%s\">why<span class=\"unseen\">: %s</span></a>",
                            EscapeHtml(fault.explain), EscapeHtml(fault.text));
    }
    page += "</p>\n";
  }
  page += "</section>\n";
}

void AppendMissing(const NodeStatus& status, std::string& page) {
  if (status.missing.empty()) {
    return;
  }
  absl::StrAppendFormat(&page, "<details id=\"missing\"%s><summary>Not shown (%d)</summary><ul>\n",
                        status.missing.size() <= kMostOpenMissing ? " open" : "",
                        status.missing.size());
  for (const StatusMissing& missing : status.missing) {
    absl::StrAppendFormat(&page, "<li>%s%s%s: %s", EscapeHtml(missing.what),
                          missing.gpus.empty() ? "" : ", GPU ", EscapeHtml(missing.gpus),
                          EscapeHtml(missing.reason));
    if (!missing.explain.empty()) {
      absl::StrAppendFormat(&page,
                            " <a href=\"./explain?%s\">why<span class=\"unseen\">: %s</span></a>",
                            EscapeHtml(missing.explain), EscapeHtml(missing.what));
    }
    page += "</li>\n";
  }
  page += "</ul></details>\n";
}

void AppendParts(const NodeStatus& status, std::string& page) {
  page +=
      "<table id=\"parts\"><caption>Parts</caption><thead><tr><th scope=\"col\">Part</th>"
      "<th scope=\"col\">State</th><th scope=\"col\">Detail</th></tr></thead><tbody>\n";
  for (const StatusPart& part : status.parts) {
    const std::string state = EscapeHtml(part.state);
    absl::StrAppendFormat(&page,
                          "<tr><th scope=\"row\">%s</th><td class=\"%s\">%s</td><td>%s</td></tr>\n",
                          EscapeHtml(part.part), state, state, EscapeHtml(part.detail));
  }
  page += "</tbody></table>\n";
}

// Appends a sentence in place of a table of dashes: what podgpu waits for, or that this node has no
// GPU.
void AppendNothing(std::string_view verdict, std::string& page) {
  absl::StrAppendFormat(&page, "<p id=\"nothing\">No GPU to show. %s</p>\n",
                        EscapeHtml(SentenceWords(verdict)));
}

void AppendLinks(const StatusPageFacts& facts, std::string& page) {
  page += "<p class=\"paths\">Other paths:";
  for (const std::string_view path : facts.paths) {
    absl::StrAppendFormat(&page, " <a href=\".%s\">%s</a>", path, path);
  }
  page += "</p>\n";
}

// A dash alone would not tell which number is missing.
std::string Named(std::string_view name, std::string words) {
  return words == "-" ? absl::StrFormat("%s -", name) : std::move(words);
}

std::string GpuText(const StatusGpu& gpu, const StatusPageFacts& facts) {
  const NodeStatus& status = *facts.status;
  const bool is_utilization = ShowsUtilization(status);
  std::string text = absl::StrFormat("%-16s  %-12s  %s", absl::StrFormat("GPU %d", gpu.index),
                                     gpu.state, gpu.owners);
  if (gpu.idle_since_ms) {
    text += ", " + IdleWords(gpu.idle_since_ms, gpu.idle_for_longer, facts.now_ms);
  }
  absl::StrAppendFormat(&text, "  %s %s, %s, %s, %s", is_utilization ? "utilization" : "SM",
                        PercentWords(SmRatio(gpu, is_utilization)),
                        Named("memory", MemoryWords(gpu.memory_used_bytes, gpu.memory_total_bytes)),
                        Named("power", PowerWords(gpu.power_watts, gpu.power_limit_watts)),
                        Named("temperature", TemperatureWords(gpu.temperature_celsius)));
  for (const std::string& reason : gpu.throttle_reasons) {
    text += ", throttled by " + reason;
  }
  absl::StrAppendFormat(&text, "  %s  %s  %s\n", gpu.model, gpu.uuid, gpu.pci_bus_id);
  return text;
}

std::string BelowText(const StatusGpu& gpu, const StatusPageFacts& facts) {
  std::string text;
  for (const StatusInstance& instance : gpu.instances) {
    absl::StrAppendFormat(
        &text, "    %s  %s  SM %s, %s\n", InstanceWords(instance),
        OwnerWords(instance, facts.status->owners_known), PercentWords(instance.sm_ratio),
        Named("memory", MemoryWords(instance.memory_used_bytes, instance.memory_total_bytes)));
  }
  for (const StatusShare& share : gpu.shares) {
    const std::string idle = IdleWords(share.idle_since_ms, false, facts.now_ms);
    const std::string method = MethodWords(share.use);
    absl::StrAppendFormat(&text, "    %s%s%s  SM %s, %s, %s, %s%s%s\n", ShareWords(share),
                          idle.empty() ? "" : ", ", idle, PercentWords(share.use.sm_ratio),
                          Named("memory", MemoryWords(share.use.memory_bytes, std::nullopt)),
                          Named("power", PowerWords(share.use)),
                          Named("energy", EnergyWords(share.use)), method.empty() ? "" : "  ",
                          method);
  }
  if (gpu.instances.empty() && gpu.shares.empty() && gpu.holders.size() + gpu.hidden_holders > 1) {
    absl::StrAppendFormat(&text, "    %s\n", HoldersWords(gpu.holders, gpu.hidden_holders));
  }
  return text;
}

void AppendStatusText(const StatusPageFacts& facts, std::string& text) {
  const NodeStatus& status = *facts.status;
  for (const StatusFault& fault : status.faults) {
    absl::StrAppendFormat(&text, "! %s: %s%s%s\n", fault.state, SentenceWords(fault.text),
                          fault.remedy.empty() ? "" : " ", SentenceWords(fault.remedy));
  }
  text += status.faults.empty() ? "" : "\n";
  for (const StatusPart& part : status.parts) {
    absl::StrAppendFormat(&text, "%-16s  %-12s  %s\n", part.part, part.state, part.detail);
  }
  for (const StatusGpu& gpu : status.gpus) {
    text += GpuText(gpu, facts) + BelowText(gpu, facts);
  }
  for (const StatusMissing& missing : status.missing) {
    absl::StrAppendFormat(&text, "not shown: %s%s%s: %s\n", missing.what,
                          missing.gpus.empty() ? "" : ", GPU ", missing.gpus, missing.reason);
  }
  absl::StrAppendFormat(&text, "\nThis exporter: %s; %s", SelfWords(status.self),
                        AgeWords(status, facts.now_ms));
}

}  // namespace

std::string StatusText(const StatusPageFacts& facts) {
  std::string text =
      absl::StrFormat("podgpu %s on %s: %s\n\n", facts.version, facts.hostname, VerdictOf(facts));
  if (facts.status != nullptr) {
    AppendStatusText(facts, text);
    text += "\n";
  }
  absl::StrAppendFormat(&text, "%d series on /metrics; other paths:",
                        facts.status == nullptr ? 0 : facts.status->self.series);
  for (const std::string_view path : facts.paths) {
    text += path == "/metrics" ? "" : " " + std::string(path);
  }
  return text + "\n";
}

std::string RenderStatusPage(const StatusPageFacts& facts) {
  const std::string counts =
      facts.status == nullptr ? std::string("starting") : CountWords(*facts.status);
  std::string page = HtmlHead(absl::StrFormat("%s - %s - podgpu", counts, facts.hostname),
                              "<script type=\"module\" src=\"./assets/node.js\"></script>");
  AppendHeader(facts, counts, page);
  page += "<main id=\"page\">\n";
  absl::StrAppendFormat(&page, "<p id=\"verdict\">%s</p>\n", EscapeHtml(VerdictOf(facts)));
  if (facts.status == nullptr || facts.status->gpus.empty()) {
    AppendNothing(VerdictOf(facts), page);
  }
  if (facts.status != nullptr) {
    AppendFaults(*facts.status, page);
    if (!facts.status->gpus.empty()) {
      AppendDevices(*facts.status, facts.now_ms, page);
    }
    AppendMissing(*facts.status, page);
    AppendParts(*facts.status, page);
    absl::StrAppendFormat(&page, "<p>This exporter: <span id=\"self\">%s</span></p>\n",
                          SelfWords(facts.status->self));
  }
  page += "</main>\n<footer>";
  AppendLinks(facts, page);
  absl::StrAppendFormat(&page,
                        "<p>podgpu %s</p></footer>\n<p id=\"said\" role=\"status\" "
                        "class=\"unseen\"></p>\n</body></html>\n",
                        EscapeHtml(facts.version));
  return page;
}

}  // namespace podgpu
