#include "cluster/cluster.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "cluster/cluster_routes.h"
#include "cluster/metrics_feed.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortestWithdrawal{60'000};
constexpr int kIntervalsUntilWithdrawn = 4;
constexpr milliseconds kHistoryDeadline{30'000};

ClusterTickOptions ClusterTickOptionsOf(const ClusterOptions& options) {
  ClusterTickOptions tick = options.tick;
  if (tick.withdraw_after == milliseconds(0)) {
    tick.withdraw_after =
        std::max(options.poller.pace.interval * kIntervalsUntilWithdrawn, kShortestWithdrawal);
  }
  return tick;
}

PrometheusOptions PrometheusOptionsOf(const ClusterOptions& options) {
  PrometheusOptions prometheus = options.prometheus;
  prometheus.interval = options.poller.pace.interval;
  prometheus.client.deadline = options.poller.client.deadline;
  prometheus.meaning = options.tick.in_use;
  return prometheus;
}

// A day of thousands of GPUs takes Prometheus seconds; only a thread of its own waits for it.
PrometheusClientOptions HistoryOptionsOf(const ClusterOptions& options) {
  PrometheusClientOptions history = PrometheusOptionsOf(options).of_client();
  history.client.deadline = std::max(history.client.deadline, kHistoryDeadline);
  return history;
}

// Checks the file with the credentials for servers; `path` may be empty. `wants_tls`: the file may
// configure TLS. `is_tls`: TLS is used even if the file does not configure it.
Status CheckAccess(const std::string& path, const Files& files, bool wants_tls, bool is_tls) {
  if (path.empty()) {
    return absl::OkStatus();
  }
  PODGPU_ASSIGN_OR_RETURN(NodeWebAccess access, ReadNodeWebConfig(path, files));
  const Status usable = HttpClient({}).UseTls(access.tls ? &*access.tls : nullptr);
  if (!usable.ok()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: tls_config: %s. Name PEM files", path, usable.message()));
  }
  if (access.tls && !wants_tls) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: tls_config is not used with http://. Write https:// in --in-use-prometheus", path));
  }
  if (is_tls && !access.tls) {
    access.tls.emplace();
  }
  return CheckSecrecy(access, path);
}

// A bad file at the start is a configuration mistake and stops the program.  Later the previous
// nodes stay.
Status CheckNodeFile(const NodesOption& nodes, const Files& files) {
  if (nodes.kind != NodesOption::Kind::kFile) {
    return absl::OkStatus();
  }
  const StatusOr<std::string> text = files.Read(nodes.path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--nodes: %s. Mount the file, with one address a line", text.status().message()));
  }
  return ParseNodeFile(*text, nodes.path).status();
}

}  // namespace

Cluster::Cluster(const ClusterOptions& options, const ClusterSeams& seams)
    : clock_(seams.clock),
      discovery_(options.nodes, seams.files, seams.resolve, clock_,
                 [this] {
                   poller_.Nudge();
                   wakeup_.Nudge();
                 }),
      poller_(options.poller, discovery_.nodes(), seams.files, clock_, wakeup_),
      prometheus_(PrometheusOptionsOf(options), seams.files, seams.resolve, clock_, wakeup_),
      history_(HistoryOptionsOf(options), seams.files, seams.resolve, clock_),
      labels_(options.groups, seams.files, clock_, [this] { wakeup_.Nudge(); }),
      windows_(MetricsWindowOf(options.metrics_api.window, options.tick.in_use),
               !options.metrics_api.address.empty()),
      tick_(ClusterTickOptionsOf(options),
            {poller_.fleet(), discovery_.nodes(),
             options.prometheus.url ? &prometheus_.reading() : nullptr,
             options.groups.keys.empty() ? nullptr : &labels_.labels(),
             options.prometheus.url ? &history_ : nullptr, &windows_},
            clock_, wakeup_) {}

StatusOr<std::unique_ptr<Cluster>> Cluster::Start(const ClusterOptions& options,
                                                  const ClusterSeams& seams) {
  PODGPU_RETURN_IF_ERROR(CheckNodeFile(options.nodes, seams.files));
  PODGPU_RETURN_IF_ERROR(CheckAccess(options.poller.node_web_config, seams.files, true, false));
  const bool is_https = options.prometheus.url && options.prometheus.url->is_tls;
  PODGPU_RETURN_IF_ERROR(
      CheckAccess(options.prometheus.web_config, seams.files, is_https, is_https));
  // Private constructor: make_unique cannot reach it.
  std::unique_ptr<Cluster> cluster(
      new Cluster(options, seams));  // NOLINT(cppcoreguidelines-owning-memory)
  if (!options.metrics_api.address.empty()) {
    PODGPU_ASSIGN_OR_RETURN(cluster->metrics_api_,
                            MetricsApi::Start(options.metrics_api, options.http, cluster->windows_,
                                              seams.files, cluster->clock_));
    cluster->tick_.Watch(*cluster->metrics_api_);
  }
  cluster->tick_.Once();
  PODGPU_ASSIGN_OR_RETURN(
      cluster->http_,
      HttpServer::Start(
          options.http,
          MakeClusterRoutes(
              cluster->tick_, cluster->clock_,
              {.links = options.links,
               .history = options.prometheus.url ? &cluster->history_ : nullptr,
               .matchers = options.prometheus.matchers,
               .windows = options.nodes.kind == NodesOption::Kind::kNone ? nullptr
                                                                         : &cluster->windows_})));
  if (!options.in_use_address.empty()) {
    HttpServerOptions in_use = options.http;
    in_use.address = options.in_use_address;
    PODGPU_ASSIGN_OR_RETURN(cluster->in_use_http_,
                            HttpServer::Start(in_use, MakeInUseRoutes(cluster->tick_)));
  }
  Cluster& started = *cluster;
  started.discovery_thread_.Start(
      [&started](const std::stop_token& stop) { started.discovery_.Run(stop); }, "discovery");
  started.poller_thread_.Start(
      [&started](const std::stop_token& stop) { started.poller_.Run(stop); }, "nodes");
  started.prometheus_thread_.Start(
      [&started](const std::stop_token& stop) { started.prometheus_.Run(stop); }, "prometheus");
  started.history_thread_.Start(
      [&started](const std::stop_token& stop) { started.history_.Run(stop); }, "history");
  started.labels_thread_.Start(
      [&started](const std::stop_token& stop) { started.labels_.Run(stop); }, "node-labels");
  started.tick_thread_.Start([&started](const std::stop_token& stop) { started.tick_.Run(stop); },
                             "tick");
  return cluster;
}

bool Cluster::Stop(milliseconds patience) {
  http_.reset();
  in_use_http_.reset();
  if (metrics_api_ != nullptr) {
    metrics_api_->RequestStop();
  }
  Worker* const workers[] = {&tick_thread_,       &discovery_thread_, &poller_thread_,
                             &prometheus_thread_, &history_thread_,   &labels_thread_};
  for (Worker* worker : workers) {
    worker->RequestStop();
  }
  const Instant deadline = SystemClock().Now() + patience;
  bool all_ended = true;
  for (Worker* worker : workers) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - SystemClock().Now());
    all_ended = worker->JoinWithin(std::max(left, milliseconds(0))) && all_ended;
  }
  if (metrics_api_ != nullptr) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - SystemClock().Now());
    all_ended = metrics_api_->JoinWithin(std::max(left, milliseconds(0))) && all_ended;
  }
  if (!all_ended) {
    Log(LogLevel::kWarn, "name lookup hangs; stopping without waiting for it");
  }
  return all_ended;
}

Cluster::~Cluster() {
  constexpr std::chrono::hours kForEver{24 * 365};
  Stop(kForEver);
}

}  // namespace podgpu
