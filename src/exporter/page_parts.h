// Of which parts a page is made, and which views have which part.
//
// The table in page_parts.cc is the only place that says so.  A part that several of the wanted
// views have stands on the page once: native contains core, and what GPUs and pods have used
// belongs to native and to process.  Pure; the tick thread calls it when it makes a plan.
#pragma once

#include <cstdint>
#include <span>

#include "exporter/pod_xid_counts.h"
#include "exporter/process_rows.h"
#include "view/view.h"

namespace podgpu {

// The views that can stand on a page, in the order in which they are written.
enum class View : uint8_t { kDcgm, kCore, kNative, kProcess, kSelf };

// What the parts are made from.  All borrowed for the call.
struct PageInput {
  const Topology* topology = nullptr;  // Null before the first reading, as `devices`.
  const ViewInput* devices = nullptr;
  const PodXidCounts* pod_xids = nullptr;
  const ProcessRows* processes = nullptr;  // Null where processes are not read.
  uint32_t first_xid_slot = 0;
  uint32_t first_process_slot = 0;
};

// Adds the parts that one of `views` has.  Returns how many numbers of single pods are left out, as
// AddDcgmView.
size_t AddPageParts(std::span<const View> views, const PageInput& in, PlanBuilder& plan);

}  // namespace podgpu
