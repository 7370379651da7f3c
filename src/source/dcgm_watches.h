// What an engine is asked to sample for us: groups of devices, groups of fields, watches.
//
// Start decides for every field whether this library, these devices and this engine have it, and
// has the rest sampled; Read (dcgm_reader.h) then asks only for what is watched and gives the
// reason for the others.  Profiling fields are watched apart, because an engine that cannot sample
// them refuses the whole call.  A field that the engine refuses is found by halving and costs
// nobody else.  One DcgmWatches serves GPUs and instances, or one kind of part, so that what an
// engine refuses for one costs the others nothing.  Ids belong to one connection.  Source thread
// only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "base/status.h"
#include "fields/field.h"
#include "sample/grid.h"
#include "source/decode.h"
#include "source/source.h"
#include "topology/topology.h"

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

// A field among those asked for.
struct WatchedField : Watchable {
  uint16_t id = 0;
  FieldRow row;                       // In the grid.
  bool is_refused_by_engine = false;  // Which may pass; what no device has stays refused.
  bool is_watched = false;
  FieldDecoder decoder;
};

// A device, or part, among those asked for.
struct WatchedDevice : Watchable {
  abi::dcgmGroupEntityPair_t entity{};
  std::optional<uint32_t> gpu_id;  // Of its GPU; a switch or CPU has none.
  size_t group = 0;                // Index of the group that holds it, or would.
  bool is_lost = false;            // As of the last look.
};

class DcgmWatches {
 public:
  // Borrows both, which outlive this.
  DcgmWatches(const abi::DcgmLibrary& library, const Clock& clock,
              std::optional<PartKind> part = std::nullopt)
      : library_(library), clock_(clock), part_(part) {}

  // Whether Start watches profiling fields; else they are refused as kPaused.
  void SetProfiling(bool is_on) { profiles_ = is_on; }

  // Replaces what was watched.  After a failure nothing is watched.
  StatusOr<WatchResult> Start(abi::dcgmHandle_t handle, const Topology& topology,
                              const std::vector<const Field*>& fields,
                              std::chrono::microseconds period);

  // Tries again what the engine refused; everything else goes on untouched.  After a failure
  // nothing is watched.
  StatusOr<WatchResult> Retry(abi::dcgmHandle_t handle, const Topology& topology,
                              const std::vector<const Field*>& fields);

  // Notes which devices `now` shows lost, and takes in those that were lost or
  // unknown at Start and are back.
  Status NoteStates(abi::dcgmHandle_t handle, const Topology& now);

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
  // Which columns of `topology` are this one's, and whether fields of `level` are read on them.
  ColumnRange ColumnsIn(const Topology& topology) const;
  bool Covers(FieldLevel level) const;
  // The column of the first of devices().
  size_t first_column() const { return first_column_; }

 private:
  // Fields that are watched by one call each group.
  struct Batch {
    std::vector<uint16_t> ids;
    double keep_s = 0;
    bool profiling = false;
  };
  struct FieldGroup {
    abi::dcgmFieldGrp_t id = 0;
    double keep_s = 0;
  };

  void SortOutFields(const std::vector<const Field*>& fields);
  abi::dcgmGroupEntityPair_t EntityAt(const Topology& topology, EntityId column) const;
  Status FilterProfiling(abi::dcgmHandle_t handle, const Topology& topology, WatchResult& result);
  Status MakeGroups(abi::dcgmHandle_t handle, const Topology& topology);
  // Of the fields that are not refused and whose place in `wanted` is true.
  std::vector<Batch> MakeBatches(const std::vector<const Field*>& fields,
                                 const std::vector<bool>& wanted) const;
  Status WatchAll(abi::dcgmHandle_t handle, const std::vector<Batch>& batches, WatchResult& result);
  Status WatchBatch(abi::dcgmHandle_t handle, const Batch& batch, WatchResult& result);
  abi::dcgmReturn_t TryWatch(abi::dcgmHandle_t handle, const Batch& batch);
  abi::dcgmReturn_t WatchGroup(abi::dcgmHandle_t handle, size_t group, const FieldGroup& fields);
  void Refuse(const Batch& batch, abi::dcgmReturn_t code, WatchResult& result);
  WatchedField& FindWatched(uint16_t id);
  std::string NewName(std::string_view kind);

  const abi::DcgmLibrary& library_;
  const Clock& clock_;
  const std::optional<PartKind> part_;  // Nothing: GPUs and instances.
  bool profiles_ = true;
  bool profiled_at_start_ = true;
  int names_ = 0;
  std::chrono::microseconds period_{};
  Topology topology_;
  std::vector<WatchedField> fields_;
  std::vector<WatchedDevice> devices_;
  size_t first_column_ = 0;
  std::vector<abi::dcgmGpuGrp_t> groups_;
  std::vector<FieldGroup> field_groups_;
};

}  // namespace podgpu
