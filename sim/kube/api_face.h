// The API server's content for a simulated node: its pods with labels, and ResourceSlices of its
// GPUs.
//
// Pods of the world are added and deleted as they start and stop, with the labels of a StatefulSet:
// app.kubernetes.io/name is the name without its number, apps.kubernetes.io/pod-index the number.
// One ResourceSlice lists whole GPUs and MIG devices under the names of NVIDIA's driver, with a new
// pool generation after each MIG change, in v1 and v1beta1.  The node with its labels, the API
// server's own EndpointSlice and the ConfigMap of its certificate exist as in every cluster.  The
// folder gets the token, the certificate and `env`, the variables that a pod of this node would
// have.  The caller runs Refresh and Behave on one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "sim/kube/api_behaviour.h"
#include "sim/kube/api_server.h"
#include "sim/world/run_directory.h"

namespace podgpu::sim {

// A pod as FakeApi::Put takes it.
struct ApiPodText {
  std::string metadata, rest;
  bool is_static = false;
  bool operator==(const ApiPodText&) const = default;
};

// Which server describes the pods.  Of a static pod the API server has a mirror with a uid of its
// own; the kubelet has the pod itself, whose uid is the hash of its file.
enum class PodSource : uint8_t { kApiServer, kKubelet };

// The pods that the kubelet lists at `t`, by "namespace/name".
std::map<std::string, ApiPodText> ListedPodTexts(const World& world, TimeUs t, PodSource source);

class ApiFace {
 public:
  // Serves `node`, which outlives the object, and writes credentials and `env` into `folder`.
  static StatusOr<std::unique_ptr<ApiFace>> Start(RunDirectory& node, const std::string& folder);

  // Updates the objects to the present world time.
  void Refresh();
  // Applies this misbehaviour from now on; an error when the new token cannot be written.
  Status Behave(const ApiBehaviour& next);

  FakeApi& server() { return server_; }

 private:
  ApiFace(RunDirectory& node, std::string folder) : node_(node), folder_(std::move(folder)) {}
  void RefreshPods();
  void RefreshSlice();
  void PutWhatEveryClusterHas();
  // The devices of the slice, as v1 or v1beta1 lists them.
  std::string DevicesNow(bool is_older) const;

  RunDirectory& node_;
  const std::string folder_;
  FakeApi server_;
  ApiBehaviour behaviour_;
  uint64_t written_token_ = 0;              // Compared with ApiBehaviour::tokens.
  std::map<std::string, ApiPodText> pods_;  // The served text of each pod, by namespace/name.
  std::string devices_;                     // Of the slice.
  int generation_ = 0;
};

}  // namespace podgpu::sim
