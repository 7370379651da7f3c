#include "exporter/page_sections.h"

#include <algorithm>

#include "view/accounting_view.h"
#include "view/energy_reading_view.h"
#include "view/energy_view.h"
#include "view/pod_use_view.h"
#include "view/pod_xids.h"
#include "view/process_view.h"
#include "view/vcuda_view.h"

namespace podgpu {
namespace {

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
