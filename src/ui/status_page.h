// The page at `/`, as HTML that is complete without scripts, made from the newest status;
// status_text.h makes its text form.
//
// It tells an operator the state of each GPU and part, who holds each GPU, why something is missing
// and what helps.  The script assets/node.js keeps the HTML form fresh: it replaces the texts of
// elements with `data-v`, and requests the page again when its rows change, so this file alone
// decides what the page says.  Every text that comes from outside is escaped.  Pure functions;
// called on the HTTP thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/node_status.h"

namespace podgpu {

struct StatusPageFacts {
  std::string_view hostname;
  std::string_view version;
  // The status with its history and processes; null before the first tick.
  const NodeStatus* status = nullptr;
  int64_t now_ms = 0;                        // Since 1970.
  std::vector<std::string_view> paths = {};  // Paths of other endpoints, "/metrics" first.
  std::string_view fleet_url = {};           // Of the fleet page; empty: no link.
};

std::string RenderStatusPage(const StatusPageFacts& facts);

}  // namespace podgpu
