// Reports the energy of each GPU by the method that apportioned it, in podgpu's own families.
//
// One line per GPU and method.  Including `unattributed` and `outside_kubernetes`, the lines add up
// to the growth of the GPU's own counter, exact to the millijoule.  They stay when the processes
// end.  Lines refer to slots, whose numbers the tick appends each time.  Pure functions; called on
// the tick thread.
#pragma once

#include <cstdint>
#include <vector>

#include "exposition/series_plan.h"
#include "process/process_accounts.h"
#include "sample/value.h"
#include "view/family_doc.h"
#include "view/process_view.h"

namespace podgpu {

std::vector<FamilyDoc> EnergyFamilies();

// Adds the lines of all devices that have a name. `first_slot`: the slot of the first number that
// AppendEnergy appends.
void AddEnergyView(const ProcessAccounts& accounts, const ProcessNames& names, uint32_t first_slot,
                   PlanBuilder& plan);

// Returns how many numbers AppendEnergy appends.
uint32_t EnergySlotCount(const ProcessAccounts& accounts);

// Appends the numbers of all devices, in the order that AddEnergyView expects.
void AppendEnergy(const ProcessAccounts& accounts, std::vector<Value>& slots);

}  // namespace podgpu
