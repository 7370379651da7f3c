// A GPU's energy by how it was shared out, in podgpu's own names.
//
// One line per GPU and method; with `unattributed` and `outside_kubernetes` they add up to what the
// GPU's counter grew by, to the millijoule, and they outlive the processes that they came from.
// Lines refer to slots, which the tick appends each time.  Pure functions; the tick thread calls
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "exposition/series_plan.h"
#include "process/process_accounts.h"
#include "sample/value.h"
#include "view/process_view.h"

namespace podgpu {

// For docs/metrics.md too.
Family EnergyByMethodFamily();

// Adds the lines of all devices that have a name; `first_slot` is where AppendEnergy will begin.
void AddEnergyView(const ProcessAccounts& accounts, const ProcessNames& names, uint32_t first_slot,
                   PlanBuilder& plan);

// How many numbers AppendEnergy will append.
uint32_t EnergySlotCount(const ProcessAccounts& accounts);

// Appends the numbers of all devices, in the order that AddEnergyView relies on.
void AppendEnergy(const ProcessAccounts& accounts, std::vector<Value>& slots);

}  // namespace podgpu
