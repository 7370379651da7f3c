// Makes the plan of a page from its sections, and the numbers of each tick.
//
// Owns the ordered list of sections.  Gives each its slots, one section after the other, and makes
// a new plan when the generation of a section, the devices (epoch), the fields or the owners have
// changed.  Stops the program when a section adds a line whose number is in a slot of another
// section, or appends more or fewer numbers than it announced: a page with a wrong number must not
// be published.  Appending takes no memory beyond that of the values.  Used on one thread.
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
  // `sections` in the order of the page.  `series_budget`: how many series the page may have, see
  // PlanBuilder::TrimTo; 0: no limit.
  explicit PageBuilder(std::vector<Section> sections, size_t series_budget = 0);

  // Makes a new plan unless the last one is still right for this reading and these owners; both are
  // null while there is no reading.  Returns whether it made one.
  bool Refresh(const Grid* grid, const std::shared_ptr<const Owners>& owners);

  // Appends the numbers of all sections.  Refresh comes first.
  void AppendTo(std::vector<Value>& slots) const;

  // Null before the first Refresh.
  const std::shared_ptr<const SeriesPlan>& plan() const { return plan_; }
  // Series of the plan that the budget has left out.
  size_t left_out() const { return left_out_; }

  // A plan for the last reading that was refreshed for, made from the sections as they are now.  It
  // writes the same page as plan() unless the generation of a section is wrong: tests compare them.
  SeriesPlan MakePlan() const;

 private:
  // What a plan is made for, besides the generations.
  struct Basis {
    bool has_grid = false;
    uint64_t epoch = 0;
    std::vector<const Field*> fields;
    std::shared_ptr<const Owners> owners;
  };
  // A section, and what it said when the plan was made.
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
