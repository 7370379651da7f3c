// The port on which the kubelet of a simulated node serves its pods over HTTPS: GET /pods.
//
// The answer is a PodList as kubelets 1.31 to 1.37 write it: no version of the list, static pods
// themselves instead of their mirrors, and whole objects.  The certificate is self-signed, as a
// kubelet's usually is; it is `ca.crt` beside `token` in the folder, and `env` there has the
// variables that podgpu needs.  The caller runs Refresh and Behave on one thread.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "sim/kube/api_server.h"
#include "sim/kube/kubelet_behaviour.h"
#include "sim/world/run_directory.h"

namespace podgpu::sim {

class FakeKubeletPods {
 public:
  // Serves `node`, which outlives the object, and writes credentials and `env` into `folder`.
  static StatusOr<std::unique_ptr<FakeKubeletPods>> Start(RunDirectory& node,
                                                          const std::string& folder);

  // Updates the list to the present world time.
  void Refresh();
  // Applies this misbehaviour from now on.
  void Behave(const KubeletHttpsBehaviour& next);

  std::string url() const;

 private:
  explicit FakeKubeletPods(RunDirectory& node) : node_(node) {}

  RunDirectory& node_;
  FakeApi server_;
  KubeletHttpsBehaviour behaviour_;
  std::string list_;  // The served text.
};

}  // namespace podgpu::sim
