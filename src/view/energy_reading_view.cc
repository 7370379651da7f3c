#include "view/energy_reading_view.h"

#include <optional>
#include <string>

namespace podgpu {

std::vector<FamilyDoc> EnergyReadingFamilies() {
  constexpr double kMicrosecond = 1e-6;  // A microsecond in seconds.
  return {
      {{.name = "podgpu_gpu_energy_reading_timestamp_seconds",
        .help = "When podgpu last read the energy counter of the GPU, in seconds since 1970. All "
                "energy of processes, pods and methods is as of this time.",
        .type = "gauge",
        .unit = "seconds",
        .format = NumberFormat::kShortest,
        .scale = kMicrosecond},
       "gpu,UUID"}};
}

void AddEnergyReadingView(const ProcessAccounts& accounts, const ProcessNames& names,
                          uint32_t first_slot, PlanBuilder& plan) {
  plan.BeginFamily(EnergyReadingFamilies().front().family);
  uint32_t slot = first_slot;
  for (const auto& [device, rows] : accounts.table().devices()) {
    if (const auto gpu = names.gpus.find(device); gpu != names.gpus.end()) {
      const uint32_t labels =
          plan.AddLabels(RenderLabels({{"gpu", gpu->second}, {"UUID", names.uuids.at(device)}}));
      plan.AddSeries(labels, NumberSource::Slot(slot));
    }
    ++slot;
  }
}

uint32_t EnergyReadingSlotCount(const ProcessAccounts& accounts) {
  return static_cast<uint32_t>(accounts.table().devices().size());
}

void AppendEnergyReadings(const ProcessAccounts& accounts, std::vector<Value>& slots) {
  for (const auto& [device, rows] : accounts.table().devices()) {
    const std::optional<CountedReading> reading = accounts.ledger().Counted(device);
    slots.push_back(reading ? Value::OfInt64(ToMicroseconds(accounts.WallAt(reading->at)))
                            : Value::OfAbsence(Absence::kNoData));
  }
}

}  // namespace podgpu
