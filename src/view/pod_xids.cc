#include "view/pod_xids.h"

#include "fields/field_ids.h"
#include "view/xid.h"

namespace podgpu {

std::vector<FamilyDoc> PodXidFamilies() {
  return {
      {{.name = "podgpu_pod_gpu_xid_errors_total",
        .help =
            "XIDs of this code that the driver reported for a GPU while this container held it "
            "or a part of it. shared is true if other containers held it too; the XID counts for "
            "each of them.",
        .type = "counter",
        .unit = ""},
       "gpu,UUID,namespace,pod,container,shared,xid,action",
       {field_ids::kXid}}};
}

void AddPodXids(std::span<const PodXid> rows, uint32_t first_slot, PlanBuilder& plan) {
  plan.BeginFamily(PodXidFamilies().front().family);
  for (const PodXid& row : rows) {
    const uint32_t labels =
        plan.AddLabels(RenderLabels({{"gpu", std::to_string(row.gpu_id)},
                                     {"UUID", row.uuid},
                                     {"namespace", row.pod_namespace},
                                     {"pod", row.pod},
                                     {"container", row.container},
                                     {"shared", row.shared ? "true" : "false"},
                                     {"xid", std::to_string(row.code)},
                                     {"action", std::string(XidAction(row.code))}}));
    plan.AddSeries(labels, NumberSource::Slot(first_slot++));
  }
}

}  // namespace podgpu
