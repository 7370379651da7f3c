#include "pages/power_split.h"

#include <algorithm>

namespace podgpu {
namespace {

PowerPart PartOf(const EnergyByMethod* energy) {
  return energy == nullptr ? PowerPart() : PowerPart{SumMj(*energy), IsApportioned(*energy)};
}

}  // namespace

PowerSplit SplitPower(const UseCopy& use, DeviceNumber device, uint64_t power_mw,
                      const std::vector<InstanceActivity>& instances,
                      const LedgerOptions& options) {
  DeviceInterval interval;
  interval.device = device;
  interval.instances = instances;
  bool is_measured = false;
  for (const CopiedProcess& process : use.processes) {
    if (process.key.device == device) {
      is_measured = is_measured || process.sm_percent;
      interval.residents.push_back({.process = process.key.process,
                                    .instance = process.instance,
                                    .busy = process.sm_percent.value_or(0),
                                    .listed = process.listed,
                                    .pod = process.pod});
    }
  }
  for (const CopiedPod& pod : use.pods) {
    if (pod.key.device == device) {
      interval.holders.push_back(pod.key.pod);
    }
  }
  interval.samples = is_measured ? BusySamples::kMeasured : BusySamples::kNotSupported;
  Ledger ledger(options);
  interval.counter_mj = 0;
  ledger.Record(interval);
  interval.counter_mj = power_mw;  // One second at this power, in millijoules.
  interval.at += std::chrono::seconds(1);
  ledger.Record(interval);
  PowerSplit split;
  for (const Resident& resident : interval.residents) {
    split.processes[resident.process] = PartOf(ledger.Process({resident.process, device}));
  }
  for (const PodNumber pod : interval.holders) {
    split.pods[pod] = PartOf(ledger.Pod({pod, device}));
  }
  return split;
}

bool IsApportioned(const EnergyByMethod& energy) {
  return SumMj(energy) > energy[static_cast<size_t>(EnergyMethod::kExclusive)];
}

std::string_view MethodOf(const EnergyByMethod& energy) {
  if (SumMj(energy) == 0) {
    return "";
  }
  if (!IsApportioned(energy)) {
    return EnergyMethodName(EnergyMethod::kExclusive);
  }
  const auto most = std::max_element(energy.begin() + 1, energy.end());
  return EnergyMethodName(static_cast<EnergyMethod>(most - energy.begin()));
}

}  // namespace podgpu
