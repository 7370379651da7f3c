// Replaces the kubelet's device ids of containers for which a scheduler of GPU shares chose the
// GPU.
//
// With gpu-manager, HAMi, Volcano and gpushare the kubelet picks any id of the plugin's list, and
// the scheduler's annotation on the pod names the GPU that the container really gets
// (ApiContainer::gpus).  The kubelet still decides which containers hold something: a pod that it
// does not list holds nothing.  Pure functions; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kube/api_object.h"
#include "kube/pod_resources.h"

namespace podgpu {

struct ChosenAllocations {
  std::vector<Allocation> kubelets;  // Allocations for which no scheduler chose; unchanged.
  std::vector<Allocation> chosen;    // One for each chosen GPU; its id is an index or a UUID.
  // The resources in `chosen`, which count as GPUs there.
  std::vector<std::string> resources;
};

// `younger_pods`: "namespace/name" of pods that are younger than the allocations; ascending.
ChosenAllocations ApplySchedulerChoices(std::span<const Allocation> allocations,
                                        const ApiObjects& pods,
                                        std::span<const std::string> younger_pods);

}  // namespace podgpu
