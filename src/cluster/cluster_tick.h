// Makes the pages of the cluster role from what the poller knows: each second, and at once when the
// first answers come.
//
// New lines are made only when the sections say so (cluster_sections.h); otherwise numbers alone
// change.  It makes no call over the network and waits for none, so pages go on, and what is too
// old leaves them, while nodes hang.  Run is the body of one thread; the accessors may be called
// from any thread.
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

namespace podgpu {

struct ClusterTickOptions {
  std::chrono::milliseconds period{1'000};
  std::chrono::milliseconds withdraw_after{60'000};  // What a node says counts so long.
  bool deprecated_map = false;                       // POD_GPU_MAP_INFO_n too.
  InUseMeaning in_use = InUseMeaning::kValue;
};

class ClusterTick {
 public:
  // Where its facts come from; all outlive it.
  struct Sources {
    const Published<Fleet>& fleet;
    const Published<NodeList>& list;
    const Published<PrometheusReading>* prometheus = nullptr;  // Null where none is asked.
  };
  ClusterTick(ClusterTickOptions options, const Sources& sources, Clock& clock, Wakeup& wakeup);

  void Once();
  void Run(const std::stop_token& stop);

  // /metrics, /metrics/nodes, and the page of what is in use; null before the first tick.
  const Published<Snapshot>& metrics() const { return metrics_; }
  const Published<Snapshot>& in_use() const { return in_use_; }
  const Published<Snapshot>& node_families() const { return node_families_; }
  const Published<ClusterCondition>& condition() const { return condition_; }
  // What the newest pages were made from; null before the first tick.
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
