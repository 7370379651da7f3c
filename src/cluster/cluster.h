// The cluster role, assembled: threads, what they share, and the order in which all of it starts
// and ends.
//
// Four threads of its own: discovery finds nodes, nodes asks them, tick makes pages, http serves
// them (a second one where --in-use-listen asks for it, and prometheus where one is asked). Several
// instances may run: each asks all nodes and is complete.  Start and Stop belong to one thread, the
// caller of main.
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
#include "cluster/node_poller.h"
#include "cluster/prometheus_reader.h"
#include "http/server.h"

namespace podgpu {

struct ClusterOptions {
  HttpServerOptions http;
  NodesOption nodes;
  PollerOptions poller;
  std::chrono::milliseconds withdraw_after{0};  // 0: four intervals, at least a minute.
  bool deprecated_map = false;
  PrometheusOptions prometheus;  // Without a URL the nodes say what is in use.
  InUseMeaning in_use = InUseMeaning::kValue;
  std::string in_use_address;  // Empty: no listener for it alone.
};

// The seams that main.cc or a test fills.  All outlive the Cluster.
struct ClusterSeams {
  Clock& clock;
  const Files& files;
  Resolver resolve;
};

class Cluster {
 public:
  // kInvalidArgument for a mistake in a file of nodes, or an address that is taken.
  static StatusOr<std::unique_ptr<Cluster>> Start(const ClusterOptions& options,
                                                  ClusterSeams seams);

  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  // Stops if Stop was not called, and waits for all threads without limit.
  ~Cluster();

  // Ends all threads.  False when one still hangs, looking up a name, after `patience`: then this
  // object must not be destroyed; end the process with std::_Exit.
  bool Stop(std::chrono::milliseconds patience = std::chrono::milliseconds(1'500));

  uint16_t port() const { return http_->port(); }
  uint16_t in_use_port() const { return in_use_http_ == nullptr ? 0 : in_use_http_->port(); }

 private:
  Cluster(const ClusterOptions& options, ClusterSeams seams);

  Clock& clock_;
  Wakeup wakeup_;
  NodeDiscovery discovery_;
  NodePoller poller_;
  PrometheusReader prometheus_;
  ClusterTick tick_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<HttpServer> in_use_http_;
  Worker discovery_thread_;
  Worker poller_thread_;
  Worker prometheus_thread_;
  Worker tick_thread_;
};

}  // namespace podgpu
