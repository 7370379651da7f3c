#include "attribution/owner_facts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "attribution/claims.h"
#include "attribution/scheduler_choices.h"

namespace podgpu {
namespace {

// Returns the API server's pod for an owner. Returns null when it does not list the pod (yet), or
// when its pod is younger than the kubelet's answer and so must be another one.
const ApiObject* PodOf(const Owner& owner, const OwnerFacts& facts) {
  const std::string name = owner.pod_namespace + "/" + owner.pod;
  const auto pod = facts.api_pods->find(name);
  return pod == facts.api_pods->end() || std::ranges::binary_search(facts.younger_pods, name)
             ? nullptr
             : &pod->second;
}

// A pod that the API server does not list keeps the kubelet's data.
void AddPodMetadata(const OwnerFacts& facts, const JoinOptions& options, Owners& owners) {
  std::map<std::string, SelectedLabels> selected;
  for (std::vector<Owner>& of_entity : owners.by_entity) {
    // A kubelet before 1.34 lists an ended pod until it admits another. The API server tells the
    // end.
    std::erase_if(of_entity, [&](const Owner& owner) {
      const ApiObject* const pod = PodOf(owner, facts);
      return pod != nullptr && pod->has_ended;
    });
    for (Owner& owner : of_entity) {
      const ApiObject* const pod = PodOf(owner, facts);
      if (pod == nullptr) {
        continue;
      }
      owner.pod_uid = pod->uid;
      if (options.pod_labels == nullptr) {
        continue;
      }
      const auto [labels, is_new] = selected.try_emplace(owner.pod_namespace + "/" + owner.pod);
      if (is_new) {
        labels->second = options.pod_labels->Select(pod->labels);
        if (labels->second.dropped > 0) {
          owners.dropped_labels.push_back({owner.pod_namespace, owner.pod, labels->second.dropped});
        }
      }
      owner.labels = labels->second.labels;
    }
  }
  std::ranges::sort(owners.dropped_labels);
}

// Returns the owners of device ids: those of the kubelet, except where a scheduler chose the GPU.
Owners JoinAllocations(const Topology& topology, const OwnerFacts& facts,
                       const JoinOptions& options) {
  static const std::vector<Allocation> none;
  const std::vector<Allocation>& allocations = facts.pods ? facts.pods->allocations : none;
  if (facts.api_pods == nullptr) {
    return Join(topology, allocations, options);
  }
  const ChosenAllocations split =
      ApplySchedulerChoices(allocations, *facts.api_pods, facts.younger_pods);
  Owners owners = Join(topology, split.kubelets, options);
  if (split.chosen.empty()) {
    return owners;
  }
  // Here the resources of the choices count as GPUs, because a scheduler named the GPU. In the join
  // above they do not: the kubelet's id may be of another GPU.
  JoinOptions of_chosen = options;
  of_chosen.extra_resource_names.insert(of_chosen.extra_resource_names.end(),
                                        split.resources.begin(), split.resources.end());
  Owners chosen = Join(topology, split.chosen, of_chosen);
  for (size_t i = 0; i < owners.by_entity.size(); ++i) {
    std::ranges::move(chosen.by_entity[i], std::back_inserter(owners.by_entity[i]));
  }
  std::ranges::move(chosen.unmatched, std::back_inserter(owners.unmatched));
  SortOwners(owners);
  return owners;
}

}  // namespace

Owners MakeOwners(const Topology& topology, const OwnerFacts& facts, const JoinOptions& options) {
  Owners owners = JoinAllocations(topology, facts, options);
  if (options.claims && facts.pods != nullptr) {
    JoinClaims(topology, facts.pods->claimed, facts.slices.get(), options.ignored, owners);
  }
  if (facts.api_pods != nullptr) {
    AddPodMetadata(facts, options, owners);
  }
  if (facts.jobs != nullptr) {
    owners.jobs_by_entity = JobsByEntity(topology, *facts.jobs);
  }
  if (facts.containers != nullptr) {
    ContainersByEntity matched = MatchContainers(topology, *facts.containers);
    owners.containers_by_entity = std::move(matched.by_entity);
    owners.unmatched_of_containers = std::move(matched.unmatched);
  }
  return owners;
}

}  // namespace podgpu
