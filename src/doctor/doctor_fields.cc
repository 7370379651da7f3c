#include "doctor/doctor_fields.h"

#include <algorithm>

#include "base/status.h"
#include "fields/field_ids.h"

namespace podgpu::doctor_fields {
namespace {

const Field* Named(std::string_view name) {
  const Field* const field = FindFieldByName(name);
  PODGPU_CHECK(field != nullptr);
  return field;
}

}  // namespace

const Field* Profiling() { return Named("DCGM_FI_PROF_GR_ENGINE_ACTIVE"); }
const Field* Utilization() { return FindField(field_ids::kGpuUtilization); }
const Field* Energy() { return FindField(field_ids::kEnergy); }
const Field* EccUncorrectable() { return Named("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"); }
const Field* RemapPending() { return Named("DCGM_FI_DEV_ROW_REMAP_PENDING"); }
const Field* RemapFailed() { return Named("DCGM_FI_DEV_ROW_REMAP_FAILED"); }
const Field* RecoveryAction() { return Named("DCGM_FI_DEV_GPU_RECOVERY_ACTION"); }

std::vector<const Field*> All() {
  std::vector<const Field*> fields = {Profiling(),        Utilization(),  Energy(),
                                      EccUncorrectable(), RemapPending(), RemapFailed(),
                                      RecoveryAction()};
  std::ranges::sort(fields, {}, &Field::id);
  return fields;
}

}  // namespace podgpu::doctor_fields
