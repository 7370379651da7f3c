#include "exporter/page_parts.h"

#include <initializer_list>

#include "exporter/self_metrics.h"

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

struct PagePart {
  uint32_t views;
  bool of_devices;    // Needs a reading.
  bool of_processes;  // Needs processes.
  // Returns how many numbers it leaves out.
  size_t (*add)(const PageInput& in, PlanBuilder& plan);
};

// In the order of the page.
// tidy: table
constexpr PagePart kParts[] = {
    {Views({View::kDcgm}), true, false,
     [](const PageInput& in, PlanBuilder& plan) { return AddDcgmView(*in.devices, plan); }},
    {Views({View::kCore, View::kNative}), true, false,
     [](const PageInput& in, PlanBuilder& plan) {
       AddCoreView(*in.devices, plan);
       return size_t{0};
     }},
    {Views({View::kNative}), true, false,
     [](const PageInput& in, PlanBuilder& plan) {
       AddMeasures(*in.devices, plan);
       return size_t{0};
     }},
    {Views({View::kCore, View::kNative}), true, false,
     [](const PageInput& in, PlanBuilder& plan) {
       AddPodXids(in.pod_xids->rows(), in.first_xid_slot, plan);
       return size_t{0};
     }},
    {Views({View::kNative, View::kProcess}), true, true,
     [](const PageInput& in, PlanBuilder& plan) {
       in.processes->AddEnergy(in.first_process_slot, plan);
       in.processes->AddPods(in.first_process_slot, plan);
       return size_t{0};
     }},
    {Views({View::kCore, View::kNative}), false, false,
     [](const PageInput& in, PlanBuilder& plan) {
       AddSlotFamilies(SlotFamiliesOf(SlotView::kCore, in.topology), plan);
       return size_t{0};
     }},
    {Views({View::kProcess}), true, true,
     [](const PageInput& in, PlanBuilder& plan) {
       in.processes->AddProcesses(in.first_process_slot, plan);
       return size_t{0};
     }},
    {Views({View::kSelf}), false, false,
     [](const PageInput& in, PlanBuilder& plan) {
       AddSlotFamilies(SlotFamiliesOf(SlotView::kSelf, in.topology), plan);
       return size_t{0};
     }},
};

}  // namespace

size_t AddPageParts(std::span<const View> views, const PageInput& in, PlanBuilder& plan) {
  uint32_t wanted = 0;
  for (const View view : views) {
    wanted |= Views({view});
  }
  size_t left_out = 0;
  for (const PagePart& part : kParts) {
    const bool can = (!part.of_devices || in.devices != nullptr) &&
                     (!part.of_processes || in.processes != nullptr);
    if (can && (part.views & wanted) != 0) {
      left_out += part.add(in, plan);
    }
  }
  return left_out;
}

}  // namespace podgpu
