// The data that the sections of the tick's pages show.
//
// Owned by the tick, which updates it at the beginning of each page.  The sections
// (page_sections.h) refer to it and only read it.  Plain data.  Tick thread only.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "attribution/join.h"
#include "attribution/visible_namespaces.h"
#include "base/clock.h"
#include "exporter/shown_counters.h"
#include "facts/tick_facts.h"
#include "fields/counters_csv.h"
#include "usage/pod_xid_counts.h"
#include "usage/process_rows.h"
#include "usage/process_sections.h"
#include "usage/vcuda_rows.h"
#include "view/finding_slots.h"
#include "view/held_measures.h"
#include "view/view.h"

namespace podgpu {

// What the pages show.  The exporter hands it to its tick as a whole.
struct PageOptions {
  std::vector<View> views = {View::kDcgm, View::kCore, View::kSelf};
  std::vector<Counter> counters;
  size_t series_budget = 0;  // Most series on /metrics; 0: no limit.
  ViewOptions view;
  JoinOptions join;
  VisibleNamespaces visible;  // Namespaces on `/` and under /explain and /api.
  ConfigNotes config;
  ProcessOptions processes;
  VcudaOptions vcuda = {};  // The page /metric; needs `processes`.
  // The node's name on that page and for the cluster role; empty: the hostname of the view.
  std::string node = {};
  std::string fleet_url = {};  // Where the page of the node links back to; empty: no link.
};

struct PageState {
  const PageOptions& options;
  Duration processes_stale_after{};  // The age beyond which numbers of processes are withdrawn.

  TickFacts facts = {};
  bool is_ready = false;
  ShownCounters counters;
  HeldMeasures held = {};
  FindingLines findings = {};
  PodXidCounts pod_xids = {};
  ProcessRows processes;
  VcudaRows vcuda;

  ProcessPage process_page() const {
    return {.rows = processes, .facts = facts, .stale_after = processes_stale_after};
  }
};

}  // namespace podgpu
