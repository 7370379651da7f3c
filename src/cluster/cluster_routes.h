// The table of endpoints of the cluster role.
//
// /metrics and /metrics/nodes hand out the bytes of the latest snapshots; /healthz says only that
// the tick turns, /readyz whether every node that was found has been asked.  Everything borrowed
// outlives the server that calls the handler.
#pragma once

#include <chrono>

#include "base/clock.h"
#include "cluster/cluster_tick.h"
#include "http/server.h"

namespace podgpu {

HttpHandler MakeClusterRoutes(const ClusterTick& tick, const Clock& clock);

// The listener of the utilisation exporter that was before: one page under every path.
HttpHandler MakeInUseRoutes(const ClusterTick& tick);

}  // namespace podgpu
