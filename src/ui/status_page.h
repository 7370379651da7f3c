// The page at `/`: complete HTML without scripts, or text, made from the latest condition.
//
// For a person at a terminal or in a browser at three in the morning: what each part does, why
// something is missing, where the metrics are.  Every text that came from outside is escaped.  Pure
// functions; the HTTP thread calls them.
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
  std::vector<std::string_view> paths;  // What else is served, "/metrics" first.
};

std::string RenderStatusPage(const StatusPageFacts& facts);

// The same for a terminal: a line for the verdict, each part and each device.
std::string StatusText(const StatusPageFacts& facts);

}  // namespace podgpu
