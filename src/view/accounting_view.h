// Reports for each GPU whether the driver's accounting is on, and how many short processes only
// accounting has reported.
//
// podgpu_gpu_accounting_enabled is 0 or 1, and absent if the mode cannot be read.  Lines refer to
// slots, whose numbers the tick appends each time.  Pure functions; called on the tick thread.
#pragma once

#include <cstdint>
#include <vector>

#include "exposition/series_plan.h"
#include "process/process_accounts.h"
#include "sample/value.h"
#include "view/family_doc.h"
#include "view/process_view.h"

namespace podgpu {

std::vector<FamilyDoc> AccountingFamilies();

// Adds the lines of all devices that have a name. `first_slot`: the slot of the first number that
// AppendAccounting appends.
void AddAccountingView(const ProcessAccounts& accounts, const ProcessNames& names,
                       uint32_t first_slot, PlanBuilder& plan);

// Returns how many numbers AppendAccounting appends.
uint32_t AccountingSlotCount(const ProcessAccounts& accounts);

// Appends the numbers of all devices, in the order that AddAccountingView expects.
void AppendAccounting(const ProcessAccounts& accounts, std::vector<Value>& slots);

}  // namespace podgpu
