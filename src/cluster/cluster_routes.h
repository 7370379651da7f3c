// The table of endpoints of the cluster role.
//
// /metrics and /metrics/nodes send the bytes of the latest snapshots. /healthz tells only whether
// the tick thread runs; /readyz tells whether every found node has been contacted once.  All
// borrowed objects must outlive the server that calls the handler.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "cluster/cluster_tick.h"
#include "cluster/fleet_links.h"
#include "cluster/history_reader.h"
#include "http/server.h"
#include "metrics_api/values/window_tables.h"

namespace podgpu {

// What the paths under /api/v1 read besides the facts of the tick.
struct ClusterApiSources {
  FleetLinks links = {};
  HistoryReader* history = nullptr;  // Null without --in-use-prometheus.
  std::string matchers = {};         // The value of --in-use-matchers.
  WindowTables* windows = nullptr;   // Null without --nodes.
};

HttpHandler MakeClusterRoutes(const ClusterTick& tick, const Clock& clock,
                              ClusterApiSources sources = {});

// Handler for --in-use-listen: serves one page under every path, as the replaced utilisation
// exporter does.
HttpHandler MakeInUseRoutes(const ClusterTick& tick);

}  // namespace podgpu
