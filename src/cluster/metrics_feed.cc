#include "cluster/metrics_feed.h"

#include "cluster/idle_gpus.h"

namespace podgpu {
namespace {

static_assert(kInUseMeasureCount == kAveragedMeasureCount);

std::optional<double> ShareOf(const DeviceUse& use, AveragedMeasure measure) {
  return InUseShare(use, static_cast<InUseMeasure>(measure));
}

}  // namespace

WindowOptions MetricsWindowOf(WindowOptions window, InUseMeaning meaning) {
  window.share_of = ShareOf;
  window.is_in_use = [meaning](const DeviceUse& use, double share) {
    return IsInUse(use, share, meaning);
  };
  window.does_nothing = DoesNothing;
  window.workload_of = WorkloadOf;
  return window;
}

std::vector<WindowNode> MetricsNodesOf(const ClusterFacts& facts) {
  constexpr int64_t kMicrosecondsPerMillisecond = 1'000;
  std::vector<WindowNode> nodes;
  for (size_t i = 0; i < facts.states.size(); ++i) {
    const NodeEntry& node = facts.fleet->nodes[i];
    if (Counts(facts.states[i]) && node.report != nullptr) {
      const auto age =
          std::chrono::duration_cast<std::chrono::microseconds>(facts.now - node.read_at);
      nodes.push_back({node.report, (ToMicroseconds(facts.wall_now) - age.count()) /
                                        kMicrosecondsPerMillisecond});
    }
  }
  return nodes;
}

}  // namespace podgpu
