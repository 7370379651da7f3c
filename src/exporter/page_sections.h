// The sections of the page /metrics, the views that contain each section, and its families.
//
// The table in page_sections.cc is the only place that lists them.  A section that several of the
// wanted views contain appears once: native contains core, and energy belongs both to native and to
// process.  The functions make sections at the start; the tick thread uses the sections.
#pragma once

#include <span>
#include <vector>

#include "exporter/page_state.h"
#include "exposition/section.h"
#include "view/family_doc.h"
#include "view/view.h"

namespace podgpu {

// Returns the sections of all `views`, in the order of the page.  `state` outlives them.
std::vector<Section> SectionsOf(std::span<const View> views, PageState& state);

// A section without its numbers, for `podgpu help metrics` and docs/metrics.md.
struct DescribedSection {
  std::span<const View> views;  // That contain it.  Empty: it is the page of requests and use.
  bool of_processes = false;    // Shown only while processes are read.
  std::vector<FamilyDoc> families;
};
// Returns all sections in the order of the page, then that of the page of requests and use.  Those
// with DCGM's names are left out: the list of counters describes their families.
std::vector<DescribedSection> DescribedSections();

}  // namespace podgpu
