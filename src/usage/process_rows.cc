#include "usage/process_rows.h"

#include <algorithm>
#include <set>
#include <utility>

#include "usage/process_naming.h"

namespace podgpu {
namespace {

PodsOfContainers PodsOfContainersIn(const ApiObjects& pods) {
  PodsOfContainers found;
  for (const auto& [name, pod] : pods) {
    for (const ApiContainer& container : pod.containers) {
      if (!container.id.empty()) {
        found[container.id] = pod.cgroup_uid();
      }
    }
  }
  return found;
}

}  // namespace

void ProcessRows::Take(ProcessQueue& queue, const TickFacts& facts) {
  FindContainers(facts);
  FindHolders(facts, queue);
  queue.Take(readings_);
  for (const std::unique_ptr<ProcessReading>& reading : readings_) {
    TakeReading(facts.grid.get(), *reading);
  }
  queue.GiveBack(readings_);
  if (facts.grid == nullptr) {
    return;
  }
  Basis basis = BasisOf(accounts_.generation(), facts, queue);
  if (basis_ == basis) {
    return;
  }
  if (LearnPods(basis, facts)) {
    holders_basis_.reset();
    FindHolders(facts, queue);
  }
  ProcessNames names = NameAll(basis, facts);
  unnamed_ = basis.owners == nullptr ? UnnamedProcesses()
                                     : FindUnnamed({accounts_.table(), basis.facts->uuids,
                                                    facts.grid->topology(), *basis.owners},
                                                   names);
  if (names != names_) {
    names_ = std::move(names);
    ++name_changes_;
  }
  basis_ = std::move(basis);
}

// An answer of the kubelet or of the API server shows that this is a node of Kubernetes: only then
// is a container without a pod outside Kubernetes.  A machine with Docker alone has no such answer.
void ProcessRows::FindContainers(const TickFacts& facts) {
  const auto pods = facts.api_pods == nullptr ? nullptr : facts.api_pods->value;
  const bool kubelet_answered = facts.pods != nullptr && facts.pods->value != nullptr;
  if (pods != nullptr && pods != pods_of_containers_) {
    accounts_.TakeContainers(PodsOfContainersIn(*pods));
    pods_of_containers_ = pods;
  } else if (kubelet_answered && !accounts_.table().is_in_kubernetes()) {
    accounts_.TakeContainers({});
  }
}

// Returns whether the known uids of pods have changed.
bool ProcessRows::LearnPods(const Basis& basis, const TickFacts& facts) {
  const bool api_tells = basis.pods != nullptr && basis.pods->value != nullptr;
  if (api_tells || basis.owners == nullptr) {
    return api_tells && learned_.Forget();
  }
  return learned_.Learn(
      {accounts_.table(), basis.facts->uuids, facts.grid->topology(), *basis.owners});
}

ProcessRows::Basis ProcessRows::BasisOf(uint64_t rows, const TickFacts& facts,
                                        ProcessQueue& queue) {
  return {.rows = rows,
          .epoch = facts.grid->topology().epoch,
          .owners = facts.owners,
          .pods = facts.api_pods,
          .facts = queue.facts().Get()};
}

void ProcessRows::FindHolders(const TickFacts& facts, ProcessQueue& queue) {
  if (facts.grid == nullptr) {
    return;
  }
  Basis basis = BasisOf(0, facts, queue);
  if (holders_basis_ == basis) {
    return;
  }
  const PodUids uids{
      .api = facts.api_pods.get(), .learned = learned_, .younger_pods = facts.younger_pods};
  holders_.clear();
  for (const std::string& uuid : basis.facts->uuids) {
    holders_.push_back(HoldersOf(uuid, facts, uids, accounts_.pods()));
  }
  activity_.Find(facts.grid->topology(), basis.facts->uuids);
  if (pod_values_wanted_ && pod_values_.Find(facts, basis.facts->uuids, uids, accounts_.pods())) {
    ++name_changes_;
  }
  holders_basis_ = std::move(basis);
}

void ProcessRows::TakeReading(const Grid* grid, ProcessReading& reading) {
  for (DeviceReading& device : reading.devices) {
    device.holders.clear();
    if (device.device.value < holders_.size()) {
      const std::vector<PodNumber>& pods = holders_[device.device.value].pods;
      device.holders.assign(pods.begin(), pods.end());
    }
    if (grid != nullptr) {
      activity_.AddTo(*grid, device);
    }
  }
  accounts_.Take(reading);
  counts_.Take(reading);
  read_at_ = reading.at;
  if (!accounts_.table().forgotten_pods().empty()) {
    holders_basis_.reset();  // A forgotten pod that holds a device again has a new number.
  }
}

std::shared_ptr<const EntityCounts> ProcessRows::CountsOn(const Topology& topology, Instant now,
                                                          Duration stale_after) {
  static const std::vector<std::string> no_uuids;
  const bool is_known = holders_basis_ && holders_basis_->facts != nullptr;
  return counts_.Of(topology, is_known ? holders_basis_->facts->uuids : no_uuids, now, stale_after);
}

std::shared_ptr<const Grid> ProcessRows::WithCounters(const std::shared_ptr<const Grid>& grid,
                                                      Instant now, Duration stale_after) {
  static const std::vector<std::string> no_uuids;
  return counters_.ShowIn(grid, {.ledger = accounts_.ledger(),
                                 .uuids = basis_ ? basis_->facts->uuids : no_uuids,
                                 .is_shown = !IsStale(now, stale_after),
                                 .now = now,
                                 .stale_after = stale_after});
}

ProcessNames ProcessRows::NameAll(const Basis& basis, const TickFacts& facts) const {
  NamingFacts naming{.processes = *basis.facts,
                     .topology = facts.grid->topology(),
                     .pods = basis.pods == nullptr ? nullptr : basis.pods->value.get(),
                     .owners = basis.owners.get(),
                     .learned = &learned_};
  for (const auto& [key, use] : accounts_.uses().all()) {
    naming.pod_uids.emplace_back(accounts_.table().pods().UidOf(key.pod));
  }
  ProcessNames names = NameProcesses(accounts_.table(), naming, names_);
  const bool kubelet_answered = facts.pods != nullptr && facts.pods->value != nullptr;
  for (const auto& [key, use] : accounts_.uses().all()) {
    const auto* const holding = key.device.value < holders_.size()
                                    ? holders_[key.device.value].HoldingOf(key.pod)
                                    : nullptr;
    const auto known = names_.holdings.find(key);
    if (holding != nullptr) {
      names.holdings[key] = *holding;
    } else if (known != names_.holdings.end()) {
      names.holdings.insert(*known);
    } else if (kubelet_answered) {
      names.holdings[key] = {};  // The pod uses a device that was not allocated to it.
    }
  }
  return names;
}

}  // namespace podgpu
