// The kubelet pods refresher: reads names, uids and labels of pods from the kubelet instead of the
// API server (--kubelet-pods-url).
//
// Asks the kubelet for its pods (kube/kubelet_pods.h) every `period`; after a failure it waits
// longer each time, as the API refresher does.  It publishes ApiFacts, so all users of pods treat
// both servers alike.  After a failure the last list stays published; the tick decides how long it
// uses it.  A kubelet that has just started lists only some of its pods: the last list also stays
// until the kubelet lists podgpu's own pod again.  Each change of state, and each new cause of
// failure, is one log line.  Run is the body of one thread; the rest may be called from any thread.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/published.h"
#include "base/wakeup.h"
#include "facts/thread_facts.h"
#include "kube/api_pace.h"
#include "kube/kubelet_pods.h"
#include "kube/pod_resources.h"
#include "kube/renewed_pods.h"
#include "refresh/fact_publisher.h"

namespace podgpu {

struct KubeletPodsRefresherOptions {
  KubeletPodsOptions kubelet;
  std::chrono::milliseconds period{10'000};
  OwnPod own_pod;
  uint32_t seed = 0;  // For the random part of waits after a failure.
};

class KubeletPodsRefresher {
 public:
  // All arguments passed by reference outlive the refresher.  It nudges `tick` when facts change.
  KubeletPodsRefresher(const Files& files, KubeletPodsRefresherOptions options, Clock& clock,
                       Wakeup& tick);

  void Run(const std::stop_token& stop);

  const Published<ApiFacts>& facts() const { return publisher_.facts(); }

 private:
  // Asks once; returns how long to wait before the next time.
  Duration RefreshOnce(const std::stop_token& stop);
  Duration Accept(ApiObjects pods);
  void Refuse(const Status& failure);
  // Sets the state of `next` after a failure.
  void Degrade(ApiFacts& next, const Status& failure) const;

  const Files& files_;
  const KubeletPodsRefresherOptions options_;
  Clock& clock_;
  ApiPace pace_;
  RenewedPods renewed_;
  FactPublisher<ApiFacts> publisher_;
  uint64_t requests_ = 0;
  bool was_allowed_ = false;    // The kubelet has answered with a list since the start.
  bool has_listed_us_ = false;  // The current list contains podgpu's own pod.
};

}  // namespace podgpu
