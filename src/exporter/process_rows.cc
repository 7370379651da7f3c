#include "exporter/process_rows.h"

#include <algorithm>
#include <set>
#include <utility>

#include "view/energy_view.h"

namespace podgpu {

void ProcessRows::Take(ProcessFeed& feed, const TickFacts& facts) {
  feed.Take(readings_);
  for (const std::unique_ptr<ProcessReading>& reading : readings_) {
    accounts_.Take(*reading);
    read_at_ = reading->at;
  }
  feed.GiveBack(readings_);
  if (facts.grid == nullptr) {
    return;
  }
  Basis basis{.rows = accounts_.table().generation(),
              .epoch = facts.grid->topology().epoch,
              .owners = facts.owners,
              .pods = facts.api_pods,
              .facts = feed.facts().Get()};
  if (basis_ != basis) {
    NameAll(basis, facts.grid->topology());
    basis_ = std::move(basis);
  }
}

void ProcessRows::NameAll(const Basis& basis, const Topology& topology) {
  ProcessNames names;
  for (uint32_t i = 0; i < basis.facts->uuids.size(); ++i) {
    const auto gpu = std::ranges::find(topology.gpus, basis.facts->uuids[i], &Gpu::uuid);
    if (gpu != topology.gpus.end()) {
      names.gpus[{i}] = std::to_string(gpu->gpu_id);
      names.uuids[{i}] = gpu->uuid;
    }
  }
  for (const auto& [device, rows] : accounts_.table().devices()) {
    for (const auto& [process, row] : rows) {
      if (row.identity != nullptr) {
        NamePod(row.identity->place.pod_uid, basis, names);
        NameContainer(*row.identity, basis, names);
      }
    }
  }
  if (names != names_) {
    names_ = std::move(names);
    ++name_changes_;
  }
}

// By what the API server says of its pods; else what was known before.
void ProcessRows::NamePod(const std::string& uid, const Basis& basis, ProcessNames& names) const {
  if (uid.empty() || names.pods.contains(uid)) {
    return;
  }
  if (basis.pods != nullptr && basis.pods->objects != nullptr) {
    const auto pod = std::ranges::find_if(
        *basis.pods->objects, [&](const auto& object) { return object.second.uid == uid; });
    if (pod != basis.pods->objects->end()) {
      names.pods[uid] = {.name_space = pod->second.name_space, .name = pod->second.name};
      return;
    }
  }
  if (const auto known = names_.pods.find(uid); known != names_.pods.end()) {
    names.pods.insert(*known);
  }
}

// The only container of the pod that holds a device, if there is but one; else what was known.
void ProcessRows::NameContainer(const ProcessIdentity& identity, const Basis& basis,
                                ProcessNames& names) const {
  const std::string& id = identity.place.container_id;
  if (id.empty() || names.containers.contains(id)) {
    return;
  }
  if (const auto known = names_.containers.find(id); known != names_.containers.end()) {
    names.containers.insert(*known);
    return;
  }
  const auto pod = names.pods.find(identity.place.pod_uid);
  if (pod == names.pods.end() || basis.owners == nullptr) {
    return;
  }
  std::set<std::string> containers;
  for (const std::vector<Owner>& owners : basis.owners->by_entity) {
    for (const Owner& owner : owners) {
      if (owner.pod == pod->second.name && owner.pod_namespace == pod->second.name_space) {
        containers.insert(owner.container);
      }
    }
  }
  if (containers.size() == 1) {
    names.containers[id] = *containers.begin();
  }
}

void ProcessRows::AddProcesses(uint32_t first_slot, PlanBuilder& plan) const {
  AddProcessView(accounts_.table(), names_, prefix_, first_slot, plan);
}

void ProcessRows::AddEnergy(uint32_t first_slot, PlanBuilder& plan) const {
  AddEnergyView(accounts_, names_, first_slot + ProcessSlotCount(accounts_.table()), plan);
}

void ProcessRows::AppendTo(Instant now, Duration stale_after, std::vector<Value>& slots) const {
  const size_t first = slots.size();
  AppendProcesses(accounts_, slots);
  AppendEnergy(accounts_, slots);
  if (!read_at_ || now - *read_at_ > stale_after) {
    std::fill(slots.begin() + static_cast<std::ptrdiff_t>(first), slots.end(),
              Value::OfAbsence(Absence::kStale));
  }
}

}  // namespace podgpu
