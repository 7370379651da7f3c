// What an engine is asked to sample of devices of one kind: groups of devices, groups of fields,
// watches.
//
// GPUs of one model, with their instances, are one kind, and so are all parts of a kind.  An engine
// that refuses one field rolls the whole watch back (DCGM 4.6.0, seen), so each kind has groups of
// its own: what a model does not offer costs the other models nothing.  Profiling fields are
// watched apart, because a watch of them holds 64 at most.  A field that the engine refuses is
// found by halving, is named, and costs no other field.  Owned by a DcgmWatches; ids belong to one
// connection.  Source thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "base/status.h"
#include "sample/grid.h"
#include "source/decode.h"
#include "source/source.h"

namespace podgpu {

// Whether something is watched.
struct Watchable {
  bool is_refused = false;
  Absence reason = Absence::kNotRead;  // Why it is not watched.

  void Refuse(Absence why) {
    is_refused = true;
    reason = why;
  }
};

// A field among those asked for; refused where no device of any kind has it.
struct WatchedField : Watchable {
  uint16_t id = 0;
  FieldRow row;               // In the grid.
  bool is_profiling = false;  // Watched apart.
  FieldDecoder decoder;
};

// Whether the engine lists the field among those that a GPU's profiler offers.
bool IsListedProfilingField(uint16_t id);

// Names for groups.  Names of field groups are unique per engine, and groups of a client that died
// may still be there: the time tells two clients apart, the part and the count two groups.
class DcgmNames {
 public:
  // Borrows `clock`, which outlives this.
  DcgmNames(const Clock& clock, int part) : clock_(clock), part_(part) {}
  std::string Next(std::string_view kind);

 private:
  const Clock& clock_;
  const int part_;
  int count_ = 0;
};

class DcgmWatchedKind {
 public:
  // Borrows the first two, which outlive this.  `name` is the model; `among_others`: reasons name
  // it, since there are other kinds.
  DcgmWatchedKind(const abi::DcgmLibrary& library, DcgmNames& names, std::string name,
                  bool among_others);

  const std::string& name() const { return name_; }

  // The index of a group that has room for one more device.
  StatusOr<size_t> MakeRoom(abi::dcgmHandle_t handle);
  // Adds a device to a group that was made; DCGM's code.
  abi::dcgmReturn_t Add(abi::dcgmHandle_t handle, size_t group,
                        const abi::dcgmGroupEntityPair_t& device);

  // Watches `fields` on all groups, but for those that are refused; adds to `result` what the
  // engine refuses.  `gpu_id` is asked what its profiler offers; without one nothing of that is
  // watched.  The fields are the same until Stop.
  Status Watch(abi::dcgmHandle_t handle, std::span<const WatchedField> fields,
               std::chrono::microseconds period, std::optional<uint32_t> gpu_id,
               WatchResult& result);
  // Tries again what the engine refused; all else goes on untouched.
  Status Retry(abi::dcgmHandle_t handle, std::span<const WatchedField> fields,
               std::optional<uint32_t> gpu_id, WatchResult& result);
  // Sets the watches of a group again, which an engine drops with a device.
  Status WatchAgain(abi::dcgmHandle_t handle, size_t group);
  // Ends the watches and destroys the groups.
  void Stop(abi::dcgmHandle_t handle);

  // Of the field with that index.
  const Watchable& field(size_t index) const { return states_[index]; }
  // Whether the engine refused a field, which may pass.
  bool HasRefusals() const;

 private:
  struct FieldState : Watchable {
    bool is_refused_by_engine = false;
    bool is_watched = false;
  };
  struct DeviceGroup {
    abi::dcgmGpuGrp_t id = 0;
    size_t places = 0;   // Taken, also by devices that the engine did not take in.
    size_t devices = 0;  // That it did.
  };
  struct FieldGroup {
    abi::dcgmFieldGrp_t id = 0;
    double keep_s = 0;
  };
  // Fields, by index, that are watched by one call each group.
  struct Batch {
    std::vector<size_t> fields;
    double keep_s = 0;
    bool is_profiling = false;
  };

  Status FilterProfiling(abi::dcgmHandle_t handle, std::span<const WatchedField> fields,
                         std::optional<uint32_t> gpu_id, WatchResult& result);
  std::vector<Batch> MakeBatches(std::span<const WatchedField> fields) const;
  Status WatchOpen(abi::dcgmHandle_t handle, std::span<const WatchedField> fields,
                   std::optional<uint32_t> gpu_id, WatchResult& result);
  Status WatchBatch(abi::dcgmHandle_t handle, std::span<const WatchedField> fields,
                    const Batch& batch, WatchResult& result);
  abi::dcgmReturn_t TryWatch(abi::dcgmHandle_t handle, std::span<const WatchedField> fields,
                             const Batch& batch);
  abi::dcgmReturn_t WatchGroup(abi::dcgmHandle_t handle, const DeviceGroup& group,
                               const FieldGroup& fields) const;
  void Refuse(std::span<const WatchedField> fields, const Batch& batch, abi::dcgmReturn_t code,
              WatchResult& result);

  const abi::DcgmLibrary* library_;
  DcgmNames* names_;
  std::string name_;
  std::string where_;  // " on <name>" where there are other kinds.
  std::chrono::microseconds period_{};
  std::vector<DeviceGroup> groups_;
  std::vector<FieldGroup> field_groups_;
  std::vector<FieldState> states_;  // By field.
};

}  // namespace podgpu
