// The kubelet refresher: keeps the list of allocations new, at its own pace, never in the way of a
// tick or a scrape.
//
// Asks the kubelet every `period`, whether it answered or not: a restarted kubelet is found again
// within one cycle, and a look costs microseconds.  After a failure the last good answer stays,
// with its age.  So it does while the kubelet lists only some of its pods, as one does that has
// just started (kube/list_completeness.h); it is asked each second then.  Publishes PodFacts after
// every attempt that changed something.  Each change of state is one log line.  Run is the body of
// one thread; the rest may be called from any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/free_memory.h"
#include "base/published.h"
#include "base/wakeup.h"
#include "kube/list_completeness.h"
#include "kube/pod_resources.h"
#include "ui/condition.h"

namespace podgpu {

// What is known of the node's pods.  Immutable once published.
struct PodFacts {
  std::shared_ptr<const PodAllocations> answer;  // The last good one; null before the first.
  Instant asked_at{};                            // When it was asked for, and when it came.
  Instant answered_at{};
  // The kubelet answers, but does not list all pods yet: who is not on the list may have a device.
  bool is_incomplete = false;
  PartState state = PartState::kStarting;
  std::string detail;     // A plain sentence.
  uint64_t failures = 0;  // Attempts without an answer since the start.
};

struct RefresherOptions {
  std::chrono::milliseconds period{10'000};
  bool expected =
      true;  // Whether Kubernetes was asked for: without it a missing socket is no warning.
  bool in_pod = false;  // We run in a pod, so no complete list is empty.
};

class KubeletRefresher {
 public:
  // All borrowed things outlive the refresher.  `tick` is nudged when the answer or the state has
  // changed.
  KubeletRefresher(PodResources& kubelet, RefresherOptions options, Clock& clock, Wakeup& tick);

  void Run(const std::stop_token& stop);

  const Published<PodFacts>& facts() const { return facts_; }

 private:
  void RefreshOnce();
  void Accept(PodAllocations answer, Instant asked_at);
  void Doubt(ListVerdict verdict, const PodAllocations& answer);
  void Refuse(const Status& failure);
  void Publish(PartState state, std::string detail, bool news);

  PodResources& kubelet_;
  const RefresherOptions options_;
  Clock& clock_;
  Wakeup& tick_;
  ListCompleteness completeness_;
  bool was_incomplete_ = false;  // When that was last published.
  MemoryReturnSchedule memory_return_;
  PodFacts current_;
  Published<PodFacts> facts_;
};

}  // namespace podgpu
