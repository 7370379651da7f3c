#include "attribution/scheduler_choices.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace podgpu {
namespace {

// The resources for which a scheduler chooses the GPU. When a container has several of them, its
// owner shows the one that is first here.
constexpr std::string_view kChosenResources[] = {
    "tencent.com/vcuda-core",   "volcano.sh/vgpu-number", "volcano.sh/gpu-number",
    "volcano.sh/gpu-memory",    "aliyun.com/gpu-mem",     "nvidia.com/gpu",
    "tencent.com/vcuda-memory", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"};

size_t RankOf(std::string_view resource) {
  return static_cast<size_t>(std::ranges::find(kChosenResources, resource) -
                             std::begin(kChosenResources));
}

// The GPUs that a scheduler chose for the container of `allocation`; null if it chose none.
const std::vector<std::string>* ChoiceFor(const Allocation& allocation, const ApiObjects& pods,
                                          std::span<const std::string> younger_pods) {
  // HAMi gives instances under their own ids, which are the true ones.
  if (RankOf(allocation.resource) == std::size(kChosenResources) ||
      allocation.device_id.starts_with("MIG-")) {
    return nullptr;
  }
  // A pod that is younger than the kubelet's answer is another pod with the same name, so its
  // annotation does not count for this allocation.
  const std::string name = allocation.pod_namespace + "/" + allocation.pod;
  const auto pod = pods.find(name);
  if (pod == pods.end() || std::ranges::binary_search(younger_pods, name)) {
    return nullptr;
  }
  const auto container =
      std::ranges::find(pod->second.containers, allocation.container, &ApiContainer::name);
  return container == pod->second.containers.end() || container->gpus.empty() ? nullptr
                                                                              : &container->gpus;
}

}  // namespace

// The kubelet lists an allocation for each id of each resource, while a scheduler makes one choice
// for the container. So one choice replaces all of these allocations.
ChosenAllocations ApplySchedulerChoices(std::span<const Allocation> allocations,
                                        const ApiObjects& pods,
                                        std::span<const std::string> younger_pods) {
  struct Choice {
    std::string resource;
    const std::vector<std::string>* gpus = nullptr;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Choice> choices;
  ChosenAllocations result;
  for (const Allocation& allocation : allocations) {
    const std::vector<std::string>* gpus = ChoiceFor(allocation, pods, younger_pods);
    if (gpus == nullptr) {
      result.kubelets.push_back(allocation);
      continue;
    }
    Choice& choice = choices[{allocation.pod_namespace, allocation.pod, allocation.container}];
    if (choice.gpus == nullptr || RankOf(allocation.resource) < RankOf(choice.resource)) {
      choice = {allocation.resource, gpus};
    }
  }
  for (const auto& [name, choice] : choices) {
    const auto& [pod_namespace, pod, container] = name;
    result.resources.push_back(choice.resource);
    for (const std::string& gpu : *choice.gpus) {
      result.chosen.push_back({pod_namespace, pod, container, choice.resource, gpu});
    }
  }
  return result;
}

}  // namespace podgpu
