// The table of endpoints: which path serves which page.
//
// The HTTP thread makes each answer at once, from published values alone.  /metrics returns the
// bytes of the latest snapshot; /health answers like dcgm-exporter's; /healthz says only that the
// tick is running; /readyz says whether there is data.  All arguments passed by reference outlive
// the server that calls the handler.  A second listener, that of gpu-manager, serves only /metric.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "exporter/device_control.h"
#include "exporter/tick.h"
#include "http/server.h"

namespace podgpu {

struct RouteOptions {
  std::string metrics_path = {};  // A second path for /metrics; empty: none.
  std::string source = {};        // "nvml" or "dcgm"; empty: podgpu chooses when it starts.
  // Called at each request for the legacy page; its fields are read from then on.
  std::function<void()> want_legacy = [] {};
  std::function<void()> want_use = [] {};     // The same for /api/v1/node.
  std::function<void()> want_status = [] {};  // The same for the status of the node.
  // The object that POST changes; null: POST changes nothing, and the answer names the flag.
  DeviceControl* control = nullptr;
};

// Returns the paths that accept POST.
std::vector<std::string> ControlPaths();

// Returns whether `path` is in the table of endpoints.
bool IsNodePath(std::string_view path);

// Makes the handler for the node role's listener.
HttpHandler MakeRoutes(RouteOptions options, const Tick& tick, const Clock& clock);

// Makes the handler for gpu-manager's listener: /metric, and a hint under all other paths.
HttpHandler MakeQueryRoutes(const Tick& tick);

}  // namespace podgpu
