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

}  // namespace podgpu
