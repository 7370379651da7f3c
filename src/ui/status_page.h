// The page at `/`, as HTML that is complete without scripts or as text, made from the newest
// status.
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
  const NodeStatus* status = nullptr;  // The status with its history; null before the first tick.
  int64_t now_ms = 0;                  // Since 1970.
  std::vector<std::string_view> paths = {};  // Paths of other endpoints, "/metrics" first.
};

std::string RenderStatusPage(const StatusPageFacts& facts);

// Returns the same facts for a terminal.
std::string StatusText(const StatusPageFacts& facts);

}  // namespace podgpu
