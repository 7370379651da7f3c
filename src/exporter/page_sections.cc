#include "exporter/page_sections.h"

#include <initializer_list>

#include "view/accounting_view.h"
#include "view/energy_reading_view.h"
#include "view/energy_view.h"
#include "view/pod_use_view.h"

namespace podgpu {
namespace {

// A set of views.
constexpr uint32_t Views(std::initializer_list<View> views) {
  uint32_t set = 0;
  for (const View view : views) {
    set |= 1U << static_cast<uint32_t>(view);
  }
  return set;
}

struct SectionRow {
  uint32_t views;
  bool of_processes;  // Left out when processes are not read.
  Section (*make)(PageState& state);
};

// In the order of the page.
constexpr SectionRow kSections[] = {
    {Views({View::kDcgm}), false, DcgmSection},
    {Views({View::kCore, View::kNative}), false, CoreSection},
    {Views({View::kNative}), false, MeasuresSection},
    {Views({View::kCore, View::kNative}), false, PodXidSection},
    {Views({View::kNative, View::kProcess}), true,
     [](PageState& state) {
       return AccountsSection(state.process_page(), "energy of GPUs",
                              {EnergySlotCount, AddEnergyView, AppendEnergy});
     }},
    {Views({View::kNative, View::kProcess}), true,
     [](PageState& state) {
       return AccountsSection(state.process_page(), "readings of energy counters",
                              {.count = EnergyReadingSlotCount,
                               .add = AddEnergyReadingView,
                               .append = AppendEnergyReadings,
                               .stays_when_stale = true});
     }},
    {Views({View::kNative, View::kProcess}), true,
     [](PageState& state) {
       return AccountsSection(state.process_page(), "accounting",
                              {AccountingSlotCount, AddAccountingView, AppendAccounting});
     }},
    {Views({View::kNative, View::kProcess}), true,
     [](PageState& state) {
       return AccountsSection(state.process_page(), "use by pods",
                              {PodUseSlotCount, AddPodUseView, AppendPodUses});
     }},
    {Views({View::kCore, View::kNative}), false,
     [](PageState& state) { return SlotTableSection(SlotView::kCore, state); }},
    {Views({View::kProcess}), true,
     [](PageState& state) { return ProcessSection(state.process_page()); }},
    {Views({View::kSelf}), false,
     [](PageState& state) { return SlotTableSection(SlotView::kSelf, state); }},
};

}  // namespace

std::vector<Section> SectionsOf(std::span<const View> views, PageState& state) {
  uint32_t wanted = 0;
  for (const View view : views) {
    wanted |= Views({view});
  }
  std::vector<Section> sections;
  for (const SectionRow& row : kSections) {
    if ((row.views & wanted) != 0 && (state.shows_processes || !row.of_processes)) {
      sections.push_back(row.make(state));
    }
  }
  return sections;
}

}  // namespace podgpu
