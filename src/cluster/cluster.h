// Assembles the cluster role: its threads, their shared objects, and the order of start and stop.
//
// It has four threads: discovery finds nodes, nodes requests their reports, tick makes pages, http
// serves them. --metrics-api-listen adds those of the metrics API. --in-use-listen adds a second
// http thread, --in-use-prometheus the threads prometheus and history, --group-labels a thread
// node-labels. Several instances may run: each requests all nodes and serves complete pages.  Start
// and Stop are called on one thread, the main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/files.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "cluster/cluster_tick.h"
#include "cluster/discovery.h"
#include "cluster/fleet_links.h"
#include "cluster/history_reader.h"
#include "cluster/node_labels.h"
#include "cluster/node_poller.h"
#include "cluster/prometheus_reader.h"
#include "http/server.h"

namespace podgpu {

struct ClusterOptions {
  HttpServerOptions http;
  NodesOption nodes;
  PollerOptions poller;
  // With withdraw_after 0: four intervals, at least a minute.
  ClusterTickOptions tick{.withdraw_after = std::chrono::milliseconds(0)};
  PrometheusOptions prometheus;  // Without a URL the reports of the nodes tell what is in use.
  GroupLabelsOption groups;      // The groups of nodes on the fleet page.
  FleetLinks links;              // Links of the fleet page.
  std::string in_use_address;    // Empty: no separate listener.
  MetricsApiOptions metrics_api;
};

// The interfaces that main.cc or a test provides.  All must outlive the Cluster.
struct ClusterSeams {
  Clock& clock;
  const Files& files;
  Resolver resolve;
};

class Cluster {
 public:
  // kInvalidArgument for a mistake in the file of nodes, or a listen address that is in use.
  static StatusOr<std::unique_ptr<Cluster>> Start(const ClusterOptions& options,
                                                  const ClusterSeams& seams);

  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  // Stops if Stop was not called; waits for all threads without limit.
  ~Cluster();

  // Ends all threads.  Returns false if a thread still hangs in a name lookup after `patience`:
  // then do not destroy this object, but end the process with std::_Exit.
  bool Stop(std::chrono::milliseconds patience = std::chrono::milliseconds(1'500));

  uint16_t port() const { return http_->port(); }
  uint16_t metrics_api_port() const { return metrics_api_ == nullptr ? 0 : metrics_api_->port(); }
  uint16_t in_use_port() const { return in_use_http_ == nullptr ? 0 : in_use_http_->port(); }

 private:
  Cluster(const ClusterOptions& options, const ClusterSeams& seams);

  Clock& clock_;
  Wakeup wakeup_;
  NodeDiscovery discovery_;
  NodePoller poller_;
  PrometheusReader prometheus_;
  HistoryReader history_;
  NodeLabelReader labels_;
  WindowTables windows_;
  std::unique_ptr<MetricsApi> metrics_api_;  // Null without --metrics-api-listen.
  ClusterTick tick_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<HttpServer> in_use_http_;
  Worker discovery_thread_;
  Worker poller_thread_;
  Worker prometheus_thread_;
  Worker history_thread_;
  Worker labels_thread_;
  Worker tick_thread_;
};

}  // namespace podgpu
