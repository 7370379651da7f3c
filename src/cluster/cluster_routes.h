// The table of endpoints of the cluster role.
//
// /metrics and /metrics/nodes send the bytes of the latest snapshots. /healthz tells only whether
// the tick thread runs; /readyz tells whether every found node has been contacted once.  All
// borrowed objects must outlive the server that calls the handler.
#pragma once

#include <chrono>

#include "base/clock.h"
#include "cluster/cluster_tick.h"
#include "http/server.h"

namespace podgpu {

HttpHandler MakeClusterRoutes(const ClusterTick& tick, const Clock& clock);

// Handler for --in-use-listen: serves one page under every path, as the replaced utilisation
// exporter does.
HttpHandler MakeInUseRoutes(const ClusterTick& tick);

}  // namespace podgpu
