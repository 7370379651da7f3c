// Makes the plan of a page from its sections, and appends the numbers of all sections at each tick.
//
// Owns the ordered list of sections and gives each section its range of slots.  Makes a new plan
// when the generation of a section, the devices (epoch), the fields or the owners change.  Stops
// the program when a section adds a line that refers to a slot of another section, or appends more
// or fewer numbers than it announced: a wrong number under a right label must never be published.
// Appending allocates only when the array of values must grow.  Used on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "attribution/owner.h"
#include "exposition/section.h"
#include "exposition/series_plan.h"
#include "sample/grid.h"

namespace podgpu {

class PageBuilder {
 public:
  // `sections`: in the order of the page. `series_budget`: most series on the page, see
  // PlanBuilder::TrimTo; 0: no limit.
  explicit PageBuilder(std::vector<Section> sections, size_t series_budget = 0);

  // Makes a new plan unless the last one still fits this reading and these owners; both are null
  // before the first reading.  Returns whether it made a new plan.
  bool Refresh(const Grid* grid, const std::shared_ptr<const Owners>& owners);

  // Appends the numbers of all sections.  Call Refresh first.
  void AppendTo(std::vector<Value>& slots) const;

  // Null before the first Refresh.
  const std::shared_ptr<const SeriesPlan>& plan() const { return plan_; }
  // Number of series that the budget left out of the plan.
  size_t left_out() const { return left_out_; }

  // Makes a plan for the reading of the last Refresh from the current state of the sections.  It
  // writes the same page as plan() unless a section forgot to change its generation; tests compare
  // the two.
  SeriesPlan MakePlan() const;

 private:
  // Everything besides the generations that a plan depends on.
  struct Basis {
    bool has_grid = false;
    uint64_t epoch = 0;
    std::vector<const Field*> fields;
    std::shared_ptr<const Owners> owners;
  };
  // A section, with its generation and slot count when the plan was made.
  struct Planned {
    Section section;
    uint64_t generation = 0;
    uint32_t slot_count = 0;
  };

  bool IsCurrent(const Grid* grid, const std::shared_ptr<const Owners>& owners) const;
  bool IsThere(const Section& section) const { return basis_.has_grid || !section.needs_grid; }
  void AddSections(PlanBuilder& plan) const;

  const size_t series_budget_;
  std::vector<Planned> planned_;
  Basis basis_;
  std::shared_ptr<const SeriesPlan> plan_;
  size_t left_out_ = 0;
};

}  // namespace podgpu
