// One connection to an engine, embedded or remote: what its client has set up, and reading values.
//
// The simulated engine keeps nothing, so groups, field groups and watches live here and go with the
// connection.  A remote session makes one round trip for each vendor call before it answers
// (Reach), which over TCP takes as long as it does with DCGM; everything else needs the session's
// lock, which Scene stands for.  Part of the face: standard library only.  Any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "sim/dcgm/concern.h"
#include "sim/dcgm/engine_link.h"
#include "sim/dcgm/groups.h"
#include "sim/dcgm/values.h"
#include "sim/dcgm/watches.h"
#include "sim/world/run_directory.h"

namespace podgpu::sim {

// What an engine found when it started.
struct EngineStart {
  TimeUs at = 0;  // Events before it are not known to it.
  bool has_nvml = true;
  GpuNumbers gpus;
};

// What a client has set up, with the engine in which it lives.
struct SessionState {
  SessionState(bool manual, const EngineStart& engine, TimeUs now)
      : start(engine), watches(manual), detachments_seen(now) {}
  const EngineStart start;
  Groups groups;
  FieldGroups field_groups;
  Watches watches;
  std::map<uint64_t, HealthWatch> health;  // By group, built-in ones too.
  std::map<int, TimeUs> accounted_since;   // By the world's GPU: when a watch switched it on.
  uint32_t modules_used = 0;               // A bit for each module id that a call has asked for.
  TimeUs detachments_seen;                 // Until when watches of detached GPUs are dropped.
};

// The world at the moment of one call, with the session's state locked.
struct Scene {
  RunDirectory& run;
  const World& world;
  TimeUs now;
  SessionState& state;

  Sight sight() const { return {world, state.start.gpus}; }
  // Civil time of a sample, as the clock of the machine said then.
  int64_t StampUs(TimeUs t) const { return run.StampUs(t) + world.ClockJumpUs(t); }
};

// Drops the watches of the GPUs that were detached and are back since the last call: the engine
// restores only those of its own groups (DCGM 4.6.0, seen).
void DropWatchesOfDetached(const Scene& scene);

// A value on its way to the client.
struct Delivery {
  EntityKey entity;
  const Field* field = nullptr;
  Reading reading;
};

class Session {
 public:
  // `link` is null for the embedded engine; `manual` is DCGM_OPERATION_MODE_MANUAL.
  Session(std::shared_ptr<RunDirectory> run, std::shared_ptr<EngineLink> link, bool manual);

  // Makes the round trip of a vendor call and meets the faults that befall it; a dcgmReturn_t.
  // Embedded and without faults: 0 at once.
  int Reach(std::string_view call, const Concern& concern);
  // The world in force.
  const World& world() { return run_->world(); }
  bool has_delays() const { return run_->has_engine_delays(); }
  // The engine dies, as from live data of a profiling field.  Embedded: this process.
  int Crash();
  // Frees a call that is blocked in Reach.
  void Shut();

  // Calls `body(scene)` under the lock and returns what it returns.
  template <typename Body>
  int With(Body&& body) {
    const std::lock_guard lock(mutex_);
    Scene scene{.run = *run_, .world = run_->world(), .now = run_->Now(), .state = *state_};
    DropWatchesOfDetached(scene);
    return body(scene);
  }

 private:
  std::unique_ptr<SessionState> MakeState(bool engine_began_now) const;
  int Ask(std::string_view call);
  int AwaitDelayOf(std::string_view call);
  int Pause(int ms, const Countdown& countdown);
  int MeetFaults(std::string_view call, const Concern& concern);
  // The GPUs that a call is about, a bit for each of the world's.
  uint32_t GpusOf(const Concern& concern);

  const std::shared_ptr<RunDirectory> run_;
  const std::shared_ptr<EngineLink> link_;
  const bool manual_;
  std::mutex mutex_;
  std::unique_ptr<SessionState> state_;  // Guarded by mutex_; never null.
  uint64_t generation_ = 0;              // Guarded by mutex_: of the engine that state_ lives in.
};

// The members of a group, built-in or made; false when there is none.
bool MembersOf(const Scene& scene, uint64_t group, std::vector<EntityKey>& members);

// Whether samples of the field can be had on the entity: profiling fields need GPM or the
// profiling module.
bool CanWatch(const Scene& scene, EntityKey entity, const Field& field);

// dcgmWatchFields.
int WatchFields(const Scene& scene, Series::Owner owner, const WatchTerms& terms);
// The same of the members of a group and those of `fields` that this library's release has.
int WatchMembers(const Scene& scene, std::span<const EntityKey> members,
                 std::span<const uint16_t> fields, Series::Owner owner, const WatchTerms& terms);

// The newest sample of a field, or why there is none.
Reading LatestReading(const Scene& scene, EntityKey entity, const Field& field);
// The field as the driver tells it now.
Reading LiveReading(const Scene& scene, EntityKey entity, const Field& field);
// Kept samples from world time `since` on; one without data when there are none.  DCGM's code when
// the field is not watched.
int ReadingsSince(const Scene& scene, const Delivery& which, TimeUs since,
                  std::vector<Delivery>& readings);

}  // namespace podgpu::sim
