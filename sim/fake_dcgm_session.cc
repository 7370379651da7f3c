#include "sim/fake_dcgm_session.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "sim/fake_dcgm_fields.h"

namespace podgpu::sim {
namespace {

// Fields that can be read from the cache only (DCGM 4.6.0).
constexpr std::array<uint16_t, 5> kNeverLive = {210, 211, 220, 221, 501};

struct BuiltInGroup {
  uint64_t id;
  std::array<abi::dcgm_field_entity_group_t, 3> members;  // DCGM_FE_NONE where there are fewer.
};
constexpr std::array<BuiltInGroup, 6> kBuiltInGroups = {
    {{abi::DCGM_GROUP_ALL_GPUS, {abi::DCGM_FE_GPU}},
     {abi::DCGM_GROUP_ALL_NVSWITCHES, {abi::DCGM_FE_SWITCH}},
     {abi::DCGM_GROUP_ALL_INSTANCES, {abi::DCGM_FE_GPU_I}},
     {abi::DCGM_GROUP_ALL_COMPUTE_INSTANCES, {abi::DCGM_FE_GPU_CI}},
     {abi::DCGM_GROUP_ALL_ENTITIES, {abi::DCGM_FE_GPU, abi::DCGM_FE_GPU_I, abi::DCGM_FE_GPU_CI}},
     {abi::DCGM_GROUP_NULL, {}}}};

// A global field has one series, whichever entity is asked.
Watches::Key SeriesKey(EntityKey entity, const Field& field) {
  return {field.scope() == FieldScope::kGlobal ? EntityKey{} : entity, field.id};
}

// A link's GPU, an instance's GPU, the GPU itself; -1 for anything else.
int GpuOf(const Scene& scene, EntityKey entity) {
  const std::optional<Entity> found = FindEntity(scene.world, entity, scene.now);
  return found && entity.group != abi::DCGM_FE_NONE ? found->device.gpu : -1;
}

Reading ReadAt(const Scene& scene, EntityKey key, const Field& field, const SampleTime& sample) {
  if (FieldTypeLetter(field) == abi::DCGM_FT_BINARY) {
    return NoSample(abi::DCGM_ST_NOT_SUPPORTED);  // A blob has no blank.
  }
  const std::optional<Entity> entity = FindEntity(scene.world, key, sample.t);
  return entity ? ReadField(scene.world, *entity, field, sample)
                : NoSample(abi::DCGM_ST_NOT_WATCHED);
}

}  // namespace

Session::Session(std::unique_ptr<RunDirectory> run, std::shared_ptr<EngineLink> link, bool manual)
    : run_(std::move(run)),
      link_(std::move(link)),
      manual_(manual),
      state_(std::make_unique<SessionState>(manual)),
      generation_(link_ != nullptr ? link_->generation() : 0) {}

int Session::Reach(std::string_view call) {
  if (link_ == nullptr) {
    return abi::DCGM_ST_OK;
  }
  switch (link_->Ask(EngineCall(call))) {
    case LinkResult::kTimedOut:
      return abi::DCGM_ST_TIMEOUT;
    case LinkResult::kClosed:
      return abi::DCGM_ST_CONNECTION_NOT_VALID;
    case LinkResult::kAnswered:
      break;
  }
  const std::lock_guard lock(mutex_);
  if (link_->generation() != generation_) {
    generation_ = link_->generation();
    state_ = std::make_unique<SessionState>(manual_);
  }
  return abi::DCGM_ST_OK;
}

int Session::Crash() {
  if (link_ == nullptr) {
    std::raise(SIGSEGV);
    return abi::DCGM_ST_GENERIC_ERROR;
  }
  link_->Ask(kEngineCrashCall);
  return abi::DCGM_ST_CONNECTION_NOT_VALID;
}

void Session::Shut() {
  if (link_ != nullptr) {
    link_->Shut();
  }
}

bool MembersOf(const Scene& scene, uint64_t group, std::vector<EntityKey>& members) {
  if (const Group* const made = scene.state.groups.Find(group)) {
    members = made->entities;
    return true;
  }
  const auto built_in = std::ranges::find(kBuiltInGroups, group, &BuiltInGroup::id);
  if (built_in == kBuiltInGroups.end()) {
    return false;
  }
  members.clear();
  for (const auto kind : built_in->members) {
    const std::vector<EntityKey> entities = ListEntities(scene.world, kind, scene.now);
    members.insert(members.end(), entities.begin(), entities.end());
  }
  return true;
}

bool CanWatch(const Scene& scene, EntityKey entity, const Field& field) {
  if (!field.profiling || scene.world.has_profiling_module()) {
    return true;
  }
  const int gpu = GpuOf(scene, entity);
  return gpu >= 0 && scene.world.gpu(gpu).has_gpm;
}

int WatchFields(const Scene& scene, Series::Owner owner, const WatchTerms& terms) {
  std::vector<EntityKey> members;
  if (!MembersOf(scene, owner.first, members)) {
    return abi::DCGM_ST_NOT_CONFIGURED;
  }
  const FieldGroup* const fields = scene.state.field_groups.Find(owner.second);
  if (fields == nullptr) {
    return abi::DCGM_ST_NO_DATA;
  }
  int result = abi::DCGM_ST_OK;
  for (const EntityKey& entity : members) {
    for (const uint16_t id : fields->fields) {
      const Field& field = *FieldOfLibrary(id);
      if (!CanWatch(scene, entity, field)) {
        result = abi::DCGM_ST_MODULE_NOT_LOADED;  // The others are watched all the same (seen).
        continue;
      }
      scene.state.watches.Watch(SeriesKey(entity, field), owner, terms, scene.now);
    }
  }
  return result;
}

Reading LatestReading(const Scene& scene, EntityKey entity, const Field& field) {
  const Watches::Key key = SeriesKey(entity, field);
  const Series* const series = scene.state.watches.Find(key);
  if (series == nullptr) {
    return NoSample(abi::DCGM_ST_NOT_WATCHED);
  }
  const std::optional<SampleTime> sample = series->Latest(scene.now);
  if (!sample || IsEventField(field.id)) {
    return NoSample(abi::DCGM_ST_NO_DATA);
  }
  return ReadAt(scene, key.first, field, *sample);
}

Reading LiveReading(const Scene& scene, EntityKey entity, const Field& field) {
  if (std::ranges::find(kNeverLive, field.id) != kNeverLive.end()) {
    return NoSample(abi::DCGM_ST_FIELD_UNSUPPORTED_BY_API);
  }
  if (IsEventField(field.id)) {
    return NoSample(abi::DCGM_ST_NO_DATA);
  }
  return ReadAt(scene, SeriesKey(entity, field).first, field,
                {.t = scene.now, .previous = std::nullopt});
}

int ReadingsSince(const Scene& scene, const Delivery& which, TimeUs since,
                  std::vector<Delivery>& readings) {
  const Watches::Key key = SeriesKey(which.entity, *which.field);
  const Series* const series = scene.state.watches.Find(key);
  if (series == nullptr) {
    return abi::DCGM_ST_NOT_WATCHED;
  }
  std::vector<SampleTime> samples;
  if (!IsEventField(which.field->id)) {
    samples = series->Since(since, scene.now);
  }
  for (const SampleTime& sample : samples) {
    readings.push_back({which.entity, which.field, ReadAt(scene, key.first, *which.field, sample)});
  }
  if (samples.empty()) {
    readings.push_back({which.entity, which.field, NoSample(abi::DCGM_ST_NO_DATA)});
  }
  return abi::DCGM_ST_OK;
}

}  // namespace podgpu::sim
