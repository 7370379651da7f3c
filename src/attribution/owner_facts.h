// Makes the owners of all devices from everything that the refreshers have found out.
//
// Each fact is an immutable value that some refresher has published, or null where it is not known
// or not asked for.  A pure function like Join (join.h), which it calls for the device ids: no I/O,
// no clock.  The tick thread calls it when a fact has become another object.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attribution/hpc_jobs.h"
#include "attribution/join.h"
#include "attribution/owner.h"
#include "kube/api_object.h"
#include "kube/pod_resources.h"
#include "topology/topology.h"

namespace podgpu {

struct OwnerFacts {
  std::shared_ptr<const PodAllocations> pods;  // Null: the kubelet has not answered, or long ago.
  std::shared_ptr<const HpcJobs> jobs;         // Null: no directory of jobs.
  std::shared_ptr<const ApiObjects> api_pods;  // Null: the API server is not asked, or not there.
  std::shared_ptr<const ApiObjects> slices;    // ResourceSlices; null likewise.
  // "namespace/name" of pods that are younger than `pods`, which means others; ascending.
  std::vector<std::string> younger_pods = {};
  // Whether both are the same objects.
  bool operator==(const OwnerFacts&) const = default;
};

// What the API server says of a pod decides: one that has ended holds nothing, though kubelets
// before 1.34 go on listing it; one that is younger than the kubelet's answer is not the one that
// is meant there.
Owners MakeOwners(const Topology& topology, const OwnerFacts& facts, const JoinOptions& options);

}  // namespace podgpu
