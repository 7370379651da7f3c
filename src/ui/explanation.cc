#include "ui/explanation.h"

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "ui/html.h"

namespace podgpu {
namespace {

// Returns for example "GPU 3" or "GPU 4, MIG instance 7 (1g.10gb)".
std::string NameOf(const ExplainedDevice& device) {
  std::string name = absl::StrFormat("GPU %d", device.gpu_id);
  if (device.gpu_instance_id) {
    absl::StrAppendFormat(&name, ", MIG instance %d (%s)", *device.gpu_instance_id, device.profile);
  }
  return name;
}

boost::json::object JsonOf(const ExplainedDevice& device) {
  boost::json::object object;
  object["gpu"] = device.gpu_id;
  if (device.gpu_instance_id) {
    object["gpu_instance_id"] = *device.gpu_instance_id;
    object["profile"] = device.profile;
  }
  object["uuid"] = device.uuid;
  object["model"] = device.model;
  object["pci_bus_id"] = device.pci_bus_id;
  boost::json::array& steps = object["steps"].emplace_array();
  for (const ExplainedStep& step : device.steps) {
    steps.push_back({{"step", step.name}, {"state", step.state}, {"detail", step.detail}});
  }
  object["remedy"] = device.remedy;
  if (!device.condition.empty()) {
    object["condition"] = device.condition;
  }
  return object;
}

void AppendDeviceHtml(const ExplainedDevice& device, std::string& page) {
  absl::StrAppendFormat(&page, "<table><caption>%s, %s, %s, %s%s</caption>\n",
                        EscapeHtml(NameOf(device)), EscapeHtml(device.uuid),
                        EscapeHtml(device.model), EscapeHtml(device.pci_bus_id),
                        device.condition.empty() ? "" : ", " + EscapeHtml(device.condition));
  page +=
      "<tr><th scope=\"col\">Step</th><th scope=\"col\">State</th><th "
      "scope=\"col\">Detail</th></tr>\n";
  for (const ExplainedStep& step : device.steps) {
    absl::StrAppendFormat(&page,
                          "<tr><th scope=\"row\">%s</th><td class=\"%s\">%s</td><td>%s</td></tr>\n",
                          step.name, step.state, step.state, EscapeHtml(step.detail));
  }
  page += "</table>\n";
  if (!device.remedy.empty()) {
    absl::StrAppendFormat(&page, "<p>What helps: %s</p>\n", EscapeHtml(device.remedy));
  }
}

}  // namespace

std::string ExplanationText(const Explanation& explanation) {
  std::string text;
  for (const ExplainedDevice& device : explanation.devices) {
    absl::StrAppendFormat(&text, "%s  %s  %s  %s%s\n", NameOf(device), device.uuid, device.model,
                          device.pci_bus_id,
                          device.condition.empty() ? "" : "  " + device.condition);
    size_t number = 0;
    for (const ExplainedStep& step : device.steps) {
      absl::StrAppendFormat(&text, "%d %-10s  %-12s  %s\n", ++number, step.name, step.state,
                            step.detail);
    }
    if (!device.remedy.empty()) {
      absl::StrAppendFormat(&text, "What helps: %s\n", device.remedy);
    }
    text += "\n";
  }
  for (const std::string& note : explanation.notes) {
    absl::StrAppendFormat(&text, "%s\n", note);
  }
  return text;
}

std::string ExplanationHtml(const Explanation& explanation, std::string_view hostname) {
  std::string page = HtmlHead(absl::StrFormat("explain - %s - podgpu", hostname));
  absl::StrAppendFormat(&page, "<h1>Why the rows of %s look as they do</h1>\n",
                        EscapeHtml(hostname));
  page += "<p><a href=\"./\">status</a> <a href=\"./explain\">all devices</a></p>\n";
  for (const ExplainedDevice& device : explanation.devices) {
    AppendDeviceHtml(device, page);
  }
  for (const std::string& note : explanation.notes) {
    absl::StrAppendFormat(&page, "<p>%s</p>\n", EscapeHtml(note));
  }
  return page + "</body></html>\n";
}

std::string ExplanationJson(const Explanation& explanation) {
  boost::json::object object;
  boost::json::array& devices = object["devices"].emplace_array();
  for (const ExplainedDevice& device : explanation.devices) {
    devices.push_back(JsonOf(device));
  }
  boost::json::array& notes = object["notes"].emplace_array();
  for (const std::string& note : explanation.notes) {
    notes.emplace_back(note);
  }
  return boost::json::serialize(object) + "\n";
}

}  // namespace podgpu
