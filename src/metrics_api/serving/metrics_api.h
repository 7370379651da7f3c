// Assembles the metrics API: its listener, its threads, and their order of start and stop.
//
// Threads: `http` answers; `callers`, `pod-labels` and, with label keys, `node-labels` follow the
// API server; `reviews` asks it who may do what; `authority`, only with a self-made certificate,
// renews it and writes its authority. The tick makes the tables (values/window_tables.h). Start and
// Stop belong to the main thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/worker.h"
#include "metrics_api/access/serving_tls.h"
#include "metrics_api/access/watches.h"
#include "metrics_api/serving/handler.h"
#include "metrics_api/values/window_tables.h"

namespace podgpu {

struct MetricsApiOptions {
  std::string address;  // Empty: off.
  // Both are set, or none: then podgpu makes a certificate itself.
  std::string certificate_file, key_file;
  std::optional<MetricsService> service;  // The Service that the self-made certificate names.
  WindowOptions window;
  ApiServerOptions server;
  uint32_t seed = 0;  // Seed for the random part of waits.
};

class MetricsApi {
 public:
  // `http`: limits of the listener; its address and TLS are replaced. All borrowed objects outlive
  // the API. kInvalidArgument for a bad address or certificate, with the remedy.
  static StatusOr<std::unique_ptr<MetricsApi>> Start(const MetricsApiOptions& options,
                                                     const HttpServerOptions& http,
                                                     const WindowTables& tables, const Files& files,
                                                     Clock& clock);
  MetricsApi(const MetricsApi&) = delete;
  MetricsApi& operator=(const MetricsApi&) = delete;
  // Waits for all threads without limit.
  ~MetricsApi();

  // Stops listening and asks all threads to stop; then waits for one of them at a time.
  void RequestStop();
  bool JoinWithin(std::chrono::milliseconds patience);

  // The labels for selectors; null without label keys, and before they are known. Any thread.
  std::shared_ptr<const NodeLabelMap> NodeLabels() const;

  // Any thread.
  MetricsApiFacts Facts() const;
  uint16_t port() const { return http_->port(); }

 private:
  MetricsApi(const MetricsApiOptions& options, const WindowTables& tables, const Files& files,
             Clock& clock);

  Status MakeTls(const MetricsApiOptions& options);
  void StartThreads();

  const Files& files_;
  Clock& clock_;
  const WindowTables& tables_;
  CallerWatch callers_;
  PodLabelWatch pod_labels_;
  std::unique_ptr<NodeLabelWatch> node_labels_;  // Null without label keys.
  Reviewer reviewer_;
  std::unique_ptr<AuthorityWriter> authority_;  // Null with certificate files.
  std::unique_ptr<ServingTls> tls_;
  MetricsTally tally_;
  HttpCounters http_counters_;
  MetricsHandler handler_;
  std::unique_ptr<HttpServer> http_;
  Worker callers_thread_, pod_labels_thread_, node_labels_thread_, reviews_thread_,
      authority_thread_;
};

}  // namespace podgpu
