// The labels of nodes that make groups on the fleet page, such as pool or rack: --group-labels.
//
// A reader lists the cluster's nodes at the API server and then watches them, so a changed label
// takes effect at once and a quiet cluster costs nothing.  It keeps only the labels of the option.
// Without the right, or while the API server does not answer, the labels read before stay, and
// `detail` says why; nothing but the groups depends on them.  Run is the body of one thread; the
// rest may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/published.h"
#include "kube/api_mirror.h"

namespace podgpu {

struct GroupLabelsOption {
  std::vector<std::string> keys;  // Empty: no labels are read.
  ApiServerOptions server;        // The API server, from the environment of the pod.
  uint32_t seed = 0;              // Seed for the random part of waits.
};
// Parses "pool" or "pool,topology.kubernetes.io/rack": up to eight different keys of labels.
StatusOr<std::vector<std::string>> ParseGroupLabels(std::string_view text);

// The labels of all nodes.  Immutable once published.
struct NodeLabels {
  // The value of each label of the option, in its order; empty if the node does not have it.
  using Values = std::vector<std::optional<std::string>>;

  std::vector<std::string> keys;
  std::map<std::string, Values, std::less<>> of_node;  // Values by the name of the node.
  bool is_known = false;                               // The nodes have been listed once.
  bool is_ok = false;                                  // The last request succeeded.
  std::string detail;                                  // Why not; empty if it succeeded.
  uint64_t failures = 0;
};

class NodeLabelReader {
 public:
  // All borrowed objects must outlive it. `changed` is called when something has changed.
  NodeLabelReader(GroupLabelsOption option, const Files& files, Clock& clock,
                  std::function<void()> changed);

  void Run(const std::stop_token& stop);
  // Returns the labels; never null.  Without keys it has no labels.
  const Published<NodeLabels>& labels() const { return labels_; }

 private:
  void TakeObjects(const ApiObjects& objects);
  void TakeFailure(const Status& failure);
  void Publish(NodeLabels next);

  const GroupLabelsOption option_;
  const Files& files_;
  Clock& clock_;
  const std::function<void()> changed_;
  NodeLabels current_;
  Published<NodeLabels> labels_;
};

}  // namespace podgpu
