// Makes the owners of all devices from the facts that the refreshers publish.
//
// Each fact is an immutable value from one refresher, or null when it is unknown or not requested.
// A pure function like Join (join.h), which it calls for the device ids: no I/O, no clock. The tick
// thread calls it when a fact has been replaced.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attribution/hpc_jobs.h"
#include "attribution/join.h"
#include "attribution/owner.h"
#include "attribution/runtime_containers.h"
#include "kube/api_object.h"
#include "kube/pod_resources.h"
#include "topology/topology.h"

namespace podgpu {

struct OwnerFacts {
  std::shared_ptr<const PodAllocations>
      pods;  // Null: the kubelet has not answered, or its answer is too old.
  std::shared_ptr<const HpcJobs> jobs;  // Null: no directory of jobs.
  // Null: no container runtime, or its last list is too old.
  std::shared_ptr<const RuntimeContainers> containers = nullptr;
  std::shared_ptr<const ApiObjects>
      api_pods;                              // Null: the API server is not asked or not available.
  std::shared_ptr<const ApiObjects> slices;  // ResourceSlices; null for the same reasons.
  // "namespace/name" of pods created after `pods` was read, so `pods` means earlier pods of these
  // names; ascending.
  std::vector<std::string> younger_pods = {};
  // Compares the identity of the objects, not their contents.
  bool operator==(const OwnerFacts&) const = default;
};

// The API server takes precedence over the kubelet. A GPU that a scheduler's annotation on the pod
// names replaces the kubelet's device ids (scheduler_choices.h). A pod that has ended holds
// nothing, although kubelets before 1.34 still list it. A pod that is younger than the kubelet's
// answer is not the pod in that answer.
Owners MakeOwners(const Topology& topology, const OwnerFacts& facts, const JoinOptions& options);

}  // namespace podgpu
