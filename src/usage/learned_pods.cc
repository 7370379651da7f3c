#include "usage/learned_pods.h"

#include <algorithm>
#include <tuple>

namespace podgpu {
namespace {

// Returns the entity that a row is on, or nothing for a missing device or instance.
std::optional<uint16_t> EntityOfRow(const DeviceUsers& users, DeviceNumber device,
                                    const ProcessRow& row) {
  const Topology& topology = users.topology;
  if (device.value >= users.uuids.size()) {
    return std::nullopt;
  }
  const auto entities = static_cast<uint16_t>(topology.entities.size());
  for (uint16_t i = 0; i < entities; ++i) {
    const GpuInstance* instance = topology.InstanceOf({i});
    const uint32_t id = instance == nullptr ? kWholeGpu : instance->gpu_instance_id;
    if (topology.GpuOf({i}).uuid == users.uuids[device.value] && id == row.instance) {
      return i;
    }
  }
  return std::nullopt;
}

bool IsInPod(const ProcessRow& row) {
  return row.identity != nullptr && !row.identity->place.pod_uid.empty();
}

// Returns whether the pod holds each of `entities`, alone or with others.
bool HoldsAll(const Owner& pod, const std::set<uint16_t>& entities, const Owners& owners) {
  return std::ranges::all_of(entities, [&](uint16_t entity) {
    return std::ranges::any_of(owners.by_entity[entity], [&](const Owner& owner) {
      return owner.pod == pod.pod && owner.pod_namespace == pod.pod_namespace;
    });
  });
}

bool IsHeldByAny(const Owners& owners, const std::string& name_space, const std::string& name) {
  return std::ranges::any_of(owners.by_entity, [&](const std::vector<Owner>& of_entity) {
    return std::ranges::any_of(of_entity, [&](const Owner& owner) {
      return owner.pod == name && owner.pod_namespace == name_space;
    });
  });
}

}  // namespace

bool LearnedPods::Learn(const DeviceUsers& users) {
  const auto before = std::tuple(uids_, pods_, containers_);
  const Places places = PlacesOf(users);
  DropUnused(places, users.owners);
  std::map<PodKey, std::set<std::string>> candidates;
  for (const auto& [uid, entities] : places.of_pods) {
    for (const uint16_t entity : entities) {
      const Owner* const owner = SoleOwner(users.owners.by_entity[entity]);
      if (owner != nullptr && HoldsAll(*owner, entities, users.owners)) {
        candidates[{owner->pod_namespace, owner->pod}].insert(uid);
      }
    }
  }
  for (const auto& [pod, uids] : candidates) {
    Bind(pod, uids, places);
  }
  NameContainers(places, users.owners);
  return before != std::tie(uids_, pods_, containers_);
}

bool LearnedPods::Forget() {
  const bool had_some = !pods_.empty();
  uids_.clear();
  pods_.clear();
  containers_.clear();
  return had_some;
}

LearnedPods::Places LearnedPods::PlacesOf(const DeviceUsers& users) {
  Places places;
  for (const auto& [device, rows] : users.table.devices()) {
    for (const auto& [process, row] : rows) {
      if (!IsInPod(row)) {
        continue;
      }
      const CgroupPlace& place = row.identity->place;
      places.uids.insert(place.pod_uid);
      const std::optional<uint16_t> entity = EntityOfRow(users, device, row);
      if (!row.active || !entity || *entity >= users.owners.by_entity.size()) {
        continue;
      }
      places.of_pods[place.pod_uid].insert(*entity);
      auto& [uid, entities] = places.of_containers[place.container_id];
      uid = place.pod_uid;
      entities.insert(*entity);
    }
  }
  return places;
}

// A known pod keeps its uid while that uid has a row: a second uid then belongs to another pod.  A
// uid is bound only if it is the only candidate, since a wrong name is worse than none.
void LearnedPods::Bind(const PodKey& pod, const std::set<std::string>& candidates,
                       const Places& places) {
  const auto known = uids_.find(pod);
  if (candidates.size() != 1 || (known != uids_.end() && places.uids.contains(known->second)) ||
      pods_.contains(*candidates.begin())) {
    return;
  }
  if (known != uids_.end()) {
    pods_.erase(known->second);
  }
  const std::string& uid = *candidates.begin();
  uids_[pod] = uid;
  pods_[uid] = {.name_space = pod.first, .name = pod.second};
}

void LearnedPods::NameContainers(const Places& places, const Owners& owners) {
  for (const auto& [id, pod_and_entities] : places.of_containers) {
    const ProcessNames::Pod* const pod = PodOf(pod_and_entities.first);
    if (id.empty() || pod == nullptr) {
      continue;
    }
    // A device that no container of this pod holds alone adds an empty name.  One such device
    // leaves the container without a name, since a wrong name is worse than none.
    std::set<std::string> names;
    for (const uint16_t entity : pod_and_entities.second) {
      const Owner* const owner = SoleOwner(owners.by_entity[entity]);
      const bool is_of_pod =
          owner != nullptr && owner->pod == pod->name && owner->pod_namespace == pod->name_space;
      names.insert(is_of_pod ? owner->container : std::string());
    }
    if (names.size() == 1 && !names.begin()->empty()) {
      containers_[id] = *names.begin();
    }
  }
}

void LearnedPods::DropUnused(const Places& places, const Owners& owners) {
  std::erase_if(pods_, [&](const auto& known) {
    const auto& [uid, pod] = known;
    return !places.uids.contains(uid) && !IsHeldByAny(owners, pod.name_space, pod.name);
  });
  std::erase_if(uids_, [&](const auto& known) { return !pods_.contains(known.second); });
  std::erase_if(containers_,
                [&](const auto& known) { return !places.of_containers.contains(known.first); });
}

const ProcessNames::Pod* LearnedPods::PodOf(const std::string& uid) const {
  const auto pod = pods_.find(uid);
  return pod == pods_.end() ? nullptr : &pod->second;
}

const std::string* LearnedPods::UidOf(const std::string& name_space,
                                      const std::string& name) const {
  const auto uid = uids_.find({name_space, name});
  return uid == uids_.end() ? nullptr : &uid->second;
}

const std::string* LearnedPods::ContainerOf(const std::string& container_id) const {
  const auto name = containers_.find(container_id);
  return name == containers_.end() ? nullptr : &name->second;
}

UnnamedProcesses FindUnnamed(const DeviceUsers& users, const ProcessNames& names) {
  UnnamedProcesses unnamed;
  for (const auto& [device, rows] : users.table.devices()) {
    for (const auto& [process, row] : rows) {
      if (!row.active || !IsInPod(row) || names.pods.contains(row.identity->place.pod_uid)) {
        continue;
      }
      const std::optional<uint16_t> entity = EntityOfRow(users, device, row);
      if (!entity || *entity >= users.owners.by_entity.size() ||
          users.owners.by_entity[*entity].empty()) {
        continue;
      }
      if (unnamed.count++ == 0) {
        const Gpu& gpu = users.topology.GpuOf({*entity});
        const size_t holders = OnePerContainer(users.owners.by_entity[*entity]).size();
        unnamed = {1, process.pid, gpu.gpu_id, gpu.uuid, holders};
      }
    }
  }
  return unnamed;
}

}  // namespace podgpu
