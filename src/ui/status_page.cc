#include "ui/status_page.h"

#include "absl/strings/str_format.h"

#include "base/percent.h"
#include "ui/html.h"
#include "ui/status_devices.h"
#include "ui/status_words.h"

namespace podgpu {
namespace {

// More lines than this are folded.
constexpr size_t kMostOpenMissing = 4;

constexpr std::string_view kLinks =
    "<a href=\"./metrics\">Metrics</a> <a href=\"./api/v1/status\">API</a> <a "
    "href=\"./explain\">Explain</a> "
    "<a href=\"./assets/node-page.md\">Docs</a>";

// Returns the link to this node on the fleet page; nothing without a fleet page.
std::string FleetLink(const StatusPageFacts& facts) {
  if (facts.fleet_url.empty()) {
    return "";
  }
  const std::string_view node = facts.status == nullptr ? facts.hostname : facts.status->node;
  const bool has_query = facts.fleet_url.find('?') != std::string_view::npos;
  return absl::StrFormat("<a href=\"%s%snode=%s\">Fleet</a> ", EscapeHtml(facts.fleet_url),
                         has_query ? "&amp;" : "?", PercentEncode(node));
}

void AppendHeader(const StatusPageFacts& facts, const std::string& counts, std::string& page) {
  absl::StrAppendFormat(
      &page,
      "<header><h1>podgpu on %s</h1><p id=\"counts\">%s</p>"
      "<p id=\"age\">%s</p><button id=\"pause\" type=\"button\" "
      "aria-pressed=\"false\" hidden>Pause</button><nav aria-label=\"podgpu\">"
      "%s%s</nav></header>\n"
      "<p id=\"notice\" role=\"alert\" hidden></p>\n",
      EscapeHtml(facts.hostname), EscapeHtml(counts),
      facts.status == nullptr ? "no sample yet" : AgeWords(*facts.status, facts.now_ms),
      FleetLink(facts), kLinks);
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
                          EscapeHtml(ReasonWords(status, missing)));
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
    absl::StrAppendFormat(
        &page, "<tr><th scope=\"row\">%s</th><td class=\"%s\">%s</td><td>%s</td></tr>\n",
        EscapeHtml(part.part), state, state, EscapeHtml(DetailWords(status, part)));
  }
  page += "</tbody></table>\n";
}

// Without a GPU, the verdict stands in place of a table of dashes: what podgpu waits for, or that
// this node has none.
void AppendVerdict(const NodeStatus* status, std::string& page) {
  const bool is_empty = status == nullptr || status->gpus.empty();
  absl::StrAppendFormat(&page, "<p%s<span id=\"verdict\">%s</span></p>\n",
                        is_empty ? " id=\"nothing\">No GPU to show: " : ">",
                        EscapeHtml(VerdictWords(status)));
}

void AppendLinks(const StatusPageFacts& facts, std::string& page) {
  page += "<p class=\"paths\">Other paths:";
  for (const std::string_view path : facts.paths) {
    if (kLinks.find(absl::StrFormat(".%s\"", path)) != std::string_view::npos) {
      continue;
    }
    absl::StrAppendFormat(&page, " <a href=\".%s\">%s</a>", path, path);
  }
  page += "</p>\n";
}

}  // namespace

std::string RenderStatusPage(const StatusPageFacts& facts) {
  const std::string counts =
      facts.status == nullptr ? std::string("starting") : CountWords(*facts.status);
  std::string page = HtmlHead(absl::StrFormat("%s - %s - podgpu", counts, facts.hostname),
                              "<script type=\"module\" src=\"./assets/node.js\"></script>");
  AppendHeader(facts, counts, page);
  page += "<main id=\"page\">\n";
  AppendVerdict(facts.status, page);
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
