// Of each GPU: whether the driver's accounting is on, and how many processes only it has told of.
//
// podgpu_gpu_accounting_enabled is 0 or 1, and absent where that cannot be read.  Lines refer to
// slots, which the tick appends each time.  Pure functions; the tick thread calls them.
#pragma once

#include <cstdint>
#include <vector>

#include "exposition/series_plan.h"
#include "process/process_accounts.h"
#include "sample/value.h"
#include "view/process_view.h"

namespace podgpu {

// For docs/metrics.md too.
std::vector<Family> AccountingFamilies();

// Adds the lines of all devices that have a name; `first_slot` is where AppendAccounting will
// begin.
void AddAccountingView(const ProcessAccounts& accounts, const ProcessNames& names,
                       uint32_t first_slot, PlanBuilder& plan);

// How many numbers AppendAccounting will append.
uint32_t AccountingSlotCount(const ProcessAccounts& accounts);

// Appends the numbers of all devices, in the order that AddAccountingView relies on.
void AppendAccounting(const ProcessAccounts& accounts, std::vector<Value>& slots);

}  // namespace podgpu
