// The namespaces that pages for people may name: all, or a chosen list.
//
// With a list, a reader of a node's pages learns only that pods of other namespaces exist.
// /metrics is not a page for people and names all. Immutable; any thread.
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
