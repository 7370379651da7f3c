#include <charconv>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "base/text.h"
#include "base/version.h"
#include "cli/machine_options.h"
#include "cli/metric_list.h"
#include "doctor/checks.h"
#include "doctor/endpoint.h"
#include "doctor/words.h"
#include "http/listen.h"
#include "http/web_front.h"

namespace podgpu {
namespace {

// Two requests fit into the time of a check.
constexpr std::chrono::milliseconds kPatience{900};
constexpr int kGood = 200;

Status Complete(Session& session, NodeCommand& node, std::string& counters,
                std::vector<std::string>& warnings) {
  node.counters.patience = kPatience;
  MetricList list(node, nullptr, session.seams.files, session.seams.clock);
  StatusOr<Counters> selected = list.Load();
  PODGPU_RETURN_IF_ERROR(selected.status());
  warnings = list.warnings();
  counters = absl::StrFormat("%s, %s", selected->path, Counted(selected->counters.size(), "line"));
  TakeCounters(node, *std::move(selected), warnings, session.seams.clock.WallNow());
  const Machine machine = {session.seams.environment, session.seams.system.hostname,
                           session.seams.system.pid, session.seams.files};
  const bool wants_socket = std::exchange(node.systemd_socket, false);  // It is not ours.
  PODGPU_RETURN_IF_ERROR(TakeMachine(node, machine));
  node.systemd_socket = wants_socket;
  const HttpServerOptions& http = node.exporter.http;
  return WebFront::Check(http.web_config_file, http.files);
}

// A number of the page; 0 when it has none.
double NumberOf(const std::string& page, std::string_view key) {
  const std::string text = ValueOf(page, key);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

size_t SeriesIn(std::string_view page) {
  size_t series = 0;
  for (const std::string_view line : Split(page, '\n')) {
    series += !line.empty() && !line.starts_with('#') ? 1U : 0U;
  }
  return series;
}

// The version in podgpu_build_info; empty when the page has none.
std::string VersionIn(std::string_view page) {
  constexpr std::string_view kBuildInfo = "podgpu_build_info{";
  constexpr std::string_view kVersionLabel = "version=\"";
  const size_t line = page.find(kBuildInfo);
  const size_t label = line == std::string_view::npos ? line : page.find(kVersionLabel, line);
  if (label == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = page.substr(label + kVersionLabel.size());
  return std::string(rest.substr(0, rest.find('"')));
}

Finding Taken(const Session& session, const ListenAddress& address, std::string_view what) {
  const std::string owner =
      FindPortOwner(session.seams.files, address.port).value_or("another program");
  return {.severity = Severity::kWarn,
          .fact = absl::StrFormat("%s is taken by %s, %s", ToString(address), owner, what),
          .lose = {"page"},
          .remedy = "stop that program, or choose another port: --address :9402",
          .change = "a free port",
          .blocks = true};
}

// Returns the finding about a running podgpu, from its own status.
Finding Running(Session& session, Endpoint& endpoint, const ListenAddress& address,
                const HttpAnswer& status) {
  EndpointFacts facts{.is_podgpu = true, .status_json = status.body};
  boost::json::error_code error;
  const boost::json::value json = boost::json::parse(status.body, error);
  const boost::json::object* object = error ? nullptr : json.if_object();
  if (object == nullptr || !object->contains("verdict") || !object->contains("ready")) {
    return Taken(session, address, "which is not podgpu");
  }
  facts.is_ready = object->at("ready").is_bool() && object->at("ready").get_bool();
  facts.verdict =
      object->at("verdict").is_string() ? std::string(object->at("verdict").get_string()) : "";
  const StatusOr<HttpAnswer> page = endpoint.Get(session.node().exporter.routes.metrics_path.empty()
                                                     ? "/metrics"
                                                     : session.node().exporter.routes.metrics_path);
  facts.metrics = page.ok() && page->status == kGood ? page->body : "";
  facts.version = VersionIn(facts.metrics);
  Finding finding = Finding::Ok(absl::StrFormat(
      "%s answers: podgpu %s, %s", ToString(address),
      facts.version.empty() ? "of an unknown version" : facts.version, facts.verdict));
  session.endpoint.Set(std::make_shared<const EndpointFacts>(std::move(facts)));
  return finding;
}

// Returns the finding about an exporter with users: the configuration has only the hashes of their
// passwords.
Finding NeedsPassword(const Session& session, const ListenAddress& address) {
  if (session.seams.authorization.empty()) {
    Finding finding = Finding::Ok(ToString(address) +
                                  " is served and asks for a password (--node-web-config has one)");
    finding.blocks = true;
    return finding;
  }
  return {.severity = Severity::kWarn,
          .fact = ToString(address) + " refuses the password of --node-web-config (401)",
          .lose = {"page"},
          .remedy = "correct basic_auth in the file of --node-web-config",
          .change = "the exporter's password",
          .blocks = true};
}

Finding NobodyThere(const ListenAddress& address) {
  Finding finding = Finding::Ok(ToString(address) + " is free; no exporter runs there");
  finding.blocks = true;
  return finding;
}

}  // namespace

void ReadConfiguration(Session& session) {
  ConfigFacts facts{.node = session.command()};
  facts.status = Complete(session, facts.node, facts.counters, facts.warnings);
  session.config.Set(std::make_shared<const ConfigFacts>(std::move(facts)));
}

Finding CheckConfigFiles(Session& session) {
  const std::shared_ptr<const ConfigFacts> facts = session.config.Get();
  if (facts == nullptr) {
    return {.severity = Severity::kWarn,
            .fact = "the list of metrics has not been read for 2 s",
            .lose = {"reload"},
            .remedy =
                "look at the file system of --collectors, or at the API server of "
                "--configmap-data",
            .blocks = true};
  }
  if (!facts->status.ok()) {
    Finding finding = Failed(Severity::kFail, facts->status, {"device_metrics"},
                             "correct the line or the flag that is named here");
    finding.change = "a configuration with which podgpu starts";
    finding.is_configuration = true;
    return finding;
  }
  const std::string& web = facts->node.exporter.http.web_config_file;
  Finding finding = Finding::Ok(
      absl::StrFormat("%s; %s", facts->counters,
                      web.empty() ? "no web configuration" : "web configuration " + web));
  for (const std::string& warning : facts->warnings) {
    finding.severity = Severity::kNote;
    finding.evidence.emplace_back("warning", warning);
  }
  if (!facts->warnings.empty()) {
    finding.fact += "; " + facts->warnings.front();
    finding.lose = {"reload"};
  }
  return finding;
}

Finding CheckConfigFields(Session& session) {
  const std::vector<const Field*>& asked = session.node().source.fields;
  const std::shared_ptr<const DriverFacts> driver = session.driver.Get();
  if (driver == nullptr || session.NamesEngine()) {
    return Finding::Ok(absl::StrFormat("%d asked for", asked.size()));
  }
  Finding finding = Finding::Ok(absl::StrFormat("%d asked for, %d of them in NVML", asked.size(),
                                                asked.size() - driver->lacked.size()));
  for (const std::string& name : driver->lacked) {
    finding.evidence.emplace_back("not in NVML", name);
  }
  return finding;
}

Finding CheckListen(Session& session) {
  const HttpServerOptions& http = session.command().exporter.http;
  if (session.command().systemd_socket) {
    Finding finding = Finding::Skip("systemd hands over the socket");
    finding.blocks = true;
    return finding;
  }
  const StatusOr<ListenAddress> address = ParseListenAddress(http.address);
  if (!address.ok()) {
    Finding finding = Failed(Severity::kFail, address.status(), {"page"},
                             "give --address as host:port, :port, [v6]:port or unix:/path");
    finding.is_configuration = true;
    return finding;
  }
  Endpoint endpoint(*address, session.seams.authorization, session.seams.clock, kPatience);
  const StatusOr<HttpAnswer> status = endpoint.Get("/api/v1/status");
  if (status.ok() && status->status == kGood) {
    return Running(session, endpoint, *address, *status);
  }
  constexpr int kUnauthorized = 401;
  if (status.ok() && status->status == kUnauthorized) {
    return NeedsPassword(session, *address);
  }
  if (endpoint.uses_tls() && status.status().code() == absl::StatusCode::kUnauthenticated) {
    Finding finding = Finding::Ok(ToString(*address) + " is served to clients with a certificate");
    finding.blocks = true;
    return finding;
  }
  if (status.status().code() == absl::StatusCode::kUnavailable) {
    return NobodyThere(*address);
  }
  return Taken(session, *address,
               status.ok() ? absl::StrFormat("which answers %d and is not podgpu", status->status)
                           : "which does not speak HTTP");
}

Finding CheckSelfCost(Session& session) {
  const std::shared_ptr<const EndpointFacts> facts = session.endpoint.Get();
  if (facts == nullptr || facts->metrics.empty()) {
    return Finding::Skip("the running exporter shows no page here");
  }
  constexpr double kMebibyte = 1024.0 * 1024.0;
  constexpr double kPercent = 100;
  const double age = static_cast<double>(ToMicroseconds(session.seams.clock.WallNow())) / 1e6 -
                     NumberOf(facts->metrics, "process_start_time_seconds");
  const double cpu = NumberOf(facts->metrics, "process_cpu_seconds_total");
  return Finding::Ok(
      absl::StrFormat("%.1f MiB resident, %.2f %% of a core, %d series",
                      NumberOf(facts->metrics, "process_resident_memory_bytes") / kMebibyte,
                      age > 1 ? cpu / age * kPercent : 0, SeriesIn(facts->metrics)));
}

}  // namespace podgpu
