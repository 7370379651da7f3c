// Reports when the ledger last read the energy counter of each GPU.
//
// All energy values of processes, pods and methods are as of this time: they do not grow between
// two readings.  The time stays on the page when readings stop, so an alert rule can check its age.
// Lines refer to slots, whose numbers the tick appends each time.  Pure functions; called on the
// tick thread.
#pragma once

#include <cstdint>
#include <vector>

#include "exposition/series_plan.h"
#include "process/process_accounts.h"
#include "sample/value.h"
#include "view/family_doc.h"
#include "view/process_view.h"

namespace podgpu {

std::vector<FamilyDoc> EnergyReadingFamilies();

// Adds a line for each device that has a name. `first_slot`: the slot of the first number that
// AppendEnergyReadings appends.
void AddEnergyReadingView(const ProcessAccounts& accounts, const ProcessNames& names,
                          uint32_t first_slot, PlanBuilder& plan);

// Returns how many numbers AppendEnergyReadings appends.
uint32_t EnergyReadingSlotCount(const ProcessAccounts& accounts);

// Appends the number of each device, in the order that AddEnergyReadingView expects; absent until
// the counter is read for the first time.
void AppendEnergyReadings(const ProcessAccounts& accounts, std::vector<Value>& slots);

}  // namespace podgpu
