// The rows of the page /metric (vcuda): GPU requests of containers, and what they use.
//
// The set of rows is made again when processes come or go, or when owners, pods or devices change;
// otherwise a tick changes only the numbers.  Use comes from the same process table as the rows of
// processes.  Tick thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attribution/join.h"
#include "exposition/series_plan.h"
#include "facts/tick_facts.h"
#include "process/process_table.h"
#include "usage/process_rows.h"
#include "view/vcuda_view.h"

namespace podgpu {

struct VcudaOptions {
  bool enabled = false;  // The page is made; it needs the readings of processes.
  // The unit of volcano.sh/vgpu-memory; without it such requests are unknown, and the log says it
  // once.
  std::optional<uint64_t> volcano_unit_mib = {};
};

class VcudaRows {
 public:
  // `join` names further resources that count as cards, and pods that have no rows.  `node`: the
  // name of this node.
  VcudaRows(JoinOptions join, std::string node, VcudaOptions options = {})
      : join_(std::move(join)), node_(std::move(node)), options_(options) {}

  // Finds the containers that have rows.  `table` has taken all readings of this tick.
  void Take(const TickFacts& facts, const ProcessTable& table);

  // Changes whenever the set of lines changes.
  uint64_t generation() const { return generation_; }
  uint32_t slot_count() const { return VcudaSlotCount(users_); }
  void AddTo(uint32_t first_slot, PlanBuilder& plan) const;
  // Appends the numbers of all lines; numbers of use are absent when `use_is_stale`.
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
  void WarnOfUnknownUnit(const ApiObjects* pods);

  const JoinOptions join_;
  const std::string node_;
  const VcudaOptions options_;
  bool has_warned_ = false;
  std::optional<Basis> basis_;
  std::vector<CardUser> users_;
  uint64_t generation_ = 0;
  std::vector<size_t> first_use_;  // Index in `uses_` of the first use of each user.
  std::map<std::string, std::vector<size_t>, std::less<>> by_id_;  // Users, by container id.
  std::vector<CardUse> uses_;  // Uses of all cards of all users, for the tick.
};

}  // namespace podgpu
