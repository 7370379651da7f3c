// Makes the pages of the cluster role from the reports of the poller: each second, and at once when
// the first reports arrive.
//
// New lines are made only when a generation changes (cluster_sections.h); otherwise only the
// numbers change.  The tick never uses the network, so it makes pages and withdraws old reports
// even while nodes hang.  Run is the body of one thread; the accessors may be called from any
// thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/published.h"
#include "base/wakeup.h"
#include "cluster/cluster_facts.h"
#include "cluster/cluster_sections.h"
#include "exposition/page_builder.h"
#include "exposition/snapshot.h"
#include "metrics_api/serving/metrics_api.h"

namespace podgpu {

struct ClusterTickOptions {
  std::chrono::milliseconds period{1'000};
  std::chrono::milliseconds withdraw_after{60'000};  // A report counts for this long.
  bool deprecated_map = false;                       // Adds POD_GPU_MAP_INFO_n.
  InUseMeaning in_use = InUseMeaning::kValue;
};

class ClusterTick {
 public:
  // The sources of its facts; all must outlive it.
  struct Sources {
    const Published<Fleet>& fleet;
    const Published<NodeList>& list;
    const Published<PrometheusReading>* prometheus = nullptr;  // Null without --in-use-prometheus.
    const Published<NodeLabels>* labels = nullptr;             // Null without --group-labels.
    const HistoryReader* history = nullptr;                    // Null without --in-use-prometheus.
    WindowTables* windows = nullptr;                           // Null: no samples are kept.
  };
  ClusterTick(ClusterTickOptions options, const Sources& sources, Clock& clock, Wakeup& wakeup);

  // Reports the state of the metrics API from now on; it outlives the ticks. Call it before Run.
  void Watch(const MetricsApi& metrics_api) { metrics_api_ = &metrics_api; }

  void Once();
  void Run(const std::stop_token& stop);

  // The pages /metrics and /metrics/nodes, and the page of --in-use-listen; null before the first
  // tick.
  const Published<Snapshot>& metrics() const { return metrics_; }
  const Published<Snapshot>& in_use() const { return in_use_; }
  const Published<Snapshot>& node_families() const { return node_families_; }
  const Published<ClusterCondition>& condition() const { return condition_; }
  // The facts of the newest pages; null before the first tick.
  const Published<ClusterFacts>& facts() const { return facts_; }
  Instant last_ended() const {
    return Instant(Duration(last_ended_.load(std::memory_order_relaxed)));
  }

 private:
  ClusterFacts Gather();
  std::shared_ptr<const Snapshot> MakePage(PageBuilder& builder, size_t text_bytes) const;
  void Say(const ClusterFacts& facts);

  const ClusterTickOptions options_;
  const Sources sources_;
  Clock& clock_;
  Wakeup& wakeup_;
  const MetricsApi* metrics_api_ = nullptr;  // Null without --metrics-api-listen.

  ClusterPages pages_;
  PageBuilder metrics_page_;
  PageBuilder in_use_page_;
  PageBuilder node_families_page_;
  uint64_t ticks_ = 0;
  size_t last_text_bytes_ = 0;
  Published<Snapshot> metrics_;
  Published<Snapshot> node_families_;
  Published<Snapshot> in_use_;
  Published<ClusterCondition> condition_;
  Published<ClusterFacts> facts_;
  std::atomic<Duration::rep> last_ended_ = 0;
};

}  // namespace podgpu
