#include "metrics_api/serving/metrics_api.h"

#include <algorithm>

#include "base/log.h"

namespace podgpu {
namespace {

// Callers wait for reviews, so these requests have a shorter deadline than their own.
ApiServerOptions ServerForReviews(ApiServerOptions server) {
  constexpr std::chrono::milliseconds kReviewPatience{4'000};
  server.request_patience = kReviewPatience;
  return server;
}

}  // namespace

MetricsApi::MetricsApi(const MetricsApiOptions& options, const WindowTables& tables,
                       const Files& files, Clock& clock)
    : files_(files),
      clock_(clock),
      tables_(tables),
      callers_(options.server, options.seed, files, clock),
      pod_labels_(options.server, options.seed + 1, files, clock),
      reviewer_(ServerForReviews(options.server), {}, files, clock),
      handler_({.table = tables_.newest(),
                .trusted = callers_.trusted(),
                .pod_labels = pod_labels_,
                .reviewer = reviewer_,
                .clock = clock_,
                .tally = tally_,
                .judge = [this] { return JudgeMetricsApi(Facts()); },
                .window_s = options.window.length.count() / 1'000}) {
  if (!options.window.label_keys.empty()) {
    node_labels_ = std::make_unique<NodeLabelWatch>(options.server, options.window.label_keys,
                                                    options.seed + 2, files, clock);
  }
}

Status MetricsApi::MakeTls(const MetricsApiOptions& options) {
  if (!options.certificate_file.empty()) {
    PODGPU_ASSIGN_OR_RETURN(
        tls_, ServingTls::OfFiles(options.certificate_file, options.key_file, files_));
    return absl::OkStatus();
  }
  PODGPU_CHECK(options.service.has_value());
  const int64_t now_s = ToMicroseconds(clock_.WallNow()) / 1'000'000;
  PODGPU_ASSIGN_OR_RETURN(ServingPair pair, MakeServingPair(*options.service, now_s));
  authority_ = std::make_unique<AuthorityWriter>(*options.service, options.server, std::move(pair),
                                                 files_, clock_);
  PODGPU_ASSIGN_OR_RETURN(tls_, ServingTls::OfPair(authority_->pair(), files_));
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<MetricsApi>> MetricsApi::Start(const MetricsApiOptions& options,
                                                        const HttpServerOptions& http,
                                                        const WindowTables& tables,
                                                        const Files& files, Clock& clock) {
  // Private constructor: make_unique cannot reach it.
  std::unique_ptr<MetricsApi> api(
      new MetricsApi(options, tables, files, clock));  // NOLINT(cppcoreguidelines-owning-memory)
  PODGPU_RETURN_IF_ERROR(api->MakeTls(options));
  HttpServerOptions listener = http;
  listener.address = options.address;
  listener.web_config_file.clear();
  listener.inherited_socket = -1;
  listener.counters = &api->http_counters_;
  listener.probe_paths = {"/healthz", "/livez", "/readyz"};
  listener.passes_headers = true;
  listener.tls = [&tls = *api->tls_] { return tls.Context(); };
  PODGPU_ASSIGN_OR_RETURN(api->http_,
                          HttpServer::Start(std::move(listener),
                                            [&handler = api->handler_](const HttpRequest& request) {
                                              return handler.Serve(request);
                                            }));
  api->StartThreads();
  return api;
}

void MetricsApi::StartThreads() {
  callers_thread_.Start([this](const std::stop_token& stop) { callers_.Run(stop); }, "callers");
  pod_labels_thread_.Start([this](const std::stop_token& stop) { pod_labels_.Run(stop); },
                           "pod-labels");
  if (node_labels_ != nullptr) {
    node_labels_thread_.Start([this](const std::stop_token& stop) { node_labels_->Run(stop); },
                              "node-labels");
  }
  reviews_thread_.Start([this](const std::stop_token& stop) { reviewer_.Run(stop); }, "reviews");
  if (authority_ != nullptr) {
    authority_thread_.Start([this](const std::stop_token& stop) { authority_->Run(stop); },
                            "authority");
  }
}

MetricsApi::~MetricsApi() {
  constexpr std::chrono::hours kForEver{24 * 365};
  RequestStop();
  JoinWithin(kForEver);
}

void MetricsApi::RequestStop() {
  http_.reset();
  for (Worker* const worker : {&callers_thread_, &pod_labels_thread_, &node_labels_thread_,
                               &reviews_thread_, &authority_thread_}) {
    worker->RequestStop();
  }
}

bool MetricsApi::JoinWithin(std::chrono::milliseconds patience) {
  const Instant deadline = SystemClock().Now() + patience;
  bool all_ended = true;
  for (Worker* const worker : {&callers_thread_, &pod_labels_thread_, &node_labels_thread_,
                               &reviews_thread_, &authority_thread_}) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SystemClock().Now());
    all_ended = worker->JoinWithin(std::max(left, std::chrono::milliseconds(0))) && all_ended;
  }
  return all_ended;
}

std::shared_ptr<const NodeLabelMap> MetricsApi::NodeLabels() const {
  return node_labels_ == nullptr ? nullptr : node_labels_->labels().Get();
}

MetricsApiFacts MetricsApi::Facts() const {
  MetricsApiFacts facts;
  std::ranges::copy(tally_.requests, facts.requests.begin());
  std::ranges::copy(tally_.refused, facts.refused.begin());
  facts.callers = *callers_.facts().Get();
  facts.pod_labels = *pod_labels_.facts().Get();
  if (node_labels_ != nullptr) {
    facts.node_labels = *node_labels_->facts().Get();
  }
  facts.reviewer = reviewer_.facts();
  if (authority_ != nullptr) {
    facts.authority = *authority_->facts().Get();
  }
  facts.certificate_expires_s = tls_->expires_s();
  facts.certificate_is_old = tls_->is_old();
  facts.has_table = tables_.newest().Get() != nullptr;
  facts.window_points = tables_.points();
  facts.window_bytes = tables_.bytes();
  facts.failed_handshakes = http_counters_.failed_handshakes.load();
  return facts;
}

}  // namespace podgpu
