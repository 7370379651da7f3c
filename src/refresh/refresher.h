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
#include "facts/thread_facts.h"
#include "kube/list_completeness.h"
#include "kube/pod_resources.h"
#include "refresh/fact_publisher.h"

namespace podgpu {

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

  const Published<PodFacts>& facts() const { return publisher_.facts(); }

 private:
  void RefreshOnce();
  void Accept(PodAllocations answer, Instant asked_at);
  void Doubt(ListVerdict verdict, const PodAllocations& answer);
  void Refuse(const Status& failure);

  PodResources& kubelet_;
  const RefresherOptions options_;
  Clock& clock_;
  ListCompleteness completeness_;
  MemoryTide tide_;
  FactPublisher<PodFacts> publisher_;
};

}  // namespace podgpu
