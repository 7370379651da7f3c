// Exported: watching fields and reading values, in all of the vendor's forms.
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "fields/field_ids.h"
#include "sim/dcgm/fields.h"
#include "sim/dcgm/library.h"

namespace podgpu::sim {
namespace {

constexpr size_t kMaxFieldsPerCall = 128;
constexpr size_t kMaxEntitiesPerCall = 1024;

// Reads the fields of `ids`; a dcgmReturn_t.  One unknown id fails the whole call.
int FieldsOf(const unsigned short* ids, size_t count, std::vector<const Field*>& fields) {
  if (ids == nullptr || count == 0 || count > kMaxFieldsPerCall) {
    return abi::DCGM_ST_BADPARAM;
  }
  for (const unsigned short id : std::span(ids, count)) {
    fields.push_back(FieldOfLibrary(id));
  }
  return std::ranges::find(fields, nullptr) == fields.end() ? abi::DCGM_ST_OK
                                                            : abi::DCGM_ST_GENERIC_ERROR;
}

// The letter of the value's type.  The licence of a vGPU, a number, is a text where it is not
// supported (DCGM 4.6.0, seen).
int TypeOf(const Delivery& delivery) {
  constexpr uint16_t kVgpuLicence = 526;
  const auto* const blank = std::get_if<Blank>(&delivery.reading.value);
  const bool is_text =
      delivery.field->id == kVgpuLicence && blank != nullptr && *blank == Blank::kNotSupported;
  return is_text ? int{abi::DCGM_FT_STRING} : FieldTypeLetter(*delivery.field);
}

// The members common to both layouts of a value.
template <typename Value>
void Store(const Delivery& delivery, int64_t stamp_us, Value& out) {
  const int type = TypeOf(delivery);
  out.fieldId = delivery.field->id;
  out.fieldType = static_cast<uint16_t>(type);
  out.status = delivery.reading.status;
  out.ts = stamp_us;
  StorePayload(delivery.reading, type, out.value);
}

// Civil time of the sample; 0 without one.
int64_t StampOf(const Scene& scene, const Reading& reading) {
  return reading.sampled_at ? scene.StampUs(*reading.sampled_at) : 0;
}

void StoreV1(const Delivery& delivery, int64_t stamp_us, abi::dcgmFieldValue_v1& out) {
  out.version = abi::dcgmFieldValue_version1;
  Store(delivery, stamp_us, out);
}

void StoreV2(const Delivery& delivery, int64_t stamp_us, abi::dcgmFieldValue_v2& out) {
  out.version = abi::dcgmFieldValue_version2;
  out.entityGroupId = delivery.entity.group;
  out.entityId = delivery.entity.id;
  out.unused = 0;
  Store(delivery, stamp_us, out);
}

// Latest values of one entity, as version 1.
int ReadEntity(const Scene& scene, EntityKey entity, std::span<const Field* const> fields,
               abi::dcgmFieldValue_v1* out) {
  for (const Field* field : fields) {
    const Delivery delivery{entity, field, LatestReading(scene, entity, *field)};
    StoreV1(delivery, StampOf(scene, delivery.reading), *out++);
  }
  return abi::DCGM_ST_OK;
}

// The members of both groups; a dcgmReturn_t.
int ResolveGroups(const Scene& scene, abi::dcgmGpuGrp_t group, abi::dcgmFieldGrp_t field_group,
                  std::vector<EntityKey>& members, std::vector<const Field*>& fields) {
  if (!MembersOf(scene, group, members)) {
    return abi::DCGM_ST_NOT_CONFIGURED;
  }
  const FieldGroup* const made = scene.state.field_groups.Find(field_group);
  if (made == nullptr) {
    return abi::DCGM_ST_NO_DATA;
  }
  if (members.empty()) {
    return abi::DCGM_ST_GROUP_IS_EMPTY;
  }
  return FieldsOf(made->fields.data(), made->fields.size(), fields);
}

// A value copied out of the lock; the client's callback must not be called under the lock.
struct Outgoing {
  Delivery delivery;
  int64_t stamp_us;
};

void Send(const std::vector<Outgoing>& values, abi::dcgmFieldValueEntityEnumeration_f callback,
          void* user) {
  abi::dcgmFieldValue_v1 value{};
  for (const auto& [delivery, stamp_us] : values) {
    StoreV1(delivery, stamp_us, value);
    if (callback(delivery.entity.group, delivery.entity.id, &value, 1, user) != 0) {
      return;
    }
  }
}

void Collect(const Scene& scene, const Delivery& delivery, std::vector<Outgoing>& values) {
  values.push_back({delivery, StampOf(scene, delivery.reading)});
}

int CollectSince(const Scene& scene, abi::dcgmGpuGrp_t group, abi::dcgmFieldGrp_t field_group,
                 int64_t since_stamp_us, std::vector<Outgoing>& values) {
  std::vector<EntityKey> members;
  std::vector<const Field*> fields;
  const int resolved = ResolveGroups(scene, group, field_group, members, fields);
  if (resolved != abi::DCGM_ST_OK) {
    return resolved;
  }
  std::vector<Delivery> readings;
  const TimeUs since = scene.run.FromStampUs(since_stamp_us) - scene.world.ClockJumpUs(scene.now);
  for (const EntityKey& entity : members) {
    for (const Field* field : fields) {
      const int result = ReadingsSince(scene, {entity, field, Reading{}}, since, readings);
      if (result != abi::DCGM_ST_OK) {
        return result;
      }
    }
  }
  values.reserve(readings.size());
  for (const Delivery& delivery : readings) {
    Collect(scene, delivery, values);
  }
  return abi::DCGM_ST_OK;
}

// Live data of event fields fails the whole call (DCGM 4.6.0, seen for the XID).

int ReadEntities(const Scene& scene, std::span<const abi::dcgmGroupEntityPair_t> entities,
                 std::span<const Field* const> fields, bool live, abi::dcgmFieldValue_v2* out) {
  if (live && std::ranges::find(fields, field_ids::kXid, &Field::id) != fields.end()) {
    return abi::DCGM_ST_GENERIC_ERROR;
  }
  for (const abi::dcgmGroupEntityPair_t& pair : entities) {
    const EntityKey entity{pair.entityGroupId, pair.entityId};
    for (const Field* field : fields) {
      const Delivery delivery{
          entity, field,
          live ? LiveReading(scene, entity, *field) : LatestReading(scene, entity, *field)};
      StoreV2(delivery, StampOf(scene, delivery.reading), *out++);
    }
  }
  return abi::DCGM_ST_OK;
}

// The terms of a client's watch; empty when they are out of range.
std::optional<WatchTerms> TermsOf(long long period_us, double keep_age_s, int keep_samples) {
  constexpr double kMaxAgeSeconds = 1e9;
  if (period_us < 0 || keep_samples < 0 || !(keep_age_s >= 0 && keep_age_s < kMaxAgeSeconds)) {
    return std::nullopt;
  }
  return WatchTerms{.period_us = period_us,
                    .keep_age_us = static_cast<TimeUs>(keep_age_s * 1e6),
                    .keep_samples = keep_samples};
}

// A field group of global fields only: DCGM does not find its watch under the group's entities
// (DCGM 4.6.0, seen for the bind event on all GPUs).
bool IsGlobalOnly(const FieldGroup& group) {
  return std::ranges::all_of(
      group.fields, [](uint16_t id) { return FieldOfLibrary(id)->scope() == FieldScope::kGlobal; });
}

int Unwatch(const Scene& scene, abi::dcgmGpuGrp_t group, abi::dcgmFieldGrp_t field_group) {
  std::vector<EntityKey> members;
  if (!MembersOf(scene, group, members)) {
    return abi::DCGM_ST_NOT_CONFIGURED;
  }
  const FieldGroup* const made = scene.state.field_groups.Find(field_group);
  if (made == nullptr) {
    return abi::DCGM_ST_NO_DATA;
  }
  const bool was_watched =
      scene.state.watches.Unwatch({EngineGroup(group), field_group}, scene.now);
  return was_watched && !IsGlobalOnly(*made) ? abi::DCGM_ST_OK : abi::DCGM_ST_NOT_WATCHED;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

abi::dcgmReturn_t dcgmWatchFields(abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group,
                                  abi::dcgmFieldGrp_t field_group, long long period_us,
                                  double keep_age_s, int keep_samples) {
  return Call(handle, __func__, Concern::Group(group), [&](const Scene& scene) -> int {
    const std::optional<WatchTerms> terms = TermsOf(period_us, keep_age_s, keep_samples);
    return terms ? WatchFields(scene, {group, field_group}, *terms) : abi::DCGM_ST_BADPARAM;
  });
}

abi::dcgmReturn_t dcgmUnwatchFields(abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group,
                                    abi::dcgmFieldGrp_t field_group) {
  return Call(handle, __func__, Concern::Group(group),
              [&](const Scene& scene) { return Unwatch(scene, group, field_group); });
}

abi::dcgmReturn_t dcgmUpdateAllFields(abi::dcgmHandle_t handle, int wait) {
  // All due samples are taken already.
  return Call(handle, __func__, wait != 0 ? Concern::Driver() : Concern(),
              [](const Scene&) -> int { return abi::DCGM_ST_OK; });
}

abi::dcgmReturn_t dcgmGetValuesSince_v2(  // NOLINT(readability-function-size): the vendor's.
    abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group, abi::dcgmFieldGrp_t field_group,
    long long since_us, long long* next_us, abi::dcgmFieldValueEntityEnumeration_f callback,
    void* user) {
  std::vector<Outgoing> values;
  int64_t queried_at_us = 0;
  const int result = Call(handle, __func__, Concern::Group(group), [&](const Scene& scene) -> int {
    queried_at_us = scene.StampUs(scene.now);
    return callback == nullptr || next_us == nullptr
               ? abi::DCGM_ST_BADPARAM
               : CollectSince(scene, group, field_group, since_us, values);
  });
  if (result == abi::DCGM_ST_OK) {
    *next_us = queried_at_us + 1;
    Send(values, callback, user);
  }
  return result;
}

abi::dcgmReturn_t dcgmEntitiesGetLatestValues(  // NOLINT(readability-function-size): the vendor's.
    abi::dcgmHandle_t handle, abi::dcgmGroupEntityPair_t* entities, unsigned int entity_count,
    unsigned short* ids, unsigned int field_count, unsigned int flags,
    abi::dcgmFieldValue_v2* out) {
  const bool live = (flags & abi::DCGM_FV_FLAG_LIVE_DATA) != 0;
  const size_t listed =
      entities == nullptr ? 0 : std::min<size_t>(entity_count, kMaxEntitiesPerCall);
  const Concern concern{
      .about = Concern::About::kEntities, .asks_driver = live, .entities = {entities, listed}};
  return CallSession(handle, __func__, concern, [&](Session& session) -> int {
    std::vector<const Field*> fields;
    if (entities == nullptr || out == nullptr || entity_count == 0 ||
        entity_count > kMaxEntitiesPerCall) {
      return abi::DCGM_ST_BADPARAM;
    }
    const int known = FieldsOf(ids, field_count, fields);
    if (known != abi::DCGM_ST_OK) {
      return known;
    }
    if (live && std::ranges::any_of(fields, &Field::profiling)) {
      return session.Crash();
    }
    return session.With([&](const Scene& scene) {
      return ReadEntities(scene, {entities, entity_count}, fields, live, out);
    });
  });
}

abi::dcgmReturn_t dcgmEntityGetLatestValues(abi::dcgmHandle_t handle,
                                            abi::dcgm_field_entity_group_t kind, int entity,
                                            unsigned short* ids, unsigned int count,
                                            abi::dcgmFieldValue_v1* out) {
  return Call(handle, __func__, Concern::Of({kind, static_cast<uint32_t>(entity)}),
              [&](const Scene& scene) -> int {
                std::vector<const Field*> fields;
                const int known =
                    out == nullptr ? abi::DCGM_ST_BADPARAM : FieldsOf(ids, count, fields);
                return known != abi::DCGM_ST_OK
                           ? known
                           : ReadEntity(scene, {kind, static_cast<uint32_t>(entity)}, fields, out);
              });
}

abi::dcgmReturn_t dcgmGetLatestValuesForFields(abi::dcgmHandle_t handle, int gpu,
                                               unsigned short* ids, unsigned int count,
                                               abi::dcgmFieldValue_v1* out) {
  return Call(
      handle, __func__, Concern::Gpu(static_cast<uint32_t>(gpu)), [&](const Scene& scene) -> int {
        std::vector<const Field*> fields;
        const int known = out == nullptr ? abi::DCGM_ST_BADPARAM : FieldsOf(ids, count, fields);
        return known != abi::DCGM_ST_OK
                   ? known
                   : ReadEntity(scene, {abi::DCGM_FE_GPU, static_cast<uint32_t>(gpu)}, fields, out);
      });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace podgpu::sim
