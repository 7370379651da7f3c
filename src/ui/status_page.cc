#include "ui/status_page.h"

#include <array>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

constexpr std::string_view kStyle =
    "body{font:14px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;"
    "color:#1a2027;background:#fff}"
    "table{border-collapse:collapse;margin:.5em 0 1.5em}caption{text-align:left;font-weight:600}"
    "th,td{text-align:left;padding:.2em 1em .2em 0;border-bottom:1px solid "
    "#87919c;vertical-align:top}"
    "a{color:#0b62c4}.ok{color:#1b6e3c}.degraded,.waiting,.starting,.recovering{color:#8a5a00}"
    ".lost,.unresponsive{color:#b3261e}"
    "@media(prefers-color-scheme:dark){body{color:#e4e8ec;background:#10151b}a{color:#6cb2ff}"
    ".ok{color:#5fd38d}.degraded,.waiting,.starting,.recovering{color:#e0a92e}"
    ".lost,.unresponsive{color:#ff8a80}}";

void AppendParts(const Condition& condition, std::string& page) {
  page +=
      "<table><caption>Parts</caption><tr><th scope=\"col\">Part</th><th scope=\"col\">State</th>"
      "<th scope=\"col\">What is</th></tr>\n";
  for (const PartCondition& part : condition.parts) {
    const std::string_view state = PartStateName(part.state);
    absl::StrAppendFormat(&page,
                          "<tr><th scope=\"row\">%s</th><td class=\"%s\">%s</td><td>%s</td></tr>\n",
                          EscapeHtml(part.part), state, state, EscapeHtml(part.detail));
  }
  page += "</table>\n";
}

void AppendDevices(const Condition& condition, std::string& page) {
  if (condition.devices.empty()) {
    return;
  }
  page +=
      "<table><caption>Devices</caption><tr><th scope=\"col\">GPU</th><th scope=\"col\">State</th>"
      "<th scope=\"col\">Owner</th><th scope=\"col\">Model</th><th scope=\"col\">UUID</th>"
      "<th scope=\"col\">PCI bus</th></tr>\n";
  for (const DeviceCondition& device : condition.devices) {
    absl::StrAppendFormat(
        &page,
        "<tr><th scope=\"row\">%d</th><td class=\"%s\">%s</td><td>%s</td><td>%s</td>"
        "<td>%s</td><td>%s</td></tr>\n",
        device.gpu_id, EscapeHtml(device.state), EscapeHtml(device.state),
        EscapeHtml(device.owners), EscapeHtml(device.model), EscapeHtml(device.uuid),
        EscapeHtml(device.pci_bus_id));
  }
  page += "</table>\n";
}

}  // namespace

std::string_view PartStateName(PartState state) {
  constexpr std::array<std::string_view, kPartStateCount> kNames = {
      "starting", "waiting", "ok", "degraded", "unresponsive", "recovering"};
  return kNames[static_cast<size_t>(state)];
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string RenderStatusPage(const StatusPageFacts& facts) {
  const std::string_view verdict = facts.condition == nullptr
                                       ? "starting: no tick has ended yet"
                                       : std::string_view(facts.condition->verdict);
  std::string page = absl::StrFormat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s - %s - "
      "podgpu</title>"
      "<style>%s</style></head>\n<body>\n<h1>podgpu on %s</h1>\n<p>%s</p>\n<p>",
      EscapeHtml(verdict), EscapeHtml(facts.hostname), kStyle, EscapeHtml(facts.hostname),
      EscapeHtml(verdict));
  for (const std::string_view path : facts.paths) {
    absl::StrAppendFormat(&page, "<a href=\".%s\">%s</a> ", path, path);
  }
  page += "</p>\n";
  if (facts.condition != nullptr) {
    AppendParts(*facts.condition, page);
    AppendDevices(*facts.condition, page);
  }
  absl::StrAppendFormat(&page, "<p>%d series on /metrics, podgpu %s</p>\n</body></html>\n",
                        facts.series, EscapeHtml(facts.version));
  return page;
}

}  // namespace podgpu
