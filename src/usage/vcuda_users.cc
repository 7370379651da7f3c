#include "usage/vcuda_users.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "usage/gpu_request.h"

namespace podgpu {
namespace {

struct ContainerName {
  std::string name_space, pod, container;
  auto operator<=>(const ContainerName&) const = default;
};

// A container with the facts found so far.
struct Found {
  std::optional<GpuRequest> request;  // Absent without the API server.
  std::string container_id;
  bool is_told = false;
  std::set<EntityId> held, used;
};

// gpu-manager ignores a request for less than a card that has no amount of memory.
bool AsksForGpus(const ApiObject& pod, std::span<const std::string> more_cards) {
  uint64_t core = 0;
  uint64_t memory = 0;
  bool asks_others = false;
  for (const ApiContainer& container : pod.containers) {
    GpuRequest request = RequestOf(container, more_cards);
    core += request.vcuda_core;
    memory += request.vcuda_memory;
    request.vcuda_core = 0;
    asks_others = asks_others || request.asks();
  }
  constexpr uint64_t kCoreOfCard = 100;
  return asks_others || (core > 0 && (core >= kCoreOfCard || memory > 0));
}

class CardUserFinder {
 public:
  explicit CardUserFinder(const CardFacts& facts) : facts_(facts) {
    const auto entities = static_cast<uint16_t>(facts_.topology.entities.size());
    for (uint16_t i = 0; i < entities; ++i) {
      const Entity& entity = facts_.topology.entities[i];
      if (!entity.instance) {
        const Gpu& gpu = facts_.topology.gpus[entity.gpu];
        by_name_.emplace(gpu.uuid, EntityId{i});
        by_name_.emplace(std::to_string(gpu.gpu_id), EntityId{i});
      }
    }
    const std::vector<std::string>& uuids = facts_.processes.uuids;
    for (uint32_t i = 0; i < uuids.size(); ++i) {
      numbers_.emplace(uuids[i], DeviceNumber{i});
    }
  }

  // Adds the containers with requests, from the API server.
  void AddPods() {
    for (const auto& [key, pod] : *facts_.pods) {
      if (pod.has_ended || facts_.join.ignored.Contain(pod.name_space, pod.name) ||
          !(AsksForGpus(pod, MoreCards()) || holders_.contains(key))) {
        continue;
      }
      for (const ApiContainer& container : pod.containers) {
        const ContainerName name{pod.name_space, pod.name, container.name};
        GpuRequest request = RequestOf(container, MoreCards());
        if (container.is_regular || request.asks()) {
          AddContainer(container, std::move(request), found_[name]);
        }
      }
    }
  }

  // Adds the containers that hold devices, from the kubelet.
  void AddHolders() {
    for (uint16_t i = 0; facts_.owners != nullptr && i < EntityCount(); ++i) {
      for (const Owner& owner : facts_.owners->by_entity[i]) {
        holders_.insert(owner.pod_namespace + '/' + owner.pod);
        held_[{owner.pod_namespace, owner.pod, owner.container}].insert({i});
      }
    }
    if (facts_.pods == nullptr) {
      for (const auto& [name, held] : held_) {
        found_[name].held = held;
      }
    }
  }

  // Uses the kubelet's allocation where no scheduler has written its own into the pod.
  void TakeHeld() {
    for (auto& [name, found] : found_) {
      const auto held = held_.find(name);
      if (found.held.empty() && held != held_.end()) {
        found.held = held->second;
      }
    }
  }

  // Finds the container id of each container that holds a device alone, when there is no API
  // server.
  void TellByDevices() {
    for (uint16_t i = 0; facts_.owners != nullptr && i < EntityCount(); ++i) {
      const Owner* sole = SoleOwner(facts_.owners->by_entity[i]);
      if (sole == nullptr) {
        continue;
      }
      Found& found = found_[{sole->pod_namespace, sole->pod, sole->container}];
      std::set<std::string> ids;
      VisitRows([&](const ProcessRow& row, EntityId entity) {
        if (row.active && entity.index == i) {
          ids.insert(row.identity->place.container_id);
        }
      });
      ids.insert(found.container_id);
      ids.erase(std::string());
      found.is_told = ids.size() <= 1 && !mixed_.contains(&found);
      found.container_id = ids.size() == 1 ? *ids.begin() : std::string();
      if (ids.size() > 1) {
        mixed_.insert(&found);
      }
    }
    ForgetWhoSharesADevice();
  }

  // Adds the devices on which the processes of each container run.
  void AddUsed() {
    std::map<std::string_view, Found*> by_id;
    for (auto& [name, found] : found_) {
      if (!found.container_id.empty()) {
        by_id.emplace(found.container_id, &found);
      }
    }
    VisitRows([&](const ProcessRow& row, EntityId entity) {
      const auto found = by_id.find(row.identity->place.container_id);
      if (found != by_id.end()) {
        found->second->used.insert(entity);
      }
    });
  }

  std::vector<CardUser> Users() const {
    std::vector<CardUser> users;
    for (const auto& [name, found] : found_) {
      CardUser& user = users.emplace_back(CardUser{.name_space = name.name_space,
                                                   .pod = name.pod,
                                                   .container = name.container,
                                                   .container_id = found.container_id,
                                                   .is_told = found.is_told,
                                                   .cards = CardsOf(found),
                                                   .asked = {}});
      if (found.request) {
        user.asked = AskedBy(
            *found.request,
            {{found.held.begin(), found.held.end()}, {found.used.begin(), found.used.end()}},
            facts_.topology, facts_.volcano_unit_mib);
      }
    }
    return users;
  }

 private:
  std::span<const std::string> MoreCards() const { return facts_.join.extra_resource_names; }

  size_t EntityCount() const {
    return std::min(facts_.topology.entities.size(), facts_.owners->by_entity.size());
  }

  void AddContainer(const ApiContainer& container, GpuRequest request, Found& found) const {
    found.request = std::move(request);
    found.container_id = container.id;
    found.is_told = true;
    for (const std::string& gpu : container.gpus) {
      if (const auto entity = by_name_.find(gpu); entity != by_name_.end()) {
        found.held.insert(entity->second);
      }
    }
  }

  // A container that also shares a device stays known only if a device of its own gave its id:
  // otherwise its processes on the shared device cannot be told from those of others.
  void ForgetWhoSharesADevice() {
    for (uint16_t i = 0; facts_.owners != nullptr && i < EntityCount(); ++i) {
      const std::vector<Owner>& owners = facts_.owners->by_entity[i];
      if (SoleOwner(owners) == nullptr) {
        for (const Owner& owner : owners) {
          Found& found = found_[{owner.pod_namespace, owner.pod, owner.container}];
          found.is_told = found.is_told && !found.container_id.empty();
        }
      }
    }
  }

  // Calls `visit` with each process that is in a container, and the GPU or instance that it is on.
  template <typename Visit>
  void VisitRows(const Visit& visit) const {
    const auto entities = static_cast<uint16_t>(facts_.topology.entities.size());
    for (uint16_t i = 0; i < entities; ++i) {
      const EntityId entity{i};
      const auto number = numbers_.find(facts_.topology.GpuOf(entity).uuid);
      const auto rows = number == numbers_.end() ? facts_.table.devices().end()
                                                 : facts_.table.devices().find(number->second);
      if (rows == facts_.table.devices().end()) {
        continue;
      }
      const GpuInstance* instance = facts_.topology.InstanceOf(entity);
      const uint32_t wanted = instance == nullptr ? kWholeGpu : instance->gpu_instance_id;
      for (const auto& [process, row] : rows->second) {
        if (row.instance == wanted && row.identity != nullptr &&
            !row.identity->place.container_id.empty()) {
          visit(row, entity);
        }
      }
    }
  }

  std::vector<CardUser::Card> CardsOf(const Found& found) const {
    std::map<uint32_t, std::optional<DeviceNumber>> cards;
    for (const std::set<EntityId>* entities : {&found.held, &found.used}) {
      for (const EntityId entity : *entities) {
        const Gpu& gpu = facts_.topology.GpuOf(entity);
        const auto number = numbers_.find(gpu.uuid);
        cards[gpu.gpu_id] = number == numbers_.end() ? std::nullopt : std::optional(number->second);
      }
    }
    std::vector<CardUser::Card> listed;
    listed.reserve(cards.size());
    for (const auto& [gpu, device] : cards) {
      listed.push_back({gpu, device});
    }
    return listed;
  }

  const CardFacts& facts_;
  std::map<std::string, EntityId, std::less<>> by_name_;  // Whole GPUs, by UUID and by index.
  std::map<std::string, DeviceNumber, std::less<>> numbers_;
  std::map<ContainerName, Found> found_;
  std::map<ContainerName, std::set<EntityId>> held_;
  std::set<std::string> holders_;  // "namespace/pod"
  std::set<const Found*> mixed_;   // Containers with processes of other containers on their device.
};

}  // namespace

std::vector<CardUser> FindCardUsers(const CardFacts& facts) {
  CardUserFinder finder(facts);
  finder.AddHolders();
  if (facts.pods != nullptr) {
    finder.AddPods();
    finder.TakeHeld();
  } else {
    finder.TellByDevices();
  }
  finder.AddUsed();
  return finder.Users();
}

}  // namespace podgpu
