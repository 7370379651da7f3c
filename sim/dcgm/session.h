// One connection to an engine, embedded or remote: the client's groups and watches, and its reads.
//
// The simulated engine keeps no state, so groups, field groups and watches live here and end with
// the connection.  A remote session makes one round trip for each vendor call before it answers
// (Reach), which over TCP takes as long as with DCGM.  Everything else needs the session's lock,
// which Scene represents.  Part of the face: standard library only.  Any thread.
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

// The devices that an engine found at its start.
struct EngineStart {
  TimeUs at = 0;  // The engine does not know earlier events.
  bool has_nvml = true;
  GpuNumbers gpus;
};

// The client's setup, with the engine to which it belongs.
struct SessionState {
  SessionState(const EngineStart& engine, TimeUs now) : start(engine), detachments_seen(now) {}
  const EngineStart start;
  Groups groups;
  FieldGroups field_groups;
  Watches watches;
  std::map<uint64_t, HealthWatch> health;  // By group, built-in groups included.
  TimeUs detachments_seen;                 // What was detached by then is forgotten.
};

// The world at the moment of one call, with the session's state locked.
struct Scene {
  RunDirectory& run;
  const World& world;
  TimeUs now;
  SessionState& state;

  Sight sight() const { return {world, state.start.gpus}; }
  // Civil time of a sample, by the machine's clock at that time.
  int64_t StampUs(TimeUs t) const { return run.StampUs(t) + world.ClockJumpUs(t); }
};

// Removes the GPUs that were detached since the last call from the client's groups, and drops the
// watches of those that returned: the engine restores only its own groups (DCGM 4.6.0, seen).
void ForgetDetached(const Scene& scene);

// A value for the client.
struct Delivery {
  EntityKey entity;
  const Field* field = nullptr;
  Reading reading;
};

class Session {
 public:
  // `link` is null for the embedded engine.
  Session(std::shared_ptr<RunDirectory> run, std::shared_ptr<EngineLink> link);

  // Makes the round trip of a vendor call and applies the faults on it; a dcgmReturn_t.  Returns 0
  // at once when embedded and without faults.
  int Reach(std::string_view call, const Concern& concern);
  // The world in force.
  const World& world() { return run_->world(); }
  bool has_delays() const { return run_->has_engine_delays(); }
  // The engine dies, as from live data of a profiling field.  Embedded: this process dies.
  int Crash();
  // Releases a call that is blocked in Reach.
  void Shut();

  // Calls `body(scene)` under the lock and returns its result.
  template <typename Body>
  int With(Body&& body) {
    const std::lock_guard lock(mutex_);
    Scene scene{.run = *run_, .world = run_->world(), .now = run_->Now(), .state = *state_};
    ForgetDetached(scene);
    return body(scene);
  }

 private:
  std::unique_ptr<SessionState> MakeState(TimeUs began) const;
  int Ask(std::string_view call);
  int AwaitDelayOf(std::string_view call);
  int Pause(int ms, const Countdown& countdown);
  int ApplyFaults(std::string_view call, const Concern& concern);
  // The GPUs of a call, one bit for each of the world's.
  uint32_t GpusOf(const Concern& concern);

  const std::shared_ptr<RunDirectory> run_;
  const std::shared_ptr<EngineLink> link_;
  std::mutex mutex_;
  std::unique_ptr<SessionState> state_;  // Guarded by mutex_; never null.
  uint64_t generation_ = 0;              // Guarded by mutex_: the engine of state_.
};

// The members of a group, built-in or created; false when there is none.
bool MembersOf(const Scene& scene, uint64_t group, std::vector<EntityKey>& members);

// Whether the entity can have samples of the field: profiling fields need GPM or the profiling
// module.
bool CanWatch(const Scene& scene, EntityKey entity, const Field& field);

// dcgmWatchFields.
int WatchFields(const Scene& scene, Series::Owner owner, const WatchTerms& terms);

// The newest sample of a field, or the reason why there is none.
Reading LatestReading(const Scene& scene, EntityKey entity, const Field& field);
// The field as the driver reports it now.
Reading LiveReading(const Scene& scene, EntityKey entity, const Field& field);
// Kept samples from world time `since` on; one without data when there are none.  DCGM's code when
// the field is not watched.
int ReadingsSince(const Scene& scene, const Delivery& which, TimeUs since,
                  std::vector<Delivery>& readings);

}  // namespace podgpu::sim
