// The page at `/`, as HTML without scripts or as text, made from the latest condition.
//
// It tells an operator the state of each part, why something is missing, and where the metrics are.
// Every text that comes from outside is escaped.  Pure functions; called on the HTTP thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ui/condition.h"

namespace podgpu {

struct StatusPageFacts {
  std::string_view hostname;
  std::string_view version;
  const Condition* condition = nullptr;  // Null before the first tick.
  size_t series = 0;
  std::vector<std::string_view> paths;  // Paths of other endpoints, "/metrics" first.
};

std::string RenderStatusPage(const StatusPageFacts& facts);

// Returns the same for a terminal: a line for the verdict, each part and each device.
std::string StatusText(const StatusPageFacts& facts);

}  // namespace podgpu
