#include "usage/vcuda_rows.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/log.h"
#include "usage/gpu_request.h"
#include "usage/vcuda_users.h"

namespace podgpu {
namespace {

template <typename Number, typename Part>
void AddKnownUse(std::optional<Number>& sum, const std::optional<Part>& part) {
  if (sum && part) {
    *sum += *part;
  } else {
    sum.reset();
  }
}

}  // namespace

void VcudaRows::Take(const TickFacts& facts, const ProcessTable& table) {
  if (facts.grid == nullptr || facts.processes == nullptr) {
    return;
  }
  Basis basis{.rows = table.generation(),
              .epoch = facts.grid->topology().epoch,
              .owners = facts.owners,
              .pods = facts.usable_pods,
              .processes = facts.processes};
  if (basis_ == basis) {
    return;
  }
  std::vector<CardUser> users = FindCardUsers({.topology = facts.grid->topology(),
                                               .processes = *basis.processes,
                                               .table = table,
                                               .pods = basis.pods.get(),
                                               .owners = basis.owners.get(),
                                               .join = join_,
                                               .volcano_unit_mib = options_.volcano_unit_mib});
  WarnOfUnknownUnit(basis.pods.get());
  if (users != users_ || !basis_ || basis_->epoch != basis.epoch) {
    users_ = std::move(users);
    IndexUsers();
    ++generation_;
  }
  basis_ = std::move(basis);
}

void VcudaRows::WarnOfUnknownUnit(const ApiObjects* pods) {
  if (options_.volcano_unit_mib || has_warned_ || pods == nullptr) {
    return;
  }
  has_warned_ = std::ranges::any_of(*pods, [](const auto& entry) {
    return std::ranges::any_of(entry.second.containers, [](const ApiContainer& container) {
      return RequestOf(container, {}).volcano_memory > 0;
    });
  });
  if (has_warned_) {
    Log(LogLevel::kWarn,
        "the memory that containers request from Volcano is unknown, because no pod tells its "
        "unit. Set --volcano-memory-factor to the --gpu-memory-factor of Volcano's device plugin, "
        "1 if it has none");
  }
}

void VcudaRows::IndexUsers() {
  by_id_.clear();
  first_use_.clear();
  size_t next = 0;
  for (size_t i = 0; i < users_.size(); ++i) {
    first_use_.push_back(next);
    next += users_[i].cards.size();
    if (!users_[i].container_id.empty()) {
      by_id_[users_[i].container_id].push_back(i);
    }
  }
  uses_.resize(next);
}

void VcudaRows::AddTo(uint32_t first_slot, PlanBuilder& plan) const {
  AddVcudaView(users_, node_, first_slot, plan);
}

void VcudaRows::AppendTo(const Grid& grid, const ProcessTable& table, bool use_is_stale,
                         std::vector<Value>& slots) {
  std::ranges::fill(uses_, CardUse{std::nullopt, std::nullopt});
  for (const DeviceInterval& interval : table.intervals()) {
    const auto rows = table.devices().find(interval.device);
    if (!use_is_stale && interval.residents_known && rows != table.devices().end()) {
      AddUses(interval.device, rows->second);
    }
  }
  for (size_t i = 0; i < users_.size(); ++i) {
    AppendCardUser(users_[i], std::span(uses_).subspan(first_use_[i], users_[i].cards.size()), grid,
                   slots);
  }
}

void VcudaRows::AddUses(DeviceNumber device, const ProcessTable::Rows& rows) {
  for (size_t i = 0; i < users_.size(); ++i) {
    for (size_t card = 0; card < users_[i].cards.size(); ++card) {
      if (users_[i].cards[card].device == device) {
        uses_[first_use_[i] + card] = CardUse();
      }
    }
  }
  for (const auto& [process, row] : rows) {
    if (!row.active || row.identity == nullptr) {
      continue;
    }
    const auto users = by_id_.find(row.identity->place.container_id);
    for (size_t k = 0; users != by_id_.end() && k < users->second.size(); ++k) {
      const size_t i = users->second[k];
      for (size_t card = 0; card < users_[i].cards.size(); ++card) {
        if (users_[i].cards[card].device == device) {
          CardUse& use = uses_[first_use_[i] + card];
          AddKnownUse(use.memory_bytes, row.memory_bytes);
          AddKnownUse(use.sm_percent, row.sm_percent);
        }
      }
    }
  }
}

}  // namespace podgpu
