// The kubelet refresher: reads which pod holds which device, at its own pace.  No tick and no
// scrape waits for it.
//
// Asks the kubelet every `period`, also after a failure, and at the slower `quiet_period` once the
// list has been the same for a minute: each request costs two wake-ups, and pods mostly change in
// bursts.  After a failure the last good answer stays, with its age.  An answer that is the same
// object as the last one (kube/pod_resources.h) only renews the age.  A kubelet that has just
// started lists only some of its pods (kube/list_completeness.h): then too the last good answer
// stays, and the kubelet is asked each second.  Publishes PodFacts after every attempt that changed
// something.  A nudge of next_request() makes it ask at once.  Each change of state is one log
// line.  Run is the body of one thread; the rest may be called from any thread.
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
  std::chrono::milliseconds quiet_period{10'000};
  bool expected = true;  // --kubernetes was given: without it a missing socket is not a warning.
  bool in_pod = false;   // podgpu runs in a pod, so a complete list is never empty.
};

class KubeletRefresher {
 public:
  // All arguments passed by reference outlive the refresher.  It nudges `tick` when the answer or
  // the state has changed.
  KubeletRefresher(PodResources& kubelet, RefresherOptions options, Clock& clock, Wakeup& tick);

  void Run(const std::stop_token& stop);

  // The tick nudges it when a pod is younger than the last answer; the next request follows at
  // once.
  Wakeup& next_request() { return next_request_; }

  const Published<PodFacts>& facts() const { return publisher_.facts(); }

 private:
  void RefreshOnce();
  void Accept(std::shared_ptr<const PodAllocations> answer, Instant asked_at);
  void Doubt(ListVerdict verdict, const PodAllocations& answer);
  void Refuse(const Status& failure);
  std::chrono::milliseconds Pause() const;

  PodResources& kubelet_;
  const RefresherOptions options_;
  Clock& clock_;
  Wakeup next_request_;
  ListCompleteness completeness_;
  MemoryReturnSchedule memory_return_;
  std::shared_ptr<const PodAllocations> accepted_;  // The last complete answer.
  Instant changed_at_{};                            // When its list was first seen.
  FactPublisher<PodFacts> publisher_;
};

}  // namespace podgpu
