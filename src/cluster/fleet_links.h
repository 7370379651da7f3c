// Where the fleet page's links lead: the page of a node, and a dashboard of a node or GPU.
//
// Each is a URL with places: {node} stands for the name of the node, and in a dashboard's URL {gpu}
// for the number of the GPU on its node and {uuid} for its UUID.  The page fills them in, percent
// encoded.  An empty URL is not drawn.  Plain data and pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

struct FleetLinks {
  std::string node_url = {};
  std::string dashboard_url = {};
  // Returns whether the page needs the UUID of each GPU.
  bool wants_uuids() const { return dashboard_url.find("{uuid}") != std::string::npos; }
};

// Return `text` if it is http:// or https:// with a host, at most 1,024 bytes, without blanks,
// quotes and < >, and without braces except in the places.  The node's URL has only {node}.
StatusOr<std::string> ParseNodeLink(std::string_view text);
StatusOr<std::string> ParseDashboardLink(std::string_view text);
// The same without places: the fleet page, to which the page of a node links back.
StatusOr<std::string> ParseFleetLink(std::string_view text);

}  // namespace podgpu
