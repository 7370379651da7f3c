// The page sections about processes: what they use, the energy charged to them, and their pods.
//
// Each section is one view (view/) over the accounts of ProcessRows.  A number is absent while the
// last reading of processes is too old.  The functions make sections at the start; the tick thread
// uses the sections.
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

// The input of these sections; outlives them.
struct ProcessPage {
  const ProcessRows& rows;
  const TickFacts& facts;  // Facts of the tick.
  Duration stale_after{};  // The age beyond which numbers of processes are withdrawn.

  // Returns whether the numbers are too old.
  bool is_stale() const { return rows.IsStale(facts.now, stale_after); }
};

// Calls `append`, then makes each number that it appended absent if the numbers are too old.
template <typename Append>
void AppendUnlessStale(const ProcessPage& page, const Append& append, std::vector<Value>& slots) {
  const size_t first = slots.size();
  append(slots);
  if (page.is_stale()) {
    std::fill(slots.begin() + static_cast<std::ptrdiff_t>(first), slots.end(),
              Value::OfAbsence(Absence::kStale));
  }
}

// The section of the process view (view/process_view.h).
Section ProcessSection(const ProcessPage& page);

// A view over the accounts: the count of its numbers, its lines, its numbers.
struct AccountsView {
  uint32_t (*count)(const ProcessAccounts& accounts) = nullptr;
  void (*add)(const ProcessAccounts& accounts, const ProcessNames& names, uint32_t first_slot,
              PlanBuilder& plan) = nullptr;
  void (*append)(const ProcessAccounts& accounts, std::vector<Value>& slots) = nullptr;
  bool stays_when_stale = false;  // Its numbers are times of past events, which stay true.
};

// Makes the section of such a view.
Section AccountsSection(const ProcessPage& page, std::string_view name, const AccountsView& view);

// Makes the section with the requests and the use of containers; the only section of the page
// /metric.
Section VcudaSection(const ProcessPage& page, VcudaRows& vcuda);

}  // namespace podgpu
