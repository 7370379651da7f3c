#include "exporter/process_rows.h"

#include <algorithm>
#include <utility>

#include "exporter/process_naming.h"
#include "view/energy_view.h"

namespace podgpu {

void ProcessRows::Take(ProcessFeed& feed, const TickFacts& facts) {
  feed.Take(readings_);
  for (const std::unique_ptr<ProcessReading>& reading : readings_) {
    accounts_.Take(*reading);
    read_at_ = reading->at;
  }
  feed.GiveBack(readings_);
  if (facts.grid == nullptr) {
    return;
  }
  Basis basis{.rows = accounts_.table().generation(),
              .epoch = facts.grid->topology().epoch,
              .owners = facts.owners,
              .pods = facts.api_pods,
              .facts = feed.facts().Get()};
  if (basis_ == basis) {
    return;
  }
  ProcessNames names =
      NameProcesses(accounts_.table(),
                    {.processes = *basis.facts,
                     .topology = facts.grid->topology(),
                     .pods = basis.pods == nullptr ? nullptr : basis.pods->objects.get(),
                     .owners = basis.owners.get()},
                    names_);
  if (names != names_) {
    names_ = std::move(names);
    ++name_changes_;
  }
  basis_ = std::move(basis);
}

void ProcessRows::AddProcesses(uint32_t first_slot, PlanBuilder& plan) const {
  AddProcessView(accounts_.table(), names_, prefix_, first_slot, plan);
}

void ProcessRows::AddEnergy(uint32_t first_slot, PlanBuilder& plan) const {
  AddEnergyView(accounts_, names_, first_slot + ProcessSlotCount(accounts_.table()), plan);
}

void ProcessRows::AppendTo(Instant now, Duration stale_after, std::vector<Value>& slots) const {
  const size_t first = slots.size();
  AppendProcesses(accounts_, slots);
  AppendEnergy(accounts_, slots);
  if (!read_at_ || now - *read_at_ > stale_after) {
    std::fill(slots.begin() + static_cast<std::ptrdiff_t>(first), slots.end(),
              Value::OfAbsence(Absence::kStale));
  }
}

}  // namespace podgpu
