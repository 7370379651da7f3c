#include "view/row_owners.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "fields/base_units.h"
#include "fields/field_ids.h"

namespace podgpu {
namespace {

constexpr LabelNames kNewNames = {"UUID", "pod", "namespace", "container"};
constexpr LabelNames kOldNames = {"uuid", "pod_name", "pod_namespace", "container_name"};

// Label names of podgpu's own that a pod label must not replace; LabelNames has the ones that
// depend on options.
constexpr std::string_view kReservedNames =
    " gpu pci_bus_id device modelName GPU_I_PROFILE GPU_I_ID nvlink nvswitch gpu_uuid "
    "model_name "
    "pod_uid vgpu hpc_job err_code err_msg dra_claim_name dra_claim_namespace dra_driver_name "
    "dra_pool_name dra_device_name dra_mig_profile dra_mig_device_uuid ";

// Returns the jobs or containers of `device`.
const std::vector<std::string>& NamesOf(const std::vector<std::vector<std::string>>& by_entity,
                                        EntityId device) {
  static const std::vector<std::string> none;
  return device.index < by_entity.size() ? by_entity[device.index] : none;
}

// Returns a copy of each row per value, with the value as label `name`; without values the rows.
std::vector<RowOwner> OnePer(const char* name, const std::vector<std::string>& values,
                             std::vector<RowOwner> rows) {
  if (values.empty()) {
    return rows;
  }
  std::vector<RowOwner> copies;
  for (const RowOwner& row : rows) {
    for (const std::string& value : values) {
      copies.push_back(row);
      copies.back().attributes.emplace(name, value);
    }
  }
  return copies;
}

}  // namespace

bool IsPerPodField(uint16_t field_id) {
  const BaseUnit* unit = BaseUnitOf(field_id);
  const uint16_t id = unit != nullptr ? unit->old_id : field_id;
  return id == field_ids::kGpuUtilization || id == field_ids::kMemoryUsed;
}

RowOwners::RowOwners(const ViewInput& input)
    : input_(input), names_(input.options.use_old_namespace ? kOldNames : kNewNames) {}

std::vector<RowOwner> RowOwners::Of(EntityId device) const {
  return OnePer("hpc_job", NamesOf(input_.owners.jobs_by_entity, device),
                OnePer(names_.container, NamesOf(input_.owners.containers_by_entity, device),
                       PodsOf(device)));
}

// Returns with virtual GPUs the containers that share the device; without them rows of claims if
// there are any, else the only owner.  A device of several owners without either names none of
// them, since its number belongs to all.
std::vector<RowOwner> RowOwners::PodsOf(EntityId device) const {
  const std::vector<Owner>& owners = OwnersOf(device);
  std::vector<RowOwner> rows =
      input_.options.virtual_gpus ? SharersOf(owners) : ClaimantsOf(owners);
  if (rows.empty()) {
    const Owner* owner = input_.options.virtual_gpus ? nullptr : SoleOwner(owners);
    rows.push_back({.attributes = owner == nullptr ? Attributes() : AttributesOf(*owner)});
  }
  return rows;
}

// Returns one row for each container that has the device by a claim.
std::vector<RowOwner> RowOwners::ClaimantsOf(const std::vector<Owner>& owners) const {
  std::vector<RowOwner> rows;
  for (const Owner& owner : owners) {
    const Claim& claim = owner.claim;
    if (claim.name.empty()) {
      continue;
    }
    Attributes attributes = {{names_.pod, owner.pod},
                             {names_.pod_namespace, owner.pod_namespace},
                             {names_.container, owner.container},
                             {"dra_claim_name", claim.name},
                             {"dra_claim_namespace", claim.name_space},
                             {"dra_driver_name", claim.driver},
                             {"dra_pool_name", claim.pool},
                             {"dra_device_name", claim.device}};
    if (!claim.mig_profile.empty()) {
      attributes.emplace("dra_mig_profile", claim.mig_profile);
    }
    if (!claim.mig_uuid.empty()) {
      attributes.emplace("dra_mig_device_uuid", claim.mig_uuid);
    }
    rows.push_back({std::move(attributes)});
  }
  return rows;
}

// Returns the row of the device, then one for each container and replica; no rows if no pod has the
// device.
std::vector<RowOwner> RowOwners::SharersOf(const std::vector<Owner>& owners) const {
  std::vector<RowOwner> rows;
  for (const Owner& owner : owners) {
    if (!owner.claim.name.empty()) {
      continue;
    }
    if (rows.empty()) {
      rows.push_back({.attributes = {}, .metrics = RowOwner::Metrics::kPerPod});
    }
    Attributes attributes = AttributesOf(owner);
    if (!owner.replica.empty()) {
      attributes.emplace("vgpu", owner.replica);
    }
    // A container that has the device by two resources counts once.
    if (std::ranges::count(rows, attributes, &RowOwner::attributes) > 0) {
      continue;
    }
    rows.push_back({attributes, RowOwner::Metrics::kNotPerPod});
    attributes.insert_or_assign("pod_uid", owner.pod_uid);
    rows.push_back({std::move(attributes), RowOwner::Metrics::kPerPod, &owner});
  }
  return rows;
}

Attributes RowOwners::AttributesOf(const Owner& owner) const {
  Attributes attributes = {{names_.pod, owner.pod},
                           {names_.pod_namespace, owner.pod_namespace},
                           {names_.container, owner.container}};
  if (input_.options.pod_uid) {
    attributes.emplace("pod_uid", owner.pod_uid);
  }
  return attributes;
}

Attributes RowOwners::WithPodLabels(Attributes labels, EntityId device) const {
  const Owner* owner = input_.options.virtual_gpus ? nullptr : SoleOwner(OwnersOf(device));
  if (owner != nullptr && owner->claim.name.empty()) {
    for (const auto& [name, value] : owner->labels) {
      if (!IsReserved(name)) {
        labels.emplace(name, value);
      }
    }
  }
  return labels;
}

// Returns the owners that the rows of `device` may name.
const std::vector<Owner>& RowOwners::OwnersOf(EntityId device) const {
  static const std::vector<Owner> none;
  const auto& by_entity = input_.owners.by_entity;
  const bool known = input_.options.kubernetes && device.index < by_entity.size();
  return known ? by_entity[device.index] : none;
}

bool RowOwners::IsReserved(const std::string& name) const {
  return name == names_.uuid || name == names_.pod || name == names_.pod_namespace ||
         (input_.options.version->has_compute_instance_ids && name == "GPU_CI_ID") ||
         name == names_.container || name == "hostname" || name == input_.options.hostname_label ||
         kReservedNames.find(" " + name + " ") != std::string_view::npos;
}

}  // namespace podgpu
