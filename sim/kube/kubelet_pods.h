// The port on which the kubelet of a simulated node serves its pods over HTTPS: GET /pods.
//
// The answer is a PodList as kubelet 1.31 to 1.37 writes it: no version of the list, static pods
// themselves and not their mirrors, and whole objects.  The certificate is signed by itself, as a
// kubelet's is as a rule; it stands as `ca.crt` beside `token` in the folder, and `env` there has
// the variables that podgpu needs.  Refresh and Behave are the caller's: one thread.
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

  // Brings the list to the present moment.
  void Refresh();
  // Goes wrong as told from now on.
  void Behave(const KubeletHttpsBehaviour& next);

  std::string url() const;

 private:
  explicit FakeKubeletPods(RunDirectory& node) : node_(node) {}

  RunDirectory& node_;
  FakeApi server_;
  KubeletHttpsBehaviour behaviour_;
  std::string list_;  // What is served.
};

}  // namespace podgpu::sim
