#include "exposition/page_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/status.h"

namespace podgpu {
namespace {

uint64_t GenerationOf(const Section& section) {
  return section.generation ? section.generation() : 0;
}

void CheckAppended(const Section& section, size_t announced, size_t appended) {
  if (appended != announced) [[unlikely]] {
    CheckFailed(absl::StrFormat("section %s announced %d numbers and appended %d", section.name,
                                announced, appended),
                __FILE__, __LINE__);
  }
}

}  // namespace

PageBuilder::PageBuilder(std::vector<Section> sections, size_t series_budget)
    : series_budget_(series_budget) {
  planned_.reserve(sections.size());
  for (Section& section : sections) {
    planned_.push_back({.section = std::move(section)});
  }
}

bool PageBuilder::Refresh(const Grid* grid, const std::shared_ptr<const Owners>& owners) {
  if (IsCurrent(grid, owners)) {
    return false;
  }
  basis_ = {.has_grid = grid != nullptr,
            .epoch = grid != nullptr ? grid->topology().epoch : 0,
            .fields = grid != nullptr ? grid->fields() : std::vector<const Field*>(),
            .owners = owners};
  for (Planned& planned : planned_) {
    const Section& section = planned.section;
    planned.generation = GenerationOf(section);
    planned.slot_count = section.slot_count && IsThere(section) ? section.slot_count() : 0;
  }
  PlanBuilder builder;
  AddSections(builder);
  left_out_ = series_budget_ == 0 ? 0 : builder.TrimTo(series_budget_);
  plan_ = std::make_shared<const SeriesPlan>(std::move(builder).Build());
  return true;
}

// A plan depends on the generations of its sections, the devices, the fields, the owners and the
// values in labels.  This runs at each tick, so it compares these and never builds a plan to
// compare.
bool PageBuilder::IsCurrent(const Grid* grid, const std::shared_ptr<const Owners>& owners) const {
  if (plan_ == nullptr || basis_.has_grid != (grid != nullptr)) {
    return false;
  }
  for (const Planned& planned : planned_) {
    if (IsThere(planned.section) && planned.generation != GenerationOf(planned.section)) {
      return false;
    }
  }
  if (grid == nullptr) {
    return true;
  }
  // Each join makes a new object, also when it finds the same owners again.  A comparison costs
  // less than a new plan.
  const bool same_owners =
      basis_.owners == owners ||
      (basis_.owners != nullptr && owners != nullptr && *basis_.owners == *owners);
  return same_owners && basis_.epoch == grid->topology().epoch && basis_.fields == grid->fields() &&
         plan_->LabelsAreCurrent(*grid);
}

void PageBuilder::AddSections(PlanBuilder& plan) const {
  uint32_t first_slot = 0;
  for (const Planned& planned : planned_) {
    if (IsThere(planned.section)) {
      plan.AllowSlots(first_slot, planned.slot_count);
      planned.section.add_to(first_slot, plan);
      first_slot += planned.slot_count;
    }
  }
}

SeriesPlan PageBuilder::MakePlan() const {
  PlanBuilder builder;
  AddSections(builder);
  if (series_budget_ != 0) {
    builder.TrimTo(series_budget_);
  }
  return std::move(builder).Build();
}

void PageBuilder::AppendTo(std::vector<Value>& slots) const {
  PODGPU_CHECK(plan_ != nullptr);
  for (const Planned& planned : planned_) {
    const Section& section = planned.section;
    if (IsThere(section) && section.append_to) {
      const size_t first = slots.size();
      section.append_to(slots);
      CheckAppended(section, planned.slot_count, slots.size() - first);
    } else {
      CheckAppended(section, planned.slot_count, 0);
    }
  }
}

}  // namespace podgpu
