#include "exporter/page_sections.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/status.h"
#include "health/self_metrics.h"
#include "health/slot_history.h"
#include "view/accounting_view.h"
#include "view/collection_view.h"
#include "view/energy_reading_view.h"
#include "view/energy_view.h"
#include "view/pod_use_view.h"
#include "view/pod_xids.h"
#include "view/process_view.h"
#include "view/vcuda_view.h"

namespace podgpu {
namespace {

// Makes the input of a device view; the section gives the first slots of pods and of findings.
ViewInput InputOf(const PageState& state, const std::vector<Counter>& counters,
                  const PodSlots* pod_slots, uint32_t first_finding_slot) {
  return {.grid = *state.facts.grid,
          .owners = *state.facts.owners,
          .counters = counters,
          .options = state.options.view,
          .pod_slots = pod_slots,
          .first_finding_slot = first_finding_slot,
          .held = &state.held};
}

// dcgm-exporter's rows, with findings and with values per pod on shared devices.  Its slots: values
// of pods, then the findings.
Section DcgmSection(PageState& state) {
  const ProcessPage page = state.process_page();
  return {.name = "DCGM",
          .needs_grid = true,
          // All three only grow, so the sum changes whenever one of them does.
          .generation =
              [&state] {
                return state.counters.generation() + state.findings.generation() +
                       state.processes.generation();
              },
          .slot_count =
              [&state] {
                return state.processes.pod_values().slot_count() +
                       FindingSlots(state.facts.grid->findings, 0).count();
              },
          .add_to =
              [&state](uint32_t first_slot, PlanBuilder& plan) {
                const PodValues& pods = state.processes.pod_values();
                const PodSlots pod_slots = pods.SlotsFrom(first_slot);
                const std::shared_ptr<const std::vector<Counter>> counters = state.counters.Get();
                AddDcgmView(InputOf(state, *counters, &pod_slots, first_slot + pods.slot_count()),
                            plan);
              },
          .append_to =
              [&state, page](std::vector<Value>& slots) {
                const auto append = [&](auto& own) {
                  page.rows.pod_values().AppendTo(page.rows.table(), own);
                };
                AppendUnlessStale(page, append, slots);
                const Grid* const grid = state.facts.grid.get();
                PODGPU_CHECK(grid != nullptr);
                AppendFindings(grid->findings, state.facts.devices_are_stale(), slots);
              }};
}

// Devices, their holders and their XIDs.
Section CoreSection(PageState& state) {
  return {
      .name = "core",
      .needs_grid = true,
      .generation = [&state] { return state.findings.generation() + state.held.generation(); },
      .slot_count = [&state] { return XidSlots(state.facts.grid->findings, 0).count(); },
      .add_to =
          [&state](uint32_t first_slot, PlanBuilder& plan) {
            AddCoreView(InputOf(state, {}, nullptr, first_slot), plan);
          },
      .append_to =
          [&state](std::vector<Value>& slots) { AppendXids(state.facts.grid->findings, slots); }};
}

Section MeasuresSection(PageState& state) {
  return {
      .name = "measures",
      .needs_grid = true,
      .generation = [&state] { return state.held.generation(); },
      .add_to = [&state](uint32_t /*first_slot*/,
                         PlanBuilder& plan) { AddMeasures(InputOf(state, {}, nullptr, 0), plan); }};
}

// XIDs by the container that held the GPU.
Section PodXidSection(PageState& state) {
  const PodXidCounts& counts = state.pod_xids;
  return {.name = "XIDs by pod",
          .needs_grid = true,
          .generation = [&counts] { return counts.generation(); },
          .slot_count = [&counts] { return static_cast<uint32_t>(counts.rows().size()); },
          .add_to = [&counts](uint32_t first_slot,
                              PlanBuilder& plan) { AddPodXids(counts.rows(), first_slot, plan); },
          .append_to = [&counts](std::vector<Value>& slots) { counts.AppendTo(slots); }};
}

// The families of `view` in the table of self_metrics.h.
Section SlotTableSection(SlotView view, PageState& state) {
  const auto topology = [&state] {
    return state.facts.grid != nullptr ? &state.facts.grid->topology() : nullptr;
  };
  return {
      .name = view == SlotView::kCore ? "states of devices" : "self",
      .slot_count =
          [view, topology] { return static_cast<uint32_t>(SlotLinesOf(view, topology()).size()); },
      .add_to =
          [view, topology](uint32_t first_slot, PlanBuilder& plan) {
            AddSlotFamilies(SlotFamiliesOf(view, topology(), first_slot), plan);
          },
      .append_to =
          [view, topology, &state,
           history = std::make_shared<SlotHistory>(view)](std::vector<Value>& slots) {
            const size_t first = slots.size();
            AppendSlots(view, state.facts, state.is_ready, slots);
            history->Withdraw(topology(), std::span(slots).subspan(first));
          }};
}

// The collections of the reading: their number is part of the plan, so another one needs a new
// plan.
Section CollectionsSection(PageState& state) {
  struct Shown {
    std::shared_ptr<const FieldCollections> collections;
    uint64_t generation = 0;
  };
  const auto shown = std::make_shared<Shown>();
  const auto newest = [&state, shown]() -> const FieldCollections& {
    static const FieldCollections none;
    const std::shared_ptr<const FieldCollections> now =
        state.facts.grid == nullptr ? nullptr : state.facts.grid->collections();
    if (shown->collections != now) {
      shown->collections = now;
      ++shown->generation;
    }
    return shown->collections == nullptr ? none : *shown->collections;
  };
  return {.name = "collections",
          .needs_grid = true,
          .generation =
              [newest, shown] {
                newest();
                return shown->generation;
              },
          .slot_count = [newest] { return CollectionSlotCount(newest()); },
          .add_to = [newest](uint32_t first_slot,
                             PlanBuilder& plan) { AddCollections(newest(), first_slot, plan); },
          .append_to =
              [newest, &state](std::vector<Value>& slots) {
                AppendCollections(newest(), *state.facts.grid, state.facts.grid_age, slots);
              }};
}

constexpr View kDcgm[] = {View::kDcgm};
constexpr View kCore[] = {View::kCore, View::kNative};
constexpr View kNative[] = {View::kNative};
constexpr View kUse[] = {View::kNative, View::kProcess};
constexpr View kProcess[] = {View::kProcess};
constexpr View kSelf[] = {View::kSelf};

struct SectionRow {
  std::span<const View> views;
  bool of_processes;                     // Left out when processes are not read.
  std::vector<FamilyDoc> (*families)();  // Null: the list of counters describes them.
  Section (*make)(PageState& state);
};

// In the order of the page.
constexpr SectionRow kSections[] = {
    {kDcgm, false, nullptr, DcgmSection},
    {kCore, false, CoreFamilies, CoreSection},
    {kNative, false, MeasureFamilies, MeasuresSection},
    {kCore, false, PodXidFamilies, PodXidSection},
    {kUse, true, EnergyFamilies,
     [](PageState& state) {
       return AccountsSection(state.process_page(), "energy of GPUs",
                              {EnergySlotCount, AddEnergyView, AppendEnergy});
     }},
    {kUse, true, EnergyReadingFamilies,
     [](PageState& state) {
       return AccountsSection(state.process_page(), "readings of energy counters",
                              {.count = EnergyReadingSlotCount,
                               .add = AddEnergyReadingView,
                               .append = AppendEnergyReadings,
                               .stays_when_stale = true});
     }},
    {kUse, true, AccountingFamilies,
     [](PageState& state) {
       return AccountsSection(state.process_page(), "accounting",
                              {AccountingSlotCount, AddAccountingView, AppendAccounting});
     }},
    {kUse, true, PodUseFamilies,
     [](PageState& state) {
       return AccountsSection(state.process_page(), "use by pods",
                              {PodUseSlotCount, AddPodUseView, AppendPodUses});
     }},
    {kCore, false, [] { return SlotFamilyDocs(SlotView::kCore); },
     [](PageState& state) { return SlotTableSection(SlotView::kCore, state); }},
    {kProcess, true, ProcessFamilies,
     [](PageState& state) { return ProcessSection(state.process_page()); }},
    {kSelf, false, [] { return SlotFamilyDocs(SlotView::kSelf); },
     [](PageState& state) { return SlotTableSection(SlotView::kSelf, state); }},
    {kSelf, false, CollectionFamilies, CollectionsSection},
};

}  // namespace

std::vector<Section> SectionsOf(std::span<const View> views, PageState& state) {
  std::vector<Section> sections;
  for (const SectionRow& row : kSections) {
    const bool is_wanted = std::ranges::find_first_of(row.views, views) != row.views.end();
    if (is_wanted && (state.options.processes.enabled || !row.of_processes)) {
      sections.push_back(row.make(state));
    }
  }
  return sections;
}

std::vector<DescribedSection> DescribedSections() {
  std::vector<DescribedSection> sections;
  for (const SectionRow& row : kSections) {
    if (row.families != nullptr) {
      sections.push_back({row.views, row.of_processes, row.families()});
    }
  }
  sections.push_back({{}, true, VcudaFamilies()});
  return sections;
}

}  // namespace podgpu
