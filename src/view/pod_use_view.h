// What each pod uses of each GPU, in podgpu's own names: energy by method, time held, active and
// idle, SM time and memory.
//
// Only from per-process measurement: what several pods have of one GPU is the sum over their own
// processes, so that nothing is counted twice.  A pod's counters outlive its processes.  Lines
// refer to slots, which the tick appends each time.  Pure functions; the tick thread calls them.
#pragma once

#include <cstdint>
#include <vector>

#include "exposition/series_plan.h"
#include "process/process_accounts.h"
#include "sample/value.h"
#include "view/process_view.h"

namespace podgpu {

// For docs/metrics.md too: the family with the label method first.
std::vector<Family> PodUseFamilies();

// Adds the lines of all pods that `names` tells the holding of; `first_slot` is where AppendPodUses
// will begin.
void AddPodUseView(const ProcessAccounts& accounts, const ProcessNames& names, uint32_t first_slot,
                   PlanBuilder& plan);

// How many numbers AppendPodUses will append.
uint32_t PodUseSlotCount(const ProcessAccounts& accounts);

// Appends the numbers of all pods, in the order that AddPodUseView relies on.
void AppendPodUses(const ProcessAccounts& accounts, std::vector<Value>& slots);

}  // namespace podgpu
