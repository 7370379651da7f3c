#include "cluster/cluster_tick.h"

#include "base/log.h"
#include "view/pod_map.h"

namespace podgpu {
namespace {

// Slots before those of the families.
constexpr size_t kZeroSlot = 0;
constexpr uint32_t kFirstFamilySlot = 1;

}  // namespace

ClusterTick::ClusterTick(ClusterTickOptions options, const Published<Fleet>& fleet,
                         const Published<NodeList>& list, Clock& clock, Wakeup& wakeup)
    : options_(options), fleet_(fleet), list_(list), clock_(clock), wakeup_(wakeup) {}

void ClusterTick::Run(const std::stop_token& stop) {
  do {
    Once();
  } while (wakeup_.SleepUntil(clock_, clock_.Now() + options_.period, stop));
}

void ClusterTick::Once() {
  const ClusterFacts facts = Gather();
  std::vector<PlannedNode> nodes;
  nodes.reserve(facts.states.size());
  for (size_t i = 0; i < facts.states.size(); ++i) {
    const NodeEntry& node = facts.fleet->nodes[i];
    nodes.push_back({node.address.id, facts.states[i], node.last, node.holders_revision});
  }
  ++ticks_;
  if (plan_ == nullptr || nodes != planned_) {
    planned_ = std::move(nodes);
    BuildPlan(facts);
  }
  std::vector<Value> slots;
  slots.push_back(Value::OfInt64(0));
  WriteClusterSlots(facts, slots);
  const auto page = std::make_shared<const Snapshot>(
      SnapshotParts{plan_, nullptr, nullptr, std::move(slots), ticks_}, last_text_bytes_);
  last_text_bytes_ = page->text().size();
  metrics_.Set(page);
  Say(facts);
  last_ended_.store(clock_.Now().time_since_epoch().count(), std::memory_order_relaxed);
}

ClusterFacts ClusterTick::Gather() {
  ClusterFacts facts;
  facts.list = list_.Get();
  facts.fleet = fleet_.Get();
  facts.now = clock_.Now();
  facts.states = JudgeNodes(*facts.fleet, facts.now, options_.withdraw_after);
  facts.map = MakeClusterMap(*facts.fleet, facts.states);
  return facts;
}

void ClusterTick::BuildPlan(const ClusterFacts& facts) {
  PlanBuilder metrics;
  AddPodMapView(facts.map.rows, metrics);
  if (options_.deprecated_map) {
    AddDeprecatedPodMap(facts.map.rows, kZeroSlot, metrics);
  }
  AddSlotFamilies(ClusterFamilies(facts, kFirstFamilySlot), metrics);
  plan_ = std::make_shared<const SeriesPlan>(std::move(metrics).Build());

  PlanBuilder nodes;
  AddNodeFamilies(facts.map.rows, nodes);
  node_families_.Set(std::make_shared<const Snapshot>(SnapshotParts{
      std::make_shared<const SeriesPlan>(std::move(nodes).Build()), nullptr, nullptr, {}, ticks_}));
}

void ClusterTick::Say(const ClusterFacts& facts) {
  const std::shared_ptr<const ClusterCondition> before = condition_.Get();
  ClusterCondition condition = JudgeCluster(facts);
  if (before != nullptr && before->verdict == condition.verdict) {
    return;
  }
  Log(LogLevel::kInfo, "the cluster's state has changed", {{"verdict", condition.verdict}});
  condition_.Set(std::make_shared<const ClusterCondition>(std::move(condition)));
}

}  // namespace podgpu
