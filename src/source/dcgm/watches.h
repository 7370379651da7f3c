// What an engine is asked to sample for us: groups of devices, groups of fields, watches.
//
// Start decides for every field whether this library, these devices and this engine have it, and
// has the rest sampled; Read (reader.h) then asks only for what is watched and gives the
// reason for the others.  One DcgmWatches serves GPUs and instances, or one kind of part, so that
// what an engine refuses for one costs the others nothing; it keeps GPUs of different models apart
// (watched_kind.h).  An engine drops the watches of a GPU that its driver releases, and
// restores only its own (DCGM 4.6.0, observed): they are set again when the device is back, and
// when the engine says of a watched field that it is not watched.  Ids belong to one connection.
// Source thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "base/status.h"
#include "fields/field.h"
#include "sample/grid.h"
#include "source/dcgm/watched_kind.h"
#include "source/source.h"
#include "topology/topology.h"

namespace podgpu {

// A device, or part, among those asked for.
struct WatchedDevice : Watchable {
  abi::dcgmGroupEntityPair_t entity{};
  std::optional<uint32_t> gpu_id;  // Of its GPU; a switch or CPU has none.
  size_t kind = 0;                 // Index of its kind.
  size_t group = 0;                // Index of the kind's group that holds it, or would.
  bool is_lost = false;            // As of the last look.
};

class DcgmWatches {
 public:
  // Borrows both, which outlive this.
  DcgmWatches(const abi::DcgmLibrary& library, const Clock& clock,
              std::optional<PartKind> part = std::nullopt)
      : library_(library),
        clock_(clock),
        part_(part),
        names_(clock, part ? 1 + static_cast<int>(*part) : 0) {}

  // Whether Start watches profiling fields; else they are refused as kPaused.
  void SetProfiling(bool is_on) { profiles_ = is_on; }

  // Replaces what was watched.  After a failure nothing is watched.
  StatusOr<WatchResult> Start(abi::dcgmHandle_t handle, const Topology& topology,
                              const std::vector<const Field*>& fields,
                              std::chrono::microseconds period);

  // Tries again what the engine refused; everything else goes on untouched.  After a failure
  // nothing is watched.
  StatusOr<WatchResult> Retry(abi::dcgmHandle_t handle, const Topology& topology);

  // Notes which devices `now` shows lost, and watches those that are back.
  Status NoteStates(abi::dcgmHandle_t handle, const Topology& now);

  // Watches again the devices, by index, of which the engine has said that a watched field is not
  // watched: at once, and while it goes on saying so with growing pauses.
  Status WatchAgain(abi::dcgmHandle_t handle, const std::vector<size_t>& devices);

  // Ends the watches and destroys the groups.
  void Stop(abi::dcgmHandle_t handle);

  // For when the connection is gone, and the groups with it.
  void Forget();

  bool is_started() const { return period_.count() > 0; }
  // Whether Start was given the same, and the engine refused a part of it.
  bool IsWorthRetrying(const Topology& topology, const std::vector<const Field*>& fields,
                       std::chrono::microseconds period) const;

  // Whether Start was given the same, as far as this one's fields and columns go.
  bool IsWatching(const Topology& topology, const std::vector<const Field*>& fields,
                  std::chrono::microseconds period) const;

  // Those of the fields and columns given to Start that are this one's, in their order.
  const std::vector<WatchedField>& fields() const { return fields_; }
  const std::vector<WatchedDevice>& devices() const { return devices_; }
  // Why there is no value of the field on the device, both by index; nothing: it is watched.
  std::optional<Absence> RefusalOf(size_t field, size_t device) const;
  // Whether any device has the field watched.
  bool IsWatched(size_t field) const;
  // Which columns of `topology` are this one's, and whether fields of `level` are read on them.
  ColumnRange ColumnsIn(const Topology& topology) const;
  bool Covers(FieldLevel level) const;
  // The column of the first of devices().
  size_t first_column() const { return first_column_; }

 private:
  // For devices that the engine has stopped sampling.
  struct Repair {
    bool is_going_on = false;
    Instant next{};
    std::chrono::microseconds pause{};
  };

  void SortOutFields(const std::vector<const Field*>& fields);
  abi::dcgmGroupEntityPair_t EntityAt(const Topology& topology, EntityId column) const;
  // The GPU, of those that are there, that tells what a kind offers.
  std::optional<uint32_t> GpuToAsk(const Topology& topology, const DcgmWatchedKind& kind) const;
  void MakeKinds(const Topology& topology);
  Status MakeGroups(abi::dcgmHandle_t handle, const Topology& topology);
  Status WatchReturned(abi::dcgmHandle_t handle, const Topology& topology,
                       const std::set<std::pair<size_t, size_t>>& groups);
  Status AddIfBack(abi::dcgmHandle_t handle, WatchedDevice& device, bool& is_back);
  void LogDropped(const std::vector<size_t>& devices) const;

  const abi::DcgmLibrary& library_;
  const Clock& clock_;
  const std::optional<PartKind> part_;  // Nothing: GPUs and instances.
  bool profiles_ = true;
  bool profiled_at_start_ = true;
  DcgmNames names_;
  std::chrono::microseconds period_{};
  Topology topology_;
  std::vector<WatchedField> fields_;
  std::vector<WatchedDevice> devices_;
  size_t first_column_ = 0;
  std::vector<DcgmWatchedKind> kinds_;
  Repair repair_;
};

}  // namespace podgpu
