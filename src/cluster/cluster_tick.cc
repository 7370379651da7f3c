#include "cluster/cluster_tick.h"

#include <algorithm>

#include "base/log.h"
#include "view/pod_map.h"

namespace podgpu {
namespace {

// The slot before those of the families.
constexpr size_t kZeroSlot = 0;

uint32_t SlotsOf(const std::vector<SlotFamily>& families) {
  size_t count = 0;
  for (const SlotFamily& family : families) {
    count += family.series.size();
  }
  return static_cast<uint32_t>(count);
}

template <typename Workloads>
bool AreTheWorkloads(const std::vector<PodName>& planned, const Workloads& workloads) {
  return std::ranges::equal(planned, workloads, [](const PodName& name, const auto& entry) {
    return name.pod_namespace == entry.first.first && name.name == entry.first.second;
  });
}

}  // namespace

ClusterTick::ClusterTick(ClusterTickOptions options, const Sources& sources, Clock& clock,
                         Wakeup& wakeup)
    : options_(options), sources_(sources), clock_(clock), wakeup_(wakeup) {}

void ClusterTick::Run(const std::stop_token& stop) {
  do {
    Once();
  } while (wakeup_.SleepUntil(clock_, clock_.Now() + options_.period, stop));
}

void ClusterTick::Once() {
  const auto gathered = std::make_shared<const ClusterFacts>(Gather());
  const ClusterFacts& facts = *gathered;
  std::vector<PlannedNode> nodes;
  nodes.reserve(facts.states.size());
  for (size_t i = 0; i < facts.states.size(); ++i) {
    const NodeEntry& node = facts.fleet->nodes[i];
    nodes.push_back({node.address.id, facts.states[i],
                     node.last && !IsGood(*node.last) ? node.last : std::nullopt,
                     node.holders_revision});
  }
  ++ticks_;
  if (plan_ == nullptr || nodes != planned_ ||
      !AreTheWorkloads(planned_workloads_, facts.in_use.workloads)) {
    planned_ = std::move(nodes);
    planned_workloads_.clear();
    for (const auto& [name, sums] : facts.in_use.workloads) {
      planned_workloads_.push_back({std::string(name.first), std::string(name.second)});
    }
    BuildPlan(facts);
  }
  std::vector<Value> slots;
  slots.push_back(Value::OfInt64(0));
  WriteInUseSlots(facts.in_use, slots);
  WriteClusterSlots(facts, slots);
  const auto page = std::make_shared<const Snapshot>(
      SnapshotParts{plan_, nullptr, nullptr, std::move(slots), ticks_}, last_text_bytes_);
  last_text_bytes_ = page->text().size();
  metrics_.Set(page);
  std::vector<Value> in_use;
  WriteInUseSlots(facts.in_use, in_use);
  in_use_.Set(std::make_shared<const Snapshot>(
      SnapshotParts{in_use_plan_, nullptr, nullptr, std::move(in_use), ticks_}));
  facts_.Set(gathered);
  Say(facts);
  last_ended_.store(clock_.Now().time_since_epoch().count(), std::memory_order_relaxed);
}

ClusterFacts ClusterTick::Gather() {
  ClusterFacts facts;
  facts.list = sources_.list.Get();
  facts.fleet = sources_.fleet.Get();
  facts.now = clock_.Now();
  facts.wall_now = clock_.WallNow();
  facts.states = JudgeNodes(*facts.fleet, facts.now, options_.withdraw_after);
  facts.map = MakeClusterMap(*facts.fleet, facts.states);
  if (sources_.prometheus != nullptr) {
    facts.prometheus = sources_.prometheus->Get();
    facts.in_use = MergeReading(*facts.prometheus, facts.now, options_.withdraw_after);
    return facts;
  }
  // Nothing is said of GPUs while there are nodes and none of them can be read.
  const bool is_known = facts.list->is_found && (facts.list->addresses.empty() ||
                                                 std::ranges::any_of(facts.states, Counts));
  facts.in_use = SumInUse(facts.map, is_known, options_.in_use);
  return facts;
}

void ClusterTick::BuildPlan(const ClusterFacts& facts) {
  PlanBuilder metrics;
  AddPodMapView(facts.map.rows, metrics);
  if (options_.deprecated_map) {
    AddDeprecatedPodMap(facts.map.rows, kZeroSlot, metrics);
  }
  constexpr uint32_t kFirstSlot = kZeroSlot + 1;
  const std::vector<SlotFamily> in_use = InUseFamilies(facts.in_use, kFirstSlot);
  AddSlotFamilies(in_use, metrics);
  AddSlotFamilies(ClusterFamilies(facts, kFirstSlot + SlotsOf(in_use)), metrics);
  plan_ = std::make_shared<const SeriesPlan>(std::move(metrics).Build());

  PlanBuilder used;
  AddSlotFamilies(InUseFamilies(facts.in_use, 0), used);
  in_use_plan_ = std::make_shared<const SeriesPlan>(std::move(used).Build());

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
  const bool is_wrong = std::ranges::count(facts.states, NodeState::kDuplicate) > 0;
  Log(is_wrong ? LogLevel::kWarn : LogLevel::kInfo, "the cluster's state has changed",
      {{"verdict", condition.verdict}});
  condition_.Set(std::make_shared<const ClusterCondition>(std::move(condition)));
}

}  // namespace podgpu
