#include "ui/status_page.h"

#include "absl/strings/str_format.h"

#include "ui/html.h"

namespace podgpu {
namespace {

void AppendParts(const Condition& condition, std::string& page) {
  page +=
      "<table><caption>Parts</caption><tr><th scope=\"col\">Part</th><th scope=\"col\">State</th>"
      "<th scope=\"col\">Detail</th></tr>\n";
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
      "<th scope=\"col\">PCI bus</th><th scope=\"col\">Explain</th></tr>\n";
  for (const DeviceCondition& device : condition.devices) {
    absl::StrAppendFormat(
        &page,
        "<tr><th scope=\"row\">%d</th><td class=\"%s\">%s</td><td>%s</td><td>%s</td>"
        "<td>%s</td><td>%s</td><td><a href=\"./explain?gpu=%d\">why</a></td></tr>\n",
        device.gpu_id, EscapeHtml(device.state), EscapeHtml(device.state),
        EscapeHtml(device.owners), EscapeHtml(device.model), EscapeHtml(device.uuid),
        EscapeHtml(device.pci_bus_id), device.gpu_id);
  }
  page += "</table>\n";
}

std::string_view VerdictOf(const StatusPageFacts& facts) {
  return facts.condition == nullptr ? std::string_view("starting: the first page is not ready yet")
                                    : std::string_view(facts.condition->verdict);
}

}  // namespace

std::string StatusText(const StatusPageFacts& facts) {
  std::string text =
      absl::StrFormat("podgpu %s on %s: %s\n\n", facts.version, facts.hostname, VerdictOf(facts));
  if (facts.condition != nullptr) {
    for (const PartCondition& part : facts.condition->parts) {
      absl::StrAppendFormat(&text, "%-16s  %-12s  %s\n", part.part, PartStateName(part.state),
                            part.detail);
    }
    for (const DeviceCondition& device : facts.condition->devices) {
      absl::StrAppendFormat(&text, "%-16s  %-12s  %s  %s  %s  %s\n",
                            absl::StrFormat("GPU %d", device.gpu_id), device.state, device.owners,
                            device.model, device.uuid, device.pci_bus_id);
    }
    text += "\n";
  }
  absl::StrAppendFormat(&text, "%d series on /metrics; other paths:", facts.series);
  for (const std::string_view path : facts.paths) {
    text += path == "/metrics" ? "" : " " + std::string(path);
  }
  return text + "\n";
}

std::string RenderStatusPage(const StatusPageFacts& facts) {
  const std::string_view verdict = VerdictOf(facts);
  std::string page = HtmlHead(absl::StrFormat("%s - %s - podgpu", verdict, facts.hostname));
  absl::StrAppendFormat(&page, "<h1>podgpu on %s</h1>\n<p>%s</p>\n<p>", EscapeHtml(facts.hostname),
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
