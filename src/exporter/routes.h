// The one table of endpoints: what is served under which path, and from what.
//
// Each answer is made from published values alone and at once, on the HTTP thread.  /metrics hands
// out the bytes of the latest snapshot; /health answers as dcgm-exporter's; /healthz says only that
// the tick turns; /readyz says whether there is data.  Everything borrowed outlives the server that
// calls the handler.  A second listener, that of gpu-manager, has one page alone.
#pragma once

#include <chrono>
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
  std::string hostname;
  // The tick counts as dead when none has ended for so long: three periods, at least 10 s.
  std::chrono::milliseconds tick_deadline{90'000};
  // Called at each request for the legacy page: its fields are read from then on.
  std::function<void()> want_legacy = [] {};
  std::function<void()> want_use = [] {};  // Likewise for /api/v1/node.
  // What POST may change; null: nothing, whoever asks is told the flag.
  DeviceControl* control = nullptr;
  std::string node = {};           // What the cluster role knows this node by; empty: `hostname`.
  std::string metrics_path = {};   // Another one for /metrics; empty: none.
  bool requested_vs_used = false;  // The tick makes the page that /metric shows.
};

// The paths under which a POST changes something.
std::vector<std::string> ControlPaths();

// Whether something is served there in any case.
bool IsNodePath(std::string_view path);

// The handler for the node role's listener.
HttpHandler MakeRoutes(RouteOptions options, const Tick& tick, const Clock& clock);

// The handler for gpu-manager's listener: /metric, and a hint elsewhere.
HttpHandler MakeQueryRoutes(const Tick& tick);

}  // namespace podgpu
