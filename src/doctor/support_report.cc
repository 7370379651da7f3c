#include "doctor/support_report.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <memory>
#include <stop_token>
#include <utility>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "base/text.h"
#include "doctor/endpoint.h"
#include "doctor/json_form.h"
#include "doctor/text_form.h"
#include "http/listen.h"

namespace podgpu {
namespace {

constexpr std::chrono::milliseconds kBetween{10'000};
constexpr std::chrono::milliseconds kReportPatience{2'000};

// Characters of the names of pods and namespaces.
bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
}

// Names in "namespace/pod" and "namespace/pod/container" as the status of the exporter has them.
void AddOwners(std::string_view owners, NameVeil& veil) {
  for (const std::string_view owner : Split(owners, ',')) {
    const std::vector<std::string_view> parts = Split(Trim(owner), '/');
    if (parts.size() > 1) {
      veil.AddNamespace(std::string(parts[0]));
      veil.AddPod(std::string(parts[1]));
    }
  }
}

void AddNamesInStatus(const std::string& status_json, NameVeil& veil) {
  boost::json::error_code error;
  const boost::json::value status = boost::json::parse(status_json, error);
  const boost::json::object* const object = error ? nullptr : status.if_object();
  const boost::json::value* const devices =
      object == nullptr ? nullptr : object->if_contains("devices");
  if (devices == nullptr || !devices->is_array()) {
    return;
  }
  for (const boost::json::value& device : devices->get_array()) {
    const boost::json::value* const owners =
        device.is_object() ? device.get_object().if_contains("owners") : nullptr;
    if (owners != nullptr && owners->is_string()) {
      AddOwners(owners->get_string(), veil);
    }
  }
}

NameVeil VeilFor(const Session& session) {
  NameVeil veil;
  const OwnPod& own = session.node().exporter.join.ignored.own;
  veil.AddPod(own.name);
  veil.AddNamespace(own.name_space);
  if (const std::shared_ptr<const PodAllocations> pods = session.pods.Get()) {
    for (const Allocation& allocation : pods->allocations) {
      veil.AddPod(allocation.pod);
      veil.AddNamespace(allocation.pod_namespace);
    }
    for (const ClaimedDevice& device : pods->claimed) {
      veil.AddPod(device.pod);
      veil.AddNamespace(device.pod_namespace);
    }
  }
  if (const std::shared_ptr<const EndpointFacts> endpoint = session.endpoint.Get()) {
    AddNamesInStatus(endpoint->status_json, veil);
  }
  return veil;
}

std::string SettingsIn(const DoctorCommand& command) {
  std::string text;
  for (const GivenSetting& setting : command.settings) {
    absl::StrAppendFormat(&text, "%s=%s\n", setting.name, WithoutPassword(setting.value));
  }
  return text.empty() ? "no flag and no variable is given\n" : text;
}

// Reads the page at intervals until the time is over.
std::string MetricsOverTime(const DoctorCommand& command, Session& session) {
  const std::shared_ptr<const EndpointFacts> facts = session.endpoint.Get();
  const StatusOr<ListenAddress> address = ParseListenAddress(session.node().exporter.http.address);
  if (facts == nullptr || !address.ok()) {
    return "no exporter answers\n";
  }
  Clock& clock = session.seams.clock;
  const Instant begin = clock.Now();
  const std::stop_source never;
  std::string text = "# after 0 s\n" + SelfMetricsIn(facts->metrics);
  for (Instant next = begin + kBetween; next <= begin + command.report_for; next += kBetween) {
    clock.WaitUntil(next, never.get_token());
    Endpoint endpoint(*address, session.seams.authorization, clock, kReportPatience);
    const StatusOr<HttpAnswer> page = endpoint.Get("/metrics");
    absl::StrAppendFormat(
        &text, "# after %d s\n%s",
        std::chrono::duration_cast<std::chrono::seconds>(next - begin).count(),
        page.ok() ? SelfMetricsIn(page->body) : std::string(page.status().message()) + "\n");
  }
  return text;
}

void Append(std::string& out, std::string_view title, std::string_view text) {
  absl::StrAppendFormat(&out, "== %s\n%s%s\n", title, text, text.ends_with('\n') ? "" : "\n");
}

}  // namespace

void NameVeil::AddPod(const std::string& pod) {
  if (!pod.empty() && !names_.contains(pod)) {
    names_[pod] = absl::StrFormat("pod-%d", ++pods_);
  }
}

void NameVeil::AddNamespace(const std::string& name_space) {
  if (!name_space.empty() && !names_.contains(name_space)) {
    names_[name_space] = absl::StrFormat("namespace-%d", ++namespaces_);
  }
}

std::string NameVeil::Over(std::string_view text) const {
  std::string out;
  while (!text.empty()) {
    const auto end = std::ranges::find_if_not(text, IsNameCharacter);
    const auto length = static_cast<size_t>(end - text.begin());
    if (length == 0) {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    const std::string word(text.substr(0, length));
    const auto known = names_.find(word);
    out += known == names_.end() ? word : known->second;
    text.remove_prefix(length);
  }
  return out;
}

std::string WithoutPassword(std::string_view value) {
  const size_t scheme = value.find("://");
  const size_t at = value.find('@');
  if (at == std::string_view::npos) {
    return std::string(value);
  }
  const size_t begin = scheme == std::string_view::npos || scheme > at ? 0 : scheme + 3;
  return std::string(value.substr(0, begin)) + "..." + std::string(value.substr(at));
}

std::string SelfMetricsIn(std::string_view page) {
  std::string lines;
  for (const std::string_view line : Split(page, '\n')) {
    const bool is_ours = line.starts_with("process_") || line.starts_with("podgpu_");
    const bool is_about_pods = line.find("pod=\"") != std::string_view::npos ||
                               line.find("namespace=\"") != std::string_view::npos;
    if (is_ours && !is_about_pods) {
      lines += std::string(line) + "\n";
    }
  }
  return lines;
}

StatusOr<std::string> WriteSupportReport(const DoctorCommand& command, Session& session,
                                         const DoctorResult& result) {
  const std::string named = command.report.value_or("");
  const std::string path =
      named.empty() ? absl::StrFormat("podgpu-report-%s.txt", result.host) : named;
  const std::shared_ptr<const EndpointFacts> endpoint = session.endpoint.Get();
  std::string out;
  Append(out, "versions",
         absl::StrFormat("podgpu %s\nrunning exporter %s\n", result.version,
                         endpoint == nullptr ? "none answers" : endpoint->version));
  Append(out, "configuration", SettingsIn(command));
  Append(out, "checks", AsText(result, {.verbose = true}));
  Append(out, "checks as JSON", AsJson(result));
  Append(out, "states of the running exporter",
         endpoint == nullptr ? "no exporter answers" : endpoint->status_json);
  Append(out, "metrics of the running exporter about itself", MetricsOverTime(command, session));
  if (!command.report_pods) {
    out = VeilFor(session).Over(out);
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << out;
  file.close();
  if (!file) {
    return absl::PermissionDeniedError(
        path + ": the report cannot be written there. Name another file: --report=FILE");
  }
  return path;
}

}  // namespace podgpu
