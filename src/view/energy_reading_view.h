// When the ledger last read the energy counter of each GPU.
//
// All energy of processes, pods and methods is as of this time: podgpu counts nothing between two
// readings.  The time stays on the page when no reading comes any more, so that a rule can ask how
// old it is.  Lines refer to slots, which the tick appends each time.  Pure functions; the tick
// thread calls them.
#pragma once

#include <cstdint>
#include <vector>

#include "exposition/series_plan.h"
#include "process/process_accounts.h"
#include "sample/value.h"
#include "view/process_view.h"

namespace podgpu {

// For docs/metrics.md too.
Family EnergyReadingFamily();

// Adds a line for each device that has a name; `first_slot` is where AppendEnergyReadings will
// begin.
void AddEnergyReadingView(const ProcessAccounts& accounts, const ProcessNames& names,
                          uint32_t first_slot, PlanBuilder& plan);

// How many numbers AppendEnergyReadings will append.
uint32_t EnergyReadingSlotCount(const ProcessAccounts& accounts);

// Appends the number of each device, in the order that AddEnergyReadingView relies on; absent while
// the counter has never been read.
void AppendEnergyReadings(const ProcessAccounts& accounts, std::vector<Value>& slots);

}  // namespace podgpu
