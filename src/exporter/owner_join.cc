#include "exporter/owner_join.h"

#include <algorithm>
#include <string>

#include "base/log.h"

namespace podgpu {

void OwnerJoin::Take(TickFacts& facts) {
  if (facts.grid == nullptr) {
    return;
  }
  OwnerFacts known;
  known.pods = facts.owners_are_known ? facts.pods->value : nullptr;
  known.jobs = facts.jobs != nullptr ? facts.jobs->value : nullptr;
  known.containers = facts.containers_are_known() ? facts.containers->value : nullptr;
  known.api_pods = facts.usable_pods;
  if (facts.api_pods != nullptr) {
    facts.younger_pods = RenewedSince(facts.api_pods->renewed, facts.pods->asked_at);
  }
  known.younger_pods = facts.younger_pods;
  // Never withdrawn: a name means the same device until the driver publishes another slice.
  known.slices = facts.api_slices != nullptr ? facts.api_slices->value : nullptr;
  const Topology& topology = facts.grid->topology();
  if (owners_ == nullptr || joined_epoch_ != topology.epoch || joined_facts_ != known) {
    auto owners = std::make_shared<const Owners>(MakeOwners(topology, known, options_));
    LogUnmatched(*owners);
    LogUnmatchedOfContainers(*owners);
    LogDroppedLabels(owners->dropped_labels);
    owners_ = std::move(owners);
    joined_epoch_ = topology.epoch;
    joined_facts_ = std::move(known);
  }
  facts.owners = owners_;
}

// Writes one line when the set of ids that match no device has changed.
void OwnerJoin::LogUnmatched(const Owners& owners) const {
  const std::vector<UnmatchedDevice>& unmatched = owners.unmatched;
  if (owners_ == nullptr ? unmatched.empty() : unmatched == owners_->unmatched) {
    return;
  }
  if (unmatched.empty()) {
    const bool any_is_given = std::ranges::any_of(
        owners.by_entity, [](const std::vector<Owner>& of_entity) { return !of_entity.empty(); });
    Log(LogLevel::kInfo, any_is_given ? "all device ids of the kubelet match a device"
                                      : "no pod holds a device of this node any more");
    return;
  }
  Log(LogLevel::kWarn, "device ids of the kubelet match no device; see /explain for the remedy",
      {{"ids", std::to_string(unmatched.size())},
       {"first", unmatched.front().device_id},
       {"resource", unmatched.front().resource},
       {"reason", std::string(UnmatchedReasonName(unmatched.front().reason))}});
}

// Writes one line when the set of devices of containers that match no GPU has changed.
void OwnerJoin::LogUnmatchedOfContainers(const Owners& owners) const {
  const std::vector<std::string>& unmatched = owners.unmatched_of_containers;
  if (owners_ == nullptr ? unmatched.empty() : unmatched == owners_->unmatched_of_containers) {
    return;
  }
  if (unmatched.empty()) {
    Log(LogLevel::kInfo, "all devices of containers match a GPU");
    return;
  }
  Log(LogLevel::kWarn, "devices of containers match no GPU, so rows do not name these containers",
      {{"devices", std::to_string(unmatched.size())}, {"first", unmatched.front()}});
}

// Writes one line when the set of pods with too many labels has changed.
void OwnerJoin::LogDroppedLabels(const std::vector<DroppedLabels>& dropped) const {
  if (dropped.empty() || (owners_ != nullptr && dropped == owners_->dropped_labels)) {
    return;
  }
  Log(LogLevel::kWarn,
      "a pod has more labels than a row can carry; the others are left out. Select labels with "
      "--kubernetes-pod-label-allowlist-regex",
      {{"pod", dropped.front().pod_namespace + "/" + dropped.front().pod},
       {"left_out", std::to_string(dropped.front().count)},
       {"pods", std::to_string(dropped.size())}});
}

}  // namespace podgpu
