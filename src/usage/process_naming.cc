#include "usage/process_naming.h"

#include <algorithm>
#include <set>
#include <string>

namespace podgpu {
namespace {

class Naming {
 public:
  Naming(const NamingFacts& facts, const ProcessNames& before) : facts_(facts), before_(before) {
    if (facts.pods != nullptr) {
      for (const auto& [key, pod] : *facts.pods) {
        pods_.emplace(pod.cgroup_uid(), &pod);
      }
    }
  }

  void NameDevices() {
    const std::vector<std::string>& uuids = facts_.processes.uuids;
    for (uint32_t i = 0; i < uuids.size(); ++i) {
      const auto gpu = std::ranges::find(facts_.topology.gpus, uuids[i], &Gpu::uuid);
      if (gpu != facts_.topology.gpus.end()) {
        names_.gpus[{i}] = std::to_string(gpu->gpu_id);
        names_.uuids[{i}] = gpu->uuid;
      }
    }
  }

  void Name(const CgroupPlace& place) {
    NamePod(place.pod_uid);
    if (place.container_id.empty() || names_.containers.contains(place.container_id)) {
      return;
    }
    std::string name = ContainerOf(place);
    if (!name.empty()) {
      names_.containers[place.container_id] = std::move(name);
    }
  }

  void NamePods() {
    for (const std::string& uid : facts_.pod_uids) {
      NamePod(uid);
    }
  }

  ProcessNames names() && { return std::move(names_); }

 private:
  void NamePod(const std::string& uid) {
    if (uid.empty() || names_.pods.contains(uid)) {
      return;
    }
    if (const auto pod = pods_.find(uid); pod != pods_.end()) {
      names_.pods[uid] = {.name_space = pod->second->name_space,
                          .name = pod->second->name,
                          .uid = pod->second->uid};
    } else if (const auto known = before_.pods.find(uid); known != before_.pods.end()) {
      names_.pods.insert(*known);
    } else if (facts_.learned != nullptr && facts_.learned->PodOf(uid) != nullptr) {
      names_.pods[uid] = *facts_.learned->PodOf(uid);
    }
  }

  // Returns an empty string while the name is unknown.  The order is that of process_naming.h.
  std::string ContainerOf(const CgroupPlace& place) const {
    if (const auto pod = pods_.find(place.pod_uid); pod != pods_.end()) {
      const auto container =
          std::ranges::find(pod->second->containers, place.container_id, &ApiContainer::id);
      if (container != pod->second->containers.end()) {
        return container->name;
      }
    }
    const auto known = before_.containers.find(place.container_id);
    if (known != before_.containers.end()) {
      return known->second;
    }
    const std::string* const learned =
        facts_.learned != nullptr ? facts_.learned->ContainerOf(place.container_id) : nullptr;
    return learned != nullptr ? *learned : OnlyHolder(place.pod_uid);
  }

  // Returns the container of the pod that holds devices, if there is exactly one.
  std::string OnlyHolder(const std::string& uid) const {
    const auto pod = names_.pods.find(uid);
    if (pod == names_.pods.end() || facts_.owners == nullptr) {
      return {};
    }
    std::set<std::string> containers;
    for (const std::vector<Owner>& owners : facts_.owners->by_entity) {
      for (const Owner& owner : owners) {
        if (owner.pod == pod->second.name && owner.pod_namespace == pod->second.name_space) {
          containers.insert(owner.container);
        }
      }
    }
    return containers.size() == 1 ? *containers.begin() : std::string();
  }

  const NamingFacts& facts_;
  const ProcessNames& before_;
  // Pods by uid; static ones by the hash of their file.
  std::map<std::string, const ApiObject*> pods_;
  ProcessNames names_;
};

}  // namespace

ProcessNames NameProcesses(const ProcessTable& table, const NamingFacts& facts,
                           const ProcessNames& before) {
  Naming naming(facts, before);
  naming.NameDevices();
  for (const auto& [device, rows] : table.devices()) {
    for (const auto& [process, row] : rows) {
      if (row.identity != nullptr) {
        naming.Name(row.identity->place);
      }
    }
  }
  naming.NamePods();
  return std::move(naming).names();
}

}  // namespace podgpu
