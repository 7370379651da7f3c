#include "attribution/owner_facts.h"

#include <vector>

#include "attribution/claims.h"

namespace podgpu {
namespace {

// What the API server knows of the owners' pods.  A pod that it does not list (yet) keeps what the
// kubelet says.
void AddPodMetadata(const ApiObjects& pods, const JoinOptions& options, Owners& owners) {
  for (std::vector<Owner>& of_entity : owners.by_entity) {
    for (Owner& owner : of_entity) {
      const auto pod = pods.find(owner.pod_namespace + "/" + owner.pod);
      if (pod == pods.end()) {
        continue;
      }
      owner.pod_uid = pod->second.uid;
      if (options.pod_labels != nullptr) {
        owner.labels = options.pod_labels->Select(pod->second.labels);
      }
    }
  }
}

}  // namespace

Owners MakeOwners(const Topology& topology, const OwnerFacts& facts, const JoinOptions& options) {
  static const std::vector<Allocation> none;
  Owners owners = Join(topology, facts.pods ? facts.pods->allocations : none, options);
  if (options.claims && facts.pods != nullptr) {
    JoinClaims(topology, facts.pods->claimed, facts.slices.get(), options.own_pod, owners);
  }
  if (facts.api_pods != nullptr) {
    AddPodMetadata(*facts.api_pods, options, owners);
  }
  if (facts.jobs != nullptr) {
    owners.jobs_by_entity = JobsByEntity(topology, *facts.jobs);
  }
  return owners;
}

}  // namespace podgpu
