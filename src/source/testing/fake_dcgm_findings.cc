#include <vector>

#include "base/status.h"
#include "source/testing/fake_dcgm_calls.h"

namespace podgpu {

using namespace abi;  // NOLINT(google-build-using-namespace): this file speaks the vendor's names.

// NOLINTNEXTLINE(readability-function-size): seven parameters are the vendor's.
dcgmReturn_t FakeDcgmFindings::Since(dcgmHandle_t, dcgmGpuGrp_t group, dcgmFieldGrp_t field_group,
                                     long long since_us, long long* next_us,
                                     dcgmFieldValueEntityEnumeration_f callback, void* user) {
  // So many are told, so that a fault can spoil them all.
  std::vector<dcgmFieldValue_v2> told(64);
  size_t count = 0;
  const dcgmReturn_t code = Connected(
      "dcgmGetValuesSince_v2", {Whole(next_us), {told.data(), told.size() * sizeof(told[0])}},
      [&](FakeDcgm& fake) -> dcgmReturn_t {
        if (!fake.groups_.contains(group) || !fake.field_groups_.contains(field_group)) {
          return fake.groups_.contains(group) ? DCGM_ST_NO_DATA : DCGM_ST_NOT_CONFIGURED;
        }
        for (const auto& [kind, entity] : fake.groups_[group].members) {
          for (const uint16_t field : fake.field_groups_[field_group]) {
            if (!fake.IsWatchedLocked({kind, entity, field})) {
              return DCGM_ST_NOT_WATCHED;
            }
            for (const dcgmFieldValue_v2& raw : fake.AnswerSince({kind, entity, field}, since_us)) {
              PODGPU_CHECK(count < told.size());
              told[count++] = raw;
            }
          }
        }
        *next_us = fake.sample_time_us + 1;
        return DCGM_ST_OK;
      });
  for (size_t i = 0; code == DCGM_ST_OK && i < count; ++i) {
    const dcgmFieldValue_v2& raw = told[i];
    dcgmFieldValue_v1 value{.version = dcgmFieldValue_version1,
                            .fieldId = raw.fieldId,
                            .fieldType = raw.fieldType,
                            .status = raw.status,
                            .ts = raw.ts,
                            .value = raw.value};
    callback(raw.entityGroupId, raw.entityId, &value, 1, user);
  }
  return code;
}

dcgmReturn_t FakeDcgmFindings::Paths(dcgmHandle_t, dcgmNvLinkP2PStatus_v1* status) {
  return Connected("dcgmGetNvLinkP2PStatus", {Whole(status)},
                   [](FakeDcgm&) { return DCGM_ST_NOT_SUPPORTED; });
}

}  // namespace podgpu
