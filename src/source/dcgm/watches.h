// The watches of an engine: groups of devices, groups of fields, and which of them are sampled.
//
// Start decides for every field whether this library, these devices and this engine support it, and
// watches the rest; the reader (reader.h) then reads only what is watched and reports the reason
// for the others.  One DcgmWatches serves GPUs and instances, or one kind of part, so a refusal for
// one does not affect the others; it keeps GPUs of different models apart (watched_kind.h).  When
// the driver releases a GPU, the engine drops its watches and removes it from the groups of its
// clients (DCGM 4.6.0, observed).  So a device is put into its group and watched again when it is
// back, and when the engine reports a watched field as unwatched.  Ids belong to one connection.
// Used on the source thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "base/status.h"
#include "fields/field.h"
#include "fields/field_collections.h"
#include "sample/grid.h"
#include "source/dcgm/watched_kind.h"
#include "source/source.h"
#include "topology/topology.h"

namespace podgpu {

// A device or part that is, or should be, watched.
struct WatchedDevice : Watchable {
  abi::dcgmGroupEntityPair_t entity{};
  std::optional<uint32_t> gpu_id;  // Absent for a switch or CPU.
  size_t kind = 0;                 // Index of its kind.
  size_t group = 0;                // Index of its group in the kind, also while it is refused.
  bool is_lost = false;            // It was lost at the last Discover, or when it joined its group.
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

  // Turns profiling fields on or off for the next Start; when off, they are refused as kPaused.
  void SetProfiling(bool is_on) { profiles_ = is_on; }
  // Sets the fields with an interval of their own for the next Start; null: none.
  void SetCollections(std::shared_ptr<const FieldCollections> collections) {
    collections_ = std::move(collections);
  }
  // Returns how often the next Start makes the engine sample a field, if it samples others every
  // `period`.
  std::chrono::microseconds PeriodOf(uint16_t field, std::chrono::microseconds period) const;
  // Tells the version of the engine, "4.6.0", for the next Start; empty: it is not known.
  void SetEngineVersion(std::string version) { engine_version_ = std::move(version); }

  // Whether the next Start makes GPU_UTIL_RATIO a percentage where the engine does not know it.
  void SetUtilRatioInPercent(bool is_percent) { util_ratio_in_percent_ = is_percent; }

  // Replaces all watches.  After a failure nothing is watched.
  StatusOr<WatchResult> Start(abi::dcgmHandle_t handle, const Topology& topology,
                              const std::vector<const Field*>& fields,
                              std::chrono::microseconds period);

  // Tries again what the engine refused; the other watches stay.  After a failure nothing is
  // watched.
  StatusOr<WatchResult> Retry(abi::dcgmHandle_t handle, const Topology& topology);

  // Records which devices are lost in `now`, and restores those that are back.
  Status NoteStates(abi::dcgmHandle_t handle, const Topology& now);

  // Restores `devices` (indices), for which the engine reports a watched field as unwatched: at
  // once, then with growing pauses while the engine keeps reporting it.
  Status WatchAgain(abi::dcgmHandle_t handle, const std::vector<size_t>& devices);

  // Ends the watches and destroys the groups.
  void Stop(abi::dcgmHandle_t handle);

  // Called when the connection is gone, and the groups with it.
  void Forget();

  // Returns whether devices were restored since the last call: other groups have lost them too.
  bool TakeRestored() { return std::exchange(has_restored_, false); }

  bool is_started() const { return period_.count() > 0; }
  // Returns whether Start had the same arguments and the engine refused a part of them.
  bool IsWorthRetrying(const Topology& topology, const std::vector<const Field*>& fields,
                       std::chrono::microseconds period) const;

  // Returns whether Start had the same arguments, as far as the fields and columns of this object
  // are concerned.
  bool IsWatching(const Topology& topology, const std::vector<const Field*>& fields,
                  std::chrono::microseconds period) const;

  // What the engine is asked for, and the columns of the last Start that this object covers.
  const std::vector<WatchedField>& fields() const { return fields_; }
  const std::vector<WatchedDevice>& devices() const { return devices_; }
  // Returns why the field is not watched on the device (both are indices); nothing when it is
  // watched.
  std::optional<Absence> RefusalOf(size_t field, size_t device) const;
  // Return whether the field is watched on any device, and whether no kind of device refuses it.
  bool IsWatched(size_t field) const;
  bool IsWatchedOnAllKinds(size_t field) const;
  // Return the columns of `topology` that this object covers, and whether it covers fields of
  // `level`.
  ColumnRange ColumnsIn(const Topology& topology) const;
  bool Covers(FieldLevel level) const;
  // The column of the first of devices().
  size_t first_column() const { return first_column_; }

 private:
  // A field of the last Start.
  struct AskedField {
    uint16_t id = 0;
    uint16_t row = 0;
    std::chrono::microseconds period{};
    bool operator==(const AskedField&) const = default;
  };
  // Pacing of WatchAgain.
  struct Repair {
    bool is_going_on = false;
    bool is_told = false;
    std::vector<size_t> unexplained;  // Dropped devices whose GPU was not seen as lost since.
    Instant next{};
    std::chrono::microseconds pause{};
  };

  void SortOutFields(const std::vector<const Field*>& fields);
  // Adds `field` to those that the engine is asked for.
  WatchedField& Request(const Field& field, std::chrono::microseconds period);
  // Returns whether both the library and the engine know the field in base units.
  bool KnowsBaseUnit(const Field& field) const;
  abi::dcgmGroupEntityPair_t EntityAt(const Topology& topology, EntityId column) const;
  // Returns a GPU of the kind that is not lost; it is asked which profiling fields the kind
  // supports.
  std::optional<uint32_t> GpuToAsk(const Topology& topology, const DcgmWatchedKind& kind) const;
  void MakeKinds(const Topology& topology);
  Status MakeGroups(abi::dcgmHandle_t handle, const Topology& topology);
  Status Restore(abi::dcgmHandle_t handle, const Topology& topology,
                 const std::vector<size_t>& devices);
  StatusOr<bool> PutBack(abi::dcgmHandle_t handle, WatchedDevice& device);
  void LogDropped(const std::vector<size_t>& devices) const;

  const abi::DcgmLibrary& library_;
  const Clock& clock_;
  const std::optional<PartKind> part_;  // Absent: GPUs and instances.
  bool profiles_ = true;
  std::shared_ptr<const FieldCollections> collections_;
  std::string engine_version_;
  bool util_ratio_in_percent_ = false;
  bool profiled_at_start_ = true;
  DcgmNames names_;
  std::chrono::microseconds period_{};
  Topology topology_;
  std::vector<AskedField> asked_;
  std::vector<WatchedField> fields_;
  std::vector<WatchedDevice> devices_;
  size_t first_column_ = 0;
  std::vector<DcgmWatchedKind> kinds_;
  Repair repair_;
  bool has_restored_ = false;
};

}  // namespace podgpu
