#include "fields/field_ids.h"

#include <string_view>

#include <gtest/gtest.h>

#include "fields/field.h"

namespace podgpu {
namespace {

TEST(FieldIds, MatchTheCatalogue) {
  struct Row {
    uint16_t id;
    std::string_view name;
  };
  const Row rows[] = {
      {field_ids::kName, "DCGM_FI_DEV_GPU_NAME"},
      {field_ids::kInforomChecksum, "DCGM_FI_DEV_INFOROM_CONFIG_CHECK"},
      {field_ids::kInforomValid, "DCGM_FI_DEV_INFOROM_CONFIG_VALID"},
      {field_ids::kClockReasons, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"},
      {field_ids::kPower, "DCGM_FI_DEV_POWER_USAGE"},
      {field_ids::kEnergy, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"},
      {field_ids::kPowerLimit, "DCGM_FI_DEV_ENFORCED_POWER_LIMIT"},
      {field_ids::kFanSpeed, "DCGM_FI_DEV_FAN_SPEED"},
      {field_ids::kGpuUtilization, "DCGM_FI_DEV_GPU_UTIL"},
      {field_ids::kXid, "DCGM_FI_DEV_XID_ERRORS"},
      {field_ids::kMemoryTotal, "DCGM_FI_DEV_FB_TOTAL"},
      {field_ids::kMemoryFree, "DCGM_FI_DEV_FB_FREE"},
      {field_ids::kMemoryUsed, "DCGM_FI_DEV_FB_USED"},
      {field_ids::kRemapFailed, "DCGM_FI_DEV_ROW_REMAP_FAILURE"},
      {field_ids::kRemapPending, "DCGM_FI_DEV_ROW_REMAP_PENDING"},
      {field_ids::kEngineActivity, "DCGM_FI_PROF_GR_ENGINE_ACTIVE"},
      {field_ids::kSmActivity, "DCGM_FI_PROF_SM_ACTIVE"},
  };
  for (const Row& row : rows) {
    const Field* field = FindFieldByName(row.name);
    ASSERT_NE(field, nullptr) << row.name;
    EXPECT_EQ(field->id, row.id) << row.name;
  }
}

}  // namespace
}  // namespace podgpu
