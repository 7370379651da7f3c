// The simulated kubelet: the pod-resources service of a node, on a unix socket.
//
// A real gRPC server that answers v1 (List, GetAllocatableResources, Get) and v1alpha1 (List) with
// the pods of the world at the present world time, one ContainerDevices entry per device id as the
// kubelet does.  A version that the scenario's kubelet lacks is UNIMPLEMENTED; calls beyond 100 per
// second, with bursts of 10, are rejected as by the kubelet.  The socket appears by a rename over
// the old one, so its inode changes at each start.  Behave applies the misbehaviour of real
// kubelets. gRPC stays in the .cc; the server's own threads answer, and end with the object.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "sim/kube/kubelet_behaviour.h"
#include "sim/world/run_directory.h"

namespace podgpu::sim {

class FakeKubelet {
 public:
  // Serves `directory` at `socket_path`.  `directory` and `clock`, which paces the rate limit, must
  // outlive the object.
  static StatusOr<std::unique_ptr<FakeKubelet>> Start(RunDirectory& directory, Clock& clock,
                                                      const std::string& socket_path);

  FakeKubelet() = default;
  FakeKubelet(const FakeKubelet&) = delete;
  FakeKubelet& operator=(const FakeKubelet&) = delete;
  // Stops the server, cancels calls in progress and removes the socket.
  virtual ~FakeKubelet() = default;

  // Switches to another behaviour.  Calls in progress end with their socket, or finish as they
  // began. An error says why the socket cannot be created; then nothing is served.
  virtual Status Behave(const KubeletBehaviour& next) = 0;
};

}  // namespace podgpu::sim
