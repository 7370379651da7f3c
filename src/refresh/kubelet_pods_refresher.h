// The refresher of the kubelet's pods: an alternative to the API server where pods are wanted.
//
// Asks the kubelet for its pods (kube/kubelet_pods.h) at the pace at which its devices are asked
// for; after a failure it waits longer each time, as for the API server.  Publishes ApiFacts, so
// that names of processes, uids and labels are made as if the API server had told them; what was
// known stays for a while after a failure, which is the tick's business.  A kubelet that has just
// started lists only some of its pods: until the pod that this program runs in is listed again,
// what was known stays too.  Each change of state, and each other cause of failure, is one log
// line.  Run is the body of one thread; the rest may be called from any thread.
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
  uint32_t seed = 0;  // Of the random part of waits after a failure.
};

class KubeletPodsRefresher {
 public:
  // All borrowed things outlive the refresher.  `tick` is nudged when there is news.
  KubeletPodsRefresher(const Files& files, KubeletPodsRefresherOptions options, Clock& clock,
                       Wakeup& tick);

  void Run(const std::stop_token& stop);

  const Published<ApiFacts>& facts() const { return publisher_.facts(); }

 private:
  // Asks once; returns how long to wait before the next time.
  Duration RefreshOnce(const std::stop_token& stop);
  Duration Accept(ApiObjects pods);
  void Refuse(const Status& failure);
  // Notes a state that is not ok.
  void Degrade(ApiFacts& next, const Status& failure) const;

  const Files& files_;
  const KubeletPodsRefresherOptions options_;
  Clock& clock_;
  ApiPace pace_;
  RenewedPods renewed_;
  FactPublisher<ApiFacts> publisher_;
  uint64_t requests_ = 0;
  bool was_allowed_ = false;    // A list has been granted since the start.
  bool has_listed_us_ = false;  // The list in force has our own pod.
};

}  // namespace podgpu
