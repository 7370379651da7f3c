#include "view/energy_view.h"

#include <string>

namespace podgpu {
namespace {

constexpr double kJoulesPerMj = 1e-3;
constexpr uint32_t kSlotsPerDevice = kEnergyMethodCount + 2;

std::string_view ShareName(uint32_t share) {
  switch (share) {
    case kEnergyMethodCount:
      return "unattributed";
    case kEnergyMethodCount + 1:
      return "outside_kubernetes";
    default:
      return EnergyMethodName(static_cast<EnergyMethod>(share));
  }
}

Value OfMj(uint64_t energy_mj) { return Value::OfInt64(static_cast<int64_t>(energy_mj)); }

}  // namespace

std::vector<FamilyDoc> EnergyFamilies() {
  return {
      {{.name = "podgpu_gpu_energy_by_method_joules_total",
        .help =
            "Energy that the GPU has drawn since podgpu started, by method: exclusive is "
            "measured; sm_share, mig_activity and equal are apportioned; unattributed belongs to "
            "no process; outside_kubernetes belongs to processes without rows. The sum over the "
            "methods is the growth of the GPU's own counter.",
        .type = "counter",
        .unit = "joules",
        .format = NumberFormat::kShortest,
        .scale = kJoulesPerMj},
       "gpu,UUID,method"}};
}

void AddEnergyView(const ProcessAccounts& accounts, const ProcessNames& names, uint32_t first_slot,
                   PlanBuilder& plan) {
  plan.BeginFamily(EnergyFamilies().front().family);
  uint32_t slot = first_slot;
  for (const auto& [device, rows] : accounts.table().devices()) {
    const auto gpu = names.gpus.find(device);
    for (uint32_t share = 0; gpu != names.gpus.end() && share < kSlotsPerDevice; ++share) {
      const uint32_t labels =
          plan.AddLabels(RenderLabels({{"gpu", gpu->second},
                                       {"UUID", names.uuids.at(device)},
                                       {"method", std::string(ShareName(share))}}));
      plan.AddSeries(labels, NumberSource::Slot(slot + share));
    }
    slot += kSlotsPerDevice;
  }
}

uint32_t EnergySlotCount(const ProcessAccounts& accounts) {
  return static_cast<uint32_t>(accounts.table().devices().size()) * kSlotsPerDevice;
}

void AppendEnergy(const ProcessAccounts& accounts, std::vector<Value>& slots) {
  for (const auto& [device, rows] : accounts.table().devices()) {
    const DeviceEnergy* energy = accounts.ledger().Device(device);
    if (energy == nullptr || !accounts.ledger().Counted(device)) {
      slots.insert(slots.end(), kSlotsPerDevice, Value::OfAbsence(Absence::kNoData));
      continue;
    }
    for (const uint64_t amount_mj : energy->by_method) {
      slots.push_back(OfMj(amount_mj));
    }
    slots.push_back(OfMj(energy->unattributed_mj));
    slots.push_back(OfMj(energy->outside_kubernetes_mj));
  }
}

}  // namespace podgpu
