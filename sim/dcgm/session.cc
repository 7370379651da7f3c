#include "sim/dcgm/session.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>

#include "sim/dcgm/faults.h"
#include "sim/dcgm/fields.h"

namespace podgpu::sim {
namespace {

// Fields that can be read from the cache only (DCGM 4.6.0).
constexpr std::array<uint16_t, 5> kNeverLive = {210, 211, 220, 221, 501};

// Fields of virtual GPUs; a host without virtual GPUs has no samples of them (DCGM 4.6.0, seen).
constexpr std::array<uint16_t, 3> kNeverSampled = {522, 523, 524};

// Requests with a large message wait for a delayed acknowledgement of the peer's TCP: once, or
// twice for the state of the links (DCGM 4.6.0, seen).
struct TcpDelay {
  std::string_view call;
  int ms;
};
constexpr int kTcpDelayMs = 44;
constexpr std::array<TcpDelay, 3> kTcpDelays = {{{"dcgmEntitiesGetLatestValues", kTcpDelayMs},
                                                 {"dcgmGetGpuInstanceHierarchy", kTcpDelayMs},
                                                 {"dcgmGetNvLinkLinkStatus", 2 * kTcpDelayMs}}};

struct BuiltInGroup {
  uint64_t id;
  std::array<abi::dcgm_field_entity_group_t, 3> members;  // Unused places are DCGM_FE_NONE.
};
// The engine makes the first two when it starts.
constexpr std::array<BuiltInGroup, 6> kBuiltInGroups = {
    {{kAllGpusGroup, {abi::DCGM_FE_GPU}},
     {kAllNvSwitchesGroup, {abi::DCGM_FE_SWITCH}},
     {abi::DCGM_GROUP_ALL_INSTANCES, {abi::DCGM_FE_GPU_I}},
     {abi::DCGM_GROUP_ALL_COMPUTE_INSTANCES, {abi::DCGM_FE_GPU_CI}},
     {abi::DCGM_GROUP_ALL_ENTITIES, {abi::DCGM_FE_GPU, abi::DCGM_FE_GPU_I, abi::DCGM_FE_GPU_CI}},
     {abi::DCGM_GROUP_NULL, {}}}};

// A watch of more profiling fields than this is refused (DCGM 4.6.0, seen).
constexpr int64_t kMostProfilingFields = 64;

// The InfoROM is not read more often than this, for any watch (DCGM 4.6.0, seen).
constexpr std::array<uint16_t, 2> kInforomFields = {83, 84};
constexpr TimeUs kInforomPeriodUs = 30'000'000;

constexpr uint64_t kDetachFaults =
    FaultBit(FaultKind::kGpuDetached) | FaultBit(FaultKind::kBindUnbind);

// Those of `ids` that this library's release knows.
std::vector<const Field*> KnownOf(std::span<const uint16_t> ids) {
  std::vector<const Field*> fields;
  for (const uint16_t id : ids) {
    if (const Field* const field = FieldOfLibrary(id)) {
      fields.push_back(field);
    }
  }
  return fields;
}

// The engine's sample period of the field for a watch with `terms`.
WatchTerms TermsFor(const Field& field, WatchTerms terms) {
  if (std::ranges::find(kInforomFields, field.id) != kInforomFields.end()) {
    terms.period_us = std::max(terms.period_us, kInforomPeriodUs);
  }
  return terms;
}

// The GPU of a GPU's link or of an instance, or the GPU itself; -1 for any other entity.
int GpuAt(const Scene& scene, EntityKey entity, TimeUs t) {
  const std::optional<Entity> found = FindEntity(scene.sight(), entity, t);
  return found && entity.group != abi::DCGM_FE_NONE ? found->device.gpu : -1;
}

int GpuOf(const Scene& scene, EntityKey entity) { return GpuAt(scene, entity, scene.now); }

// The series of a field: a global field has one; a field of the level GPU has one for the GPU and
// all its instances, so a watch through an instance makes it readable on the GPU (DCGM 4.6.0,
// seen).
Watches::Key SeriesKey(const Scene& scene, EntityKey entity, const Field& field) {
  if (field.scope() == FieldScope::kGlobal) {
    return {EntityKey{}, field.id};
  }
  const bool is_part_of_gpu =
      entity.group == abi::DCGM_FE_GPU_I || entity.group == abi::DCGM_FE_GPU_CI;
  const int gpu = is_part_of_gpu && field.level == FieldLevel::kGpu ? GpuOf(scene, entity) : -1;
  return {gpu < 0 ? entity
                  : EntityKey{abi::DCGM_FE_GPU,
                              static_cast<uint32_t>(scene.state.start.gpus.IdOf(gpu))},
          field.id};
}

Reading ReadAt(const Scene& scene, EntityKey key, const Field& field, const SampleTime& sample) {
  if (FieldTypeLetter(field) == abi::DCGM_FT_BINARY) {
    return NoSample(abi::DCGM_ST_NOT_SUPPORTED);  // A blob has no blank.
  }
  const std::optional<Entity> entity = FindEntity(scene.sight(), key, sample.t);
  if (!entity) {
    return NoSample(abi::DCGM_ST_NOT_WATCHED);
  }
  const bool is_global = key.group == abi::DCGM_FE_NONE;
  const int gpu = is_global ? -1 : entity->device.gpu;
  Reading reading = gpu < 0 || IsReadable(scene.world, gpu, field.id, sample.t)
                        ? ReadField(scene.sight(), *entity, field, sample)
                        : Reading{.value = Blank::kNoValue, .sampled_at = sample.t};
  ApplyFaultsToReading(scene.world, gpu, field, sample.t, scene.now, reading);
  return reading;
}

// The time up to which the engine has sampled the field.
TimeUs LastSampled(const Scene& scene, EntityKey key, const Field& field) {
  return (scene.world.fault_kinds() & kSamplingFaults) == 0
             ? scene.now
             : SampledUntil(scene.world, GpuOf(scene, key), field, scene.now);
}

// The event in the field at `sample`; without an event there is no data.
Reading EventReading(const Scene& scene, EntityKey key, const Field& field,
                     const FieldEvent& event) {
  Reading reading{.value = event.value, .sampled_at = event.at};
  ApplyFaultsToReading(scene.world, GpuOf(scene, key), field, event.at, scene.now, reading);
  return reading;
}

// The newest event, unless the GPU is gone: then the field is blank, like all others.
Reading LatestEvent(const Scene& scene, EntityKey key, const Field& field,
                    const SampleTime& sample) {
  const int gpu = GpuOf(scene, key);
  if (gpu >= 0 && !IsReadable(scene.world, gpu, field.id, sample.t)) {
    return ReadAt(scene, key, field, sample);
  }
  const std::vector<FieldEvent> events =
      EventsOf(scene.world, gpu, field.id, scene.state.start.at, scene.now);
  if (events.empty()) {
    Reading none = NoSample(abi::DCGM_ST_NO_DATA);
    ApplyFaultsToReading(scene.world, gpu, field, sample.t, scene.now, none);
    return none;
  }
  return EventReading(scene, key, field, events.back());
}

// Watches `fields` of the members for `owner`.
int WatchMembers(const Scene& scene, std::span<const EntityKey> members,
                 std::span<const Field* const> fields, Series::Owner owner,
                 const WatchTerms& terms) {
  if (std::ranges::count_if(fields, &Field::profiling) > kMostProfilingFields) {
    return abi::DCGM_ST_GENERIC_ERROR;
  }
  const bool is_refused = std::ranges::any_of(members, [&](const EntityKey& entity) {
    return std::ranges::any_of(
        fields, [&](const Field* field) { return !CanWatch(scene, entity, *field); });
  });
  for (const EntityKey& entity : members) {
    for (const Field* field : fields) {
      if (!is_refused || !(field->profiling || IsEventField(field->id))) {
        scene.state.watches.Watch(SeriesKey(scene, entity, *field), owner, TermsFor(*field, terms),
                                  scene.now);
      }
    }
  }
  if (!is_refused) {
    return abi::DCGM_ST_OK;
  }
  // The whole watch is rolled back; first samples of other than profiling fields stay.
  scene.state.watches.Unwatch(owner, scene.now);
  return abi::DCGM_ST_MODULE_NOT_LOADED;
}

}  // namespace

Session::Session(std::shared_ptr<RunDirectory> run, std::shared_ptr<EngineLink> link)
    : run_(std::move(run)),
      link_(std::move(link)),
      state_(MakeState(link_ == nullptr ? run_->Now() : run_->engine_began())),
      generation_(link_ != nullptr ? link_->generation() : 0) {}

std::unique_ptr<SessionState> Session::MakeState(TimeUs began) const {
  const World& world = run_->world();
  const TimeUs now = run_->Now();
  return std::make_unique<SessionState>(
      EngineStart{.at = began,
                  .has_nvml = world.FaultAt(FaultKind::kNoNvml, now) == nullptr,
                  .gpus = GpuNumbers(world, now, began)},
      now);
}

int Session::Reach(std::string_view call, const Concern& concern) {
  if (link_ != nullptr) {
    if (const int reached = Ask(call); reached != abi::DCGM_ST_OK) {
      return reached;
    }
    if (const int waited = AwaitDelayOf(call); waited != abi::DCGM_ST_OK) {
      return waited;
    }
  }
  const bool may_meet = (run_->world().fault_kinds() & kCallFaults) != 0;
  return may_meet ? ApplyFaults(call, concern) : abi::DCGM_ST_OK;
}

int Session::AwaitDelayOf(std::string_view call) {
  const auto delay = std::ranges::find(kTcpDelays, call, &TcpDelay::call);
  const bool is_delayed = link_->is_tcp() && delay != kTcpDelays.end() && run_->has_engine_delays();
  return is_delayed ? Pause(delay->ms, Countdown(link_->request_timeout())) : abi::DCGM_ST_OK;
}

// Waits in a remote session; a dcgmReturn_t when something ends the wait early.
int Session::Pause(int ms, const Countdown& countdown) {
  switch (link_->Stall(std::chrono::milliseconds(ms), countdown)) {
    case LinkResult::kTimedOut:
      return abi::DCGM_ST_TIMEOUT;
    case LinkResult::kClosed:
      return abi::DCGM_ST_CONNECTION_NOT_VALID;
    case LinkResult::kAnswered:
      break;
  }
  return abi::DCGM_ST_OK;
}

int Session::ApplyFaults(std::string_view call, const Concern& concern) {
  std::optional<Countdown> countdown;
  if (link_ != nullptr) {
    countdown.emplace(link_->request_timeout());
  }
  const auto pause = [&](int ms) { return countdown ? Pause(ms, *countdown) : Sleep(ms); };
  return ApplyCallFaults(*run_, {.name = call,
                                 .asks_driver = concern.asks_driver,
                                 .gpus = [&] { return GpusOf(concern); },
                                 .pause = pause});
}

uint32_t Session::GpusOf(const Concern& concern) {
  uint32_t gpus = 0;
  With([&](const Scene& scene) {
    const auto add = [&](EntityKey key) {
      const int gpu = GpuOf(scene, key);
      gpus |= gpu < 0 ? 0 : uint32_t{1} << static_cast<unsigned>(gpu);
    };
    std::vector<EntityKey> members;
    switch (concern.about) {
      case Concern::About::kNothing:
        break;
      case Concern::About::kEntity:
        add(concern.entity);
        break;
      case Concern::About::kGroup:
        MembersOf(scene, concern.group, members);
        std::ranges::for_each(members, add);
        break;
      case Concern::About::kEntities:
        for (const abi::dcgmGroupEntityPair_t& pair : concern.entities) {
          add({pair.entityGroupId, pair.entityId});
        }
        break;
    }
    return abi::DCGM_ST_OK;
  });
  return gpus;
}

int Session::Ask(std::string_view call) {
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
    state_ = MakeState(run_->Now());
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

void ForgetDetached(const Scene& scene) {
  TimeUs& seen = scene.state.detachments_seen;
  if ((scene.world.fault_kinds() & kDetachFaults) == 0) {
    return;
  }
  const auto is_built_in = [](uint64_t group) {
    return std::ranges::find(kBuiltInGroups, group, &BuiltInGroup::id) != kBuiltInGroups.end();
  };
  for (const Fault& fault : scene.world.faults()) {
    if (!IsDetaching(fault.kind)) {
      continue;
    }
    // Instances have other numbers afterwards.
    const auto is_meant = [&](const EntityKey& key) {
      const int gpu = GpuAt(scene, key, fault.at);
      return gpu >= 0 && fault.Concerns(gpu);
    };
    const auto has_come = [&](TimeUs t) { return seen < t && t <= scene.now; };
    if (has_come(fault.at)) {
      scene.state.groups.RemoveAll(is_meant);
    }
    if (has_come(fault.until)) {
      scene.state.watches.Drop(is_meant, is_built_in, fault.until);
    }
  }
  seen = scene.now;
}

bool MembersOf(const Scene& scene, uint64_t group, std::vector<EntityKey>& members) {
  if (const Group* const made = scene.state.groups.Find(group)) {
    members = made->entities;
    return true;
  }
  const auto built_in = std::ranges::find(kBuiltInGroups, EngineGroup(group), &BuiltInGroup::id);
  if (built_in == kBuiltInGroups.end()) {
    return false;
  }
  members.clear();
  for (const auto kind : built_in->members) {
    const std::vector<EntityKey> entities = ListEntities(scene.sight(), kind, scene.now);
    members.insert(members.end(), entities.begin(), entities.end());
  }
  return true;
}

bool CanWatch(const Scene& scene, EntityKey entity, const Field& field) {
  if (!field.profiling) {
    return true;
  }
  const int gpu = GpuOf(scene, entity);
  if (scene.world.FaultAt(FaultKind::kWatchPartial, gpu, scene.now) != nullptr) {
    return false;
  }
  return scene.world.has_profiling_module() || (gpu >= 0 && scene.world.gpu(gpu).has_gpm);
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
  return WatchMembers(scene, members, KnownOf(fields->fields),
                      {EngineGroup(owner.first), owner.second}, terms);
}

Reading LatestReading(const Scene& scene, EntityKey entity, const Field& field) {
  const Watches::Key key = SeriesKey(scene, entity, field);
  const Series* const series = scene.state.watches.Find(key);
  if (series == nullptr) {
    return NoSample(abi::DCGM_ST_NOT_WATCHED);
  }
  const std::optional<SampleTime> sample = series->Latest(LastSampled(scene, key.first, field));
  if (!sample || std::ranges::find(kNeverSampled, field.id) != kNeverSampled.end()) {
    return NoSample(abi::DCGM_ST_NO_DATA);
  }
  if (IsEventField(field.id)) {
    return LatestEvent(scene, key.first, field, *sample);
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
  return ReadAt(scene, SeriesKey(scene, entity, field).first, field,
                {.t = scene.now, .previous = std::nullopt});
}

int ReadingsSince(const Scene& scene, const Delivery& which, TimeUs since,
                  std::vector<Delivery>& readings) {
  const Watches::Key key = SeriesKey(scene, which.entity, *which.field);
  const Series* const series = scene.state.watches.Find(key);
  if (series == nullptr) {
    return abi::DCGM_ST_NOT_WATCHED;
  }
  const int gpu = GpuOf(scene, key.first);
  const size_t before = readings.size();
  const auto add = [&](Reading reading) {
    Delivery& made = readings.emplace_back(which);
    made.reading = std::move(reading);
  };
  if (IsEventField(which.field->id)) {
    const TimeUs first = std::max(since, scene.state.start.at);
    for (const FieldEvent& event : EventsOf(scene.world, gpu, which.field->id, first, scene.now)) {
      add(EventReading(scene, key.first, *which.field, event));
    }
  } else {
    for (const SampleTime& sample :
         series->Since(since, LastSampled(scene, key.first, *which.field))) {
      add(ReadAt(scene, key.first, *which.field, sample));
    }
  }
  if (readings.size() == before) {
    add(NoSample(abi::DCGM_ST_NO_DATA));
  }
  return abi::DCGM_ST_OK;
}

}  // namespace podgpu::sim
