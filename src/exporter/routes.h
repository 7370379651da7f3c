// The table of endpoints: which path serves which page.
//
// The HTTP thread makes each answer at once, from published values alone.  /metrics returns the
// bytes of the latest snapshot; /health answers like dcgm-exporter's; /healthz says only that the
// tick is running; /readyz says whether there is data.  All arguments passed by reference outlive
// the server that calls the handler.  A second listener, that of gpu-manager, serves only /metric.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "exporter/device_control.h"
#include "exporter/tick.h"
#include "http/server.h"

namespace podgpu {

// Returns the ids of the fields that a page needs beside those of /metrics; with profiling fields
// only if `profiling`.
using FieldIds = std::vector<uint16_t> (*)(bool profiling);

struct RouteOptions {
  std::string metrics_path = {};  // A second path for /metrics; empty: none.
  std::string source = {};        // "nvml" or "dcgm"; empty: podgpu chooses when it starts.
  // Called at the first request for a page with fields of its own: they are read from then on.
  std::function<void(FieldIds)> want = [](FieldIds) {};
  // The object that POST changes; null: POST changes nothing, and the answer names the flag.
  DeviceControl* control = nullptr;
};

// Returns the paths that accept POST.
std::vector<std::string> ControlPaths();

// Returns the fields of the pages that `options` switch on: they are read from the start.
std::vector<FieldIds> FieldsFromStart(const PageOptions& options);

// Returns whether `path` is in the table of endpoints.
bool IsNodePath(std::string_view path);

// Makes the handler for the node role's listener.
HttpHandler MakeRoutes(RouteOptions options, const Tick& tick, const Clock& clock);

// Makes the handler for gpu-manager's listener: /metric, and a hint under all other paths.
HttpHandler MakeQueryRoutes(const Tick& tick);

}  // namespace podgpu
