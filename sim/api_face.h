// What the API server says of a simulated node: its pods with labels, and the ResourceSlices of its
// GPUs.
//
// Pods of the world are put and deleted as they come and go, under the labels that a StatefulSet
// gives them: app.kubernetes.io/name is the name without its number, apps.kubernetes.io/pod-index
// that number.  One ResourceSlice lists whole GPUs and MIG devices as NVIDIA's driver names them,
// in a new generation of its pool whenever MIG changes.  `env` beside token and certificate has the
// variables that a pod of this node would have.  Refresh is the caller's: one thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/status.h"
#include "sim/fake_api.h"
#include "sim/run_directory.h"

namespace podgpu::sim {

class ApiFace {
 public:
  // Serves `node`, which outlives the object, and writes credentials and `env` into `folder`.
  static StatusOr<std::unique_ptr<ApiFace>> Start(RunDirectory& node, const std::string& folder);

  // Brings the objects to the present moment.
  void Refresh();

  FakeApi& server() { return server_; }

 private:
  explicit ApiFace(RunDirectory& node) : node_(node) {}
  void RefreshPods();
  void RefreshSlice();

  RunDirectory& node_;
  FakeApi server_;
  std::map<std::string, std::string> pods_;  // What is served of each, by namespace/name.
  std::string devices_;                      // Of the slice.
  int generation_ = 0;
};

}  // namespace podgpu::sim
