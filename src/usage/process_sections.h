// The sections of pages that tell of processes: what they use, what they are charged, and of which
// pods they are.
//
// Each is one view (view/) over the accounts of ProcessRows.  A number is absent while the last
// reading of processes is too old.  The functions make sections; the tick thread uses these.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "exposition/section.h"
#include "facts/tick_facts.h"
#include "usage/process_rows.h"
#include "usage/vcuda_rows.h"

namespace podgpu {

// What those sections refer to; it outlives them.
struct ProcessPage {
  const ProcessRows& rows;
  const TickFacts& facts;  // Of the tick.
  Duration stale_after{};  // The age beyond which numbers of processes are withdrawn.

  // Whether the numbers are too old.
  bool is_stale() const { return rows.IsStale(facts.now, stale_after); }
};

// Appends what `append` appends, each number absent where the numbers are too old.
template <typename Append>
void AppendUnlessStale(const ProcessPage& page, const Append& append, std::vector<Value>& slots) {
  const size_t first = slots.size();
  append(slots);
  if (page.is_stale()) {
    std::fill(slots.begin() + static_cast<std::ptrdiff_t>(first), slots.end(),
              Value::OfAbsence(Absence::kStale));
  }
}

// The page of processes (view/process_view.h), with DCGM's own energy where that is shown.
Section ProcessSection(const ProcessPage& page);

// A view over the accounts: how many numbers it appends, its lines, its numbers.
struct AccountsView {
  uint32_t (*count)(const ProcessAccounts& accounts);
  void (*add)(const ProcessAccounts& accounts, const ProcessNames& names, uint32_t first_slot,
              PlanBuilder& plan);
  void (*append)(const ProcessAccounts& accounts, std::vector<Value>& slots);
  bool stays_when_stale = false;  // Its numbers say when something was, which stays true.
};

// The section of such a view.
Section AccountsSection(const ProcessPage& page, std::string_view name, const AccountsView& view);

// What containers ask for of GPUs beside what they use: the only section of a page of its own.
Section VcudaSection(const ProcessPage& page, VcudaRows& vcuda);

}  // namespace podgpu
