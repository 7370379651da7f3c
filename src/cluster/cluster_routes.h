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

namespace podgpu {

// The source of /api/v1/history.
struct HistorySource {
  HistoryReader* reader = nullptr;  // Null without --in-use-prometheus.
  std::string matchers = {};        // The value of --in-use-matchers.
};

HttpHandler MakeClusterRoutes(const ClusterTick& tick, const Clock& clock,
                              const FleetLinks& links = {}, HistorySource history = {});

// Handler for --in-use-listen: serves one page under every path, as the replaced utilisation
// exporter does.
HttpHandler MakeInUseRoutes(const ClusterTick& tick);

}  // namespace podgpu
