#include "view/view.h"

namespace podgpu {

void AddSlotFamilies(const std::vector<SlotFamily>& families, PlanBuilder& plan) {
  for (const SlotFamily& family : families) {
    plan.BeginFamily(family.family);
    for (const SlotSeries& series : family.series) {
      plan.AddSeries(plan.AddLabels(RenderLabels(series.labels)), NumberSource::Slot(series.slot));
    }
  }
}

uint32_t CountSlots(const std::vector<SlotFamily>& families) {
  size_t count = 0;
  for (const SlotFamily& family : families) {
    count += family.series.size();
  }
  return static_cast<uint32_t>(count);
}

}  // namespace podgpu
