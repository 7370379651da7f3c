#include "usage/process_sections.h"

#include <string>
#include <utility>

#include "view/process_view.h"

namespace podgpu {

Section AccountsSection(const ProcessPage& page, std::string_view name, const AccountsView& view) {
  return {.name = std::string(name),
          .needs_grid = true,
          .generation = [page] { return page.rows.generation(); },
          .slot_count = [page, view] { return view.count(page.rows.accounts()); },
          .add_to =
              [page, view](uint32_t first_slot, PlanBuilder& plan) {
                view.add(page.rows.accounts(), page.rows.names(), first_slot, plan);
              },
          .append_to =
              [page, view](std::vector<Value>& slots) {
                const auto append = [&](auto& own) { view.append(page.rows.accounts(), own); };
                if (view.stays_when_stale) {
                  append(slots);
                } else {
                  AppendUnlessStale(page, append, slots);
                }
              }};
}

Section ProcessSection(const ProcessPage& page) {
  return {.name = "processes",
          .needs_grid = true,
          .generation = [page] { return page.rows.generation(); },
          .slot_count = [page] { return ProcessSlotCount(page.rows.accounts()); },
          .add_to =
              [page](uint32_t first_slot, PlanBuilder& plan) {
                const ProcessRows& rows = page.rows;
                AddProcessView(rows.accounts(), rows.names(), rows.prefix(), first_slot, plan);
              },
          .append_to =
              [page](std::vector<Value>& slots) {
                const auto append = [&](auto& own) { AppendProcesses(page.rows.accounts(), own); };
                AppendUnlessStale(page, append, slots);
              }};
}

Section VcudaSection(const ProcessPage& page, VcudaRows& vcuda) {
  return {
      .name = "requests and use",
      .needs_grid = true,
      .generation = [&vcuda] { return vcuda.generation(); },
      .slot_count = [&vcuda] { return vcuda.slot_count(); },
      .add_to = [&vcuda](uint32_t first_slot, PlanBuilder& plan) { vcuda.AddTo(first_slot, plan); },
      .append_to =
          [page, &vcuda](std::vector<Value>& slots) {
            vcuda.AppendTo(*page.facts.grid, page.rows.table(), page.is_stale(), slots);
          }};
}

}  // namespace podgpu
