// What the tick knows of requests for GPUs and of their use: the rows of vcuda's page.
//
// Who has rows is found anew when processes come or go, or when owners, pods or devices change; per
// tick only numbers do.  What processes use comes from the accounts that the page of processes is
// made of.  Tick thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exposition/series_plan.h"
#include "facts/tick_facts.h"
#include "process/process_table.h"
#include "usage/process_rows.h"
#include "view/vcuda_view.h"

namespace podgpu {

class VcudaRows {
 public:
  // Names of resources that are cards besides NVIDIA's, and of this node.
  VcudaRows(std::vector<std::string> more_cards, std::string node)
      : more_cards_(std::move(more_cards)), node_(std::move(node)) {}

  // Finds out who has rows; `table` has taken what has come.
  void Take(const TickFacts& facts, const ProcessTable& table);

  // Changes whenever the set of lines changes.
  uint64_t generation() const { return generation_; }
  uint32_t slot_count() const { return VcudaSlotCount(users_); }
  void AddTo(uint32_t first_slot, PlanBuilder& plan) const;
  // Appends the numbers of all lines; those of use are not there when `use_is_stale`.
  void AppendTo(const Grid& grid, const ProcessTable& table, bool use_is_stale,
                std::vector<Value>& slots);

 private:
  struct Basis {
    uint64_t rows = 0;
    uint64_t epoch = 0;
    std::shared_ptr<const Owners> owners;
    std::shared_ptr<const ApiObjects> pods;
    std::shared_ptr<const ProcessFacts> processes;
    bool operator==(const Basis&) const = default;
  };

  void AddUses(DeviceNumber device, const ProcessTable::Rows& rows);
  void IndexUsers();

  const std::vector<std::string> more_cards_;
  const std::string node_;
  std::optional<Basis> basis_;
  std::vector<CardUser> users_;
  uint64_t generation_ = 0;
  std::vector<size_t> first_use_;                                  // Of each user, in `uses_`.
  std::map<std::string, std::vector<size_t>, std::less<>> by_id_;  // Users, by container id.
  std::vector<CardUse> uses_;  // Of all cards of all users, for the tick.
};

}  // namespace podgpu
