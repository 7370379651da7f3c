#include "usage/device_holders.h"

#include <algorithm>

namespace podgpu {
namespace {

void AddHolder(PodNumber pod, const std::string& container, bool shared, DeviceHolders& holders) {
  const auto [it, is_first] =
      holders.holdings.try_emplace(pod, ProcessNames::Holding{container, shared});
  if (!is_first) {
    it->second.container = it->second.container == container ? container : "";
    it->second.shared = it->second.shared || shared;
  }
}

}  // namespace

std::string PodUids::Of(const Owner& owner) const {
  if (api == nullptr || api->value == nullptr) {
    const std::string* const uid = learned.UidOf(owner.pod_namespace, owner.pod);
    return uid == nullptr ? owner.pod_uid : *uid;
  }
  // The API server's uid comes first.  A pod that was created after the kubelet's answer is another
  // pod of the same name, so its uid must not be used for the owner that the kubelet named.
  const std::string name = owner.pod_namespace + '/' + owner.pod;
  const auto pod = api->value->find(name);
  if (pod == api->value->end() || std::ranges::binary_search(younger_pods, name)) {
    return owner.pod_uid;
  }
  return pod->second.cgroup_uid();
}

const ProcessNames::Holding* DeviceHolders::HoldingOf(PodNumber pod) const {
  const auto holding = holdings.find(pod);
  return holding == holdings.end() ? nullptr : &holding->second;
}

DeviceHolders HoldersOf(const std::string& uuid, const TickFacts& facts, const PodUids& uids,
                        PodNumbers& numbers) {
  DeviceHolders holders;
  if (facts.owners == nullptr) {
    return holders;
  }
  const Topology& topology = facts.grid->topology();
  const auto& by_entity = facts.owners->by_entity;
  for (size_t i = 0; i < std::min(topology.entities.size(), by_entity.size()); ++i) {
    if (topology.gpus[topology.entities[i].gpu].uuid != uuid) {
      continue;
    }
    const bool has_others = SoleOwner(by_entity[i]) == nullptr;
    for (const Owner& owner : by_entity[i]) {
      const PodNumber pod = numbers.NumberOf(uids.Of(owner), facts.now);
      if (pod != kNoPod) {
        AddHolder(pod, owner.container, has_others || !owner.replica.empty(), holders);
      }
    }
  }
  for (const auto& [pod, holding] : holders.holdings) {
    holders.pods.push_back(pod);
  }
  return holders;
}

}  // namespace podgpu
