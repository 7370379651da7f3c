#include "cluster/cluster_tick.h"

#include <algorithm>

#include "base/log.h"
#include "cluster/metrics_feed.h"

namespace podgpu {

ClusterTick::ClusterTick(ClusterTickOptions options, const Sources& sources, Clock& clock,
                         Wakeup& wakeup)
    : options_(options),
      sources_(sources),
      clock_(clock),
      wakeup_(wakeup),
      metrics_page_({ClusterMapSection(pages_, options_.deprecated_map), InUseSection(pages_),
                     ClusterSelfSection(pages_)}),
      in_use_page_({InUseSection(pages_)}),
      node_families_page_({NodeFamiliesSection(pages_)}) {}

void ClusterTick::Run(const std::stop_token& stop) {
  do {
    Once();
  } while (wakeup_.SleepUntil(clock_, clock_.Now() + options_.period, stop));
}

void ClusterTick::Once() {
  pages_.facts = std::make_shared<const ClusterFacts>(Gather());
  pages_.lines.Take(*pages_.facts);
  ++ticks_;
  const auto page = MakePage(metrics_page_, last_text_bytes_);
  last_text_bytes_ = page->text().size();
  const auto in_use = MakePage(in_use_page_, 0);
  in_use_.Set(in_use);
  if (node_families_page_.Refresh(nullptr, nullptr)) {
    node_families_.Set(std::make_shared<const Snapshot>(
        SnapshotParts{node_families_page_.plan(), nullptr, nullptr, {}, ticks_}));
  }
  facts_.Set(pages_.facts);
  // Last of the pages: a client that has seen this page finds no older one.
  metrics_.Set(page);
  Say(*pages_.facts);
  last_ended_.store(clock_.Now().time_since_epoch().count(), std::memory_order_relaxed);
}

std::shared_ptr<const Snapshot> ClusterTick::MakePage(PageBuilder& builder,
                                                      size_t text_bytes) const {
  builder.Refresh(nullptr, nullptr);
  std::vector<Value> slots;
  builder.AppendTo(slots);
  return std::make_shared<const Snapshot>(
      SnapshotParts{builder.plan(), nullptr, nullptr, std::move(slots), ticks_}, text_bytes);
}

ClusterFacts ClusterTick::Gather() {
  ClusterFacts facts;
  facts.list = sources_.list.Get();
  facts.fleet = sources_.fleet.Get();
  facts.labels = sources_.labels == nullptr ? nullptr : sources_.labels->Get();
  facts.now = clock_.Now();
  facts.wall_now = clock_.WallNow();
  facts.states = JudgeNodes(*facts.fleet, facts.now, options_.withdraw_after);
  facts.map = MakeClusterMap(*facts.fleet, facts.states);
  if (sources_.windows != nullptr) {
    const auto labels = metrics_api_ == nullptr ? nullptr : metrics_api_->NodeLabels();
    sources_.windows->Feed([&facts] { return MetricsFleetOf(facts); }, facts.wall_now,
                           labels.get());
  }
  if (metrics_api_ != nullptr) {
    facts.metrics_api = std::make_shared<const MetricsApiFacts>(metrics_api_->Facts());
  }
  if (sources_.prometheus != nullptr) {
    facts.prometheus = sources_.prometheus->Get();
    facts.history_queries =
        sources_.history == nullptr ? HistoryCounts() : sources_.history->counts();
    facts.in_use = MergeReading(*facts.prometheus, facts.now, options_.withdraw_after);
    return facts;
  }
  // While there are nodes but no report, the pages have no line about GPUs: zeros would be wrong.
  const bool is_known = facts.list->is_found && (facts.list->addresses.empty() ||
                                                 std::ranges::any_of(facts.states, Counts));
  facts.in_use = SumInUse(facts.map, is_known, options_.in_use);
  return facts;
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
