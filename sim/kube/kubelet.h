// The simulated kubelet: the pod-resources service of a node, on a unix socket.
//
// A real gRPC server that answers v1 (List, GetAllocatableResources, Get) and v1alpha1 (List) with
// the pods of the world at the present world time, one ContainerDevices entry per device id as the
// kubelet does.  A version that the scenario's kubelet lacks is UNIMPLEMENTED; calls beyond 100 a
// second, with bursts of 10, are rejected as the kubelet rejects them.  The socket appears by a
// rename over the old one, so its inode changes at each start.  Behave makes it go wrong in the
// ways that kubelets do.  gRPC stays in the .cc; the server's own threads answer, and end with the
// object.
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
  // Serves `directory` at `socket_path`.  Both `directory` and `clock`, which paces the rate limit,
  // outlive the object.
  static StatusOr<std::unique_ptr<FakeKubelet>> Start(RunDirectory& directory, Clock& clock,
                                                      const std::string& socket_path);

  FakeKubelet() = default;
  FakeKubelet(const FakeKubelet&) = delete;
  FakeKubelet& operator=(const FakeKubelet&) = delete;
  // Stops the server; calls under way are cancelled.  Removes the socket.
  virtual ~FakeKubelet() = default;

  // Goes over to another behaviour.  Calls under way end with the socket that they came by, or as
  // they began.  An error says why the socket cannot be made; nothing is served then.
  virtual Status Behave(const KubeletBehaviour& next) = 0;
};

}  // namespace podgpu::sim
