// Reports what each pod uses of each GPU, in podgpu's own families: energy by method, allocated,
// active and idle time, SM time and memory.
//
// All numbers come from per-process measurement.  The number of a pod is the sum over its own
// processes, so pods that share a GPU are not counted twice.  A pod's counters stay when its
// processes end.  Lines refer to slots, whose numbers the tick appends each time.  Pure functions;
// called on the tick thread.
#pragma once

#include <cstdint>
#include <vector>

#include "exposition/series_plan.h"
#include "process/process_accounts.h"
#include "sample/value.h"
#include "view/family_doc.h"
#include "view/process_view.h"

namespace podgpu {

std::vector<FamilyDoc> PodUseFamilies();

// Adds the lines of all pods whose allocation `names` contains. `first_slot`: the slot of the first
// number that AppendPodUses appends.
void AddPodUseView(const ProcessAccounts& accounts, const ProcessNames& names, uint32_t first_slot,
                   PlanBuilder& plan);

// Returns how many numbers AppendPodUses appends.
uint32_t PodUseSlotCount(const ProcessAccounts& accounts);

// Appends the numbers of all pods, in the order that AddPodUseView expects.
void AppendPodUses(const ProcessAccounts& accounts, std::vector<Value>& slots);

}  // namespace podgpu
