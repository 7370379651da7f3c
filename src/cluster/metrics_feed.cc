#include "cluster/metrics_feed.h"

#include <algorithm>

#include "cluster/idle_gpus.h"

namespace podgpu {
namespace {

static_assert(kInUseMeasureCount == kAveragedMeasureCount);

std::optional<double> ShareOf(const DeviceUse& use, AveragedMeasure measure) {
  return InUseShare(use, static_cast<InUseMeasure>(measure));
}

// Whether a node with the name of another one is not that node under a second address.
bool HasOtherGpus(const NodeReport& report, const ClusterFacts& facts) {
  for (size_t i = 0; i < facts.states.size(); ++i) {
    const NodeReport* const first = facts.fleet->nodes[i].report.get();
    if (Counts(facts.states[i]) && first != nullptr && first->node == report.node) {
      return !std::ranges::equal(first->gpus, report.gpus, {}, &ReportedGpu::uuid,
                                 &ReportedGpu::uuid);
    }
  }
  return true;
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

WindowFleet MetricsFleetOf(const ClusterFacts& facts) {
  constexpr int64_t kMicrosecondsPerMillisecond = 1'000;
  WindowFleet fleet;
  for (size_t i = 0; i < facts.states.size(); ++i) {
    const NodeEntry& node = facts.fleet->nodes[i];
    if (Counts(facts.states[i]) && node.report != nullptr) {
      const auto age =
          std::chrono::duration_cast<std::chrono::microseconds>(facts.now - node.read_at);
      fleet.nodes.push_back({node.report, (ToMicroseconds(facts.wall_now) - age.count()) /
                                              kMicrosecondsPerMillisecond});
    } else if (facts.states[i] == NodeState::kDuplicate) {
      if (node.report != nullptr && HasOtherGpus(*node.report, facts)) {
        fleet.absent.away.push_back(node.report);
      }
    } else if (facts.states[i] == NodeState::kUnresponsive && node.report != nullptr) {
      fleet.absent.away.push_back(node.report);
    } else {
      ++fleet.absent.unread;
    }
  }
  fleet.absent.may_be_more = !facts.list->is_ok;
  return fleet;
}

}  // namespace podgpu
