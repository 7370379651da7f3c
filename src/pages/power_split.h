// Divides the power that a GPU draws now among its processes and pods, by the rules of the energy
// ledger.
//
// Lets a ledger of its own share out one second at this power, so power and energy always follow
// the same rules (process/ledger.h).  The parts and the rest add up to the power of the device.
// Pure functions; the HTTP thread calls them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "pages/use_copy.h"
#include "process/device_interval.h"
#include "process/ledger.h"

namespace podgpu {

struct PowerPart {
  uint64_t power_mw = 0;
  bool is_apportioned = false;  // False: one process had the device for itself.
};

struct PowerSplit {
  std::map<ProcessKey, PowerPart> processes;
  std::map<PodNumber, PowerPart> pods;
};

// `device`: one of `use`. `instances`: activity of its MIG instances. `holders`: pods that hold it.
PowerSplit SplitPower(const UseCopy& use, DeviceNumber device, uint64_t power_mw,
                      const std::vector<InstanceActivity>& instances, const LedgerOptions& options);

// Returns whether a part of this energy is apportioned.
bool IsApportioned(const EnergyByMethod& energy);
// The method of the larger part of the energy, an apportioning one if there is any; empty for no
// energy.
std::string_view MethodOf(const EnergyByMethod& energy);

}  // namespace podgpu
