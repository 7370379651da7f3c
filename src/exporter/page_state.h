// The data that the sections of the tick's pages show.
//
// Owned by the tick, which updates it at the beginning of each page.  The sections
// (page_sections.h) refer to it and only read it.  Plain data.  Tick thread only.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "exporter/shown_counters.h"
#include "facts/tick_facts.h"
#include "usage/pod_xid_counts.h"
#include "usage/process_rows.h"
#include "usage/process_sections.h"
#include "usage/vcuda_rows.h"
#include "view/finding_slots.h"
#include "view/held_measures.h"
#include "view/view.h"

namespace podgpu {

struct PageState {
  ViewOptions view;
  bool shows_processes = false;
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
