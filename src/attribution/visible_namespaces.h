// Which namespaces the pages for people may name: all, or those that were chosen.
//
// With a choice, whoever reads a node's pages learns of pods of other namespaces only that there
// are some.  /metrics is not for people and names all.  Immutable; any thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu {

struct VisibleNamespaces {
  std::vector<std::string> chosen;  // Empty: all are visible.

  bool Shows(std::string_view pod_namespace) const {
    return chosen.empty() || std::ranges::find(chosen, pod_namespace) != chosen.end();
  }
};

}  // namespace podgpu
