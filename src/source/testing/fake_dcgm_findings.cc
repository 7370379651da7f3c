#include <algorithm>
#include <vector>

#include "base/status.h"
#include "source/testing/fake_dcgm_calls.h"

namespace podgpu {

using namespace abi;  // NOLINT(google-build-using-namespace): this file speaks the vendor's names.

// NOLINTNEXTLINE(readability-function-size): seven parameters are the vendor's.
dcgmReturn_t FakeDcgmFindings::Since(dcgmHandle_t, dcgmGpuGrp_t group, dcgmFieldGrp_t field_group,
                                     long long since_us, long long* next_us,
                                     dcgmFieldValueEntityEnumeration_f callback, void* user) {
  // As many as this, so a fault can spoil all of them.
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

dcgmReturn_t FakeDcgmFindings::HealthSet(dcgmHandle_t, dcgmGpuGrp_t group,
                                         dcgmHealthSystems_t systems) {
  return Connected("dcgmHealthSet", {}, [&](FakeDcgm& fake) -> dcgmReturn_t {
    if (!fake.groups_.contains(group)) {
      return DCGM_ST_NOT_CONFIGURED;
    }
    PODGPU_CHECK(systems == DCGM_HEALTH_WATCH_ALL);
    fake.health_groups_.insert(group);
    return DCGM_ST_OK;
  });
}

namespace {

template <typename Response>
dcgmReturn_t Fill(const std::vector<dcgmIncidentInfo_t>& incidents, uint32_t version,
                  Response& response) {
  if (response.version != version) {
    return DCGM_ST_VER_MISMATCH;
  }
  response.overallHealth = DCGM_HEALTH_RESULT_PASS;
  response.incidentCount = 0;
  for (const dcgmIncidentInfo_t& incident : incidents) {
    response.incidents[response.incidentCount++] = incident;
  }
  return DCGM_ST_OK;
}

}  // namespace

// Codes that the tests use: 4 (uncorrectable memory errors) and 10 and 40 (heat).
int FakeDcgmFindings::SeverityOf(uint32_t code) {
  return code == 4 ? 2 : code == 10 || code == 40 ? 1 : DCGM_ERROR_UNKNOWN;
}
int FakeDcgmFindings::CategoryOf(uint32_t code) {
  return code == 4 ? 10 : code == 10 || code == 40 ? 9 : DCGM_ERROR_UNKNOWN;
}

dcgmReturn_t FakeDcgmFindings::HealthCheck(dcgmHandle_t, dcgmGpuGrp_t group, void* response) {
  const bool is_3 = Current()->generation == DcgmGeneration::k3;
  const size_t size = is_3 ? sizeof(dcgmHealthResponse_v4) : sizeof(dcgmHealthResponse_v5);
  return Connected("dcgmHealthCheck", {{response, size}}, [&](FakeDcgm& fake) -> dcgmReturn_t {
    if (!fake.groups_.contains(group) || !fake.health_groups_.contains(group)) {
      return DCGM_ST_NOT_CONFIGURED;
    }
    std::vector<dcgmIncidentInfo_t> incidents = fake.incidents;
    // A GPU that has left the group is not checked.
    std::erase_if(incidents, [&](const dcgmIncidentInfo_t& incident) {
      const auto [kind, id] = incident.entityInfo;
      const bool is_here = std::ranges::find(fake.gpus, id, &FakeGpu::gpu_id) != fake.gpus.end();
      return kind == DCGM_FE_GPU && is_here && !fake.groups_[group].members.contains({kind, id});
    });
    return is_3 ? Fill(incidents, dcgmHealthResponse_version4,
                       *static_cast<dcgmHealthResponse_v4*>(response))
                : Fill(incidents, dcgmHealthResponse_version5,
                       *static_cast<dcgmHealthResponse_v5*>(response));
  });
}

dcgmReturn_t FakeDcgmFindings::Paths(dcgmHandle_t, dcgmNvLinkP2PStatus_v1* status) {
  return Connected("dcgmGetNvLinkP2PStatus", {Whole(status)}, [&](FakeDcgm& fake) -> dcgmReturn_t {
    if (fake.peers.empty() || status->version != dcgmNvLinkP2PStatus_version1) {
      return fake.peers.empty() ? DCGM_ST_NOT_SUPPORTED : DCGM_ST_VER_MISMATCH;
    }
    status->numGpus = static_cast<uint32_t>(fake.peers.size());
    for (size_t i = 0; i < fake.peers.size(); ++i) {
      status->gpus[i].entityId = fake.gpus[i].gpu_id;
      std::ranges::copy(fake.peers[i], status->gpus[i].linkStatus);
    }
    return DCGM_ST_OK;
  });
}

}  // namespace podgpu
