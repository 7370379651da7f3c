// The watches of the devices of one kind: groups of devices, groups of fields, and watches.
//
// GPUs of one model, with their instances, are one kind; all parts of a kind are one, too.  An
// engine that refuses one field rolls the whole watch back (DCGM 4.6.0, observed), so each kind has
// its own groups: a field that one model lacks stays available on the others.  Profiling fields are
// watched separately, because such a watch holds at most 64.  When an engine refuses a batch of
// fields, the batch is halved until the refused fields are found; they are reported, and the others
// are watched.  Owned by a DcgmWatches; ids belong to one connection.  Used on the source thread
// only.
#pragma once

#include <chrono>
#include <compare>
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

// Something that may be refused.
struct Watchable {
  bool is_refused = false;
  Absence reason = Absence::kNotRead;  // Why it is not watched.

  void Refuse(Absence why) {
    is_refused = true;
    reason = why;
  }
};

// A field that the engine is asked for; refused when no device of any kind has it.  Its values are
// those of one row of the grid or of two: its own, and that of the field in base units which this
// library or engine does not know.
struct WatchedField : Watchable {
  uint16_t id = 0;
  std::chrono::microseconds period{};  // Time between two samples.
  bool is_slow = false;                // Of a collection that is sampled more rarely than others.
  std::optional<FieldRow> row;         // Its own.
  std::optional<FieldRow> base_row;
  const BaseUnit* base_unit = nullptr;  // Of `base_row`.
  bool is_profiling = false;            // Watched separately.
  FieldDecoder decoder;
};

// Returns whether the engine lists the field among the profiling fields of a GPU
// (dcgmProfGetSupportedMetricGroups).
bool IsListedProfilingField(uint16_t id);

// Makes names for groups.  Names of field groups must be unique in an engine, and groups of a dead
// client may still exist: the time makes the names of two clients differ, the part and the count
// those of two groups.
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
  // Borrows the first two, which outlive this.  `name` is the model.  `among_others`: there are
  // other kinds, so reasons name this one.
  DcgmWatchedKind(const abi::DcgmLibrary& library, DcgmNames& names, std::string name,
                  bool among_others);

  const std::string& name() const { return name_; }

  // Returns the index of a group that has room for one more device.
  StatusOr<size_t> MakeRoom(abi::dcgmHandle_t handle);
  // Adds a device to a group; returns DCGM's code.
  abi::dcgmReturn_t Add(abi::dcgmHandle_t handle, size_t group,
                        const abi::dcgmGroupEntityPair_t& device);

  // Watches `fields` on all groups, except refused ones; adds to `result` what the engine refuses.
  // GPU `gpu_id` is asked for its profiling fields; without it no profiling field is watched.  The
  // fields must stay the same until Stop.
  Status Watch(abi::dcgmHandle_t handle, std::span<const WatchedField> fields,
               std::optional<uint32_t> gpu_id, WatchResult& result);
  // Tries again what the engine refused; the other watches stay.
  Status Retry(abi::dcgmHandle_t handle, std::span<const WatchedField> fields,
               std::optional<uint32_t> gpu_id, WatchResult& result);
  // Sets the watches of a group again, for devices whose watches the engine dropped.
  Status WatchAgain(abi::dcgmHandle_t handle, size_t group);
  // Ends the watches and destroys the groups.
  void Stop(abi::dcgmHandle_t handle);

  // Returns the state of the field with that index.
  const Watchable& field(size_t index) const { return states_[index]; }
  // Returns whether the engine refused a field; it may accept it later.
  bool HasRefusals() const;

 private:
  struct FieldState : Watchable {
    bool is_refused_by_engine = false;
    bool is_watched = false;
  };
  struct DeviceGroup {
    abi::dcgmGpuGrp_t id = 0;
    size_t places = 0;         // Reserved, also for devices that the engine refused.
    bool has_devices = false;  // It has had devices, now or before.
  };
  // How the fields of a group of fields are watched.
  struct Terms {
    bool is_profiling = false;
    double keep_s = 0;
    std::chrono::microseconds period{};
    auto operator<=>(const Terms&) const = default;
  };
  struct FieldGroup {
    abi::dcgmFieldGrp_t id = 0;
    Terms terms;
  };
  // Fields (indices) that are watched by one call per group.
  struct Batch {
    std::vector<size_t> fields;
    Terms terms;
  };

  Status FilterProfiling(abi::dcgmHandle_t handle, std::span<const WatchedField> fields,
                         std::optional<uint32_t> gpu_id, WatchResult& result);
  static Terms TermsOf(const WatchedField& field);
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
  std::string where_;  // " on <name>" if there are other kinds.
  std::vector<DeviceGroup> groups_;
  std::vector<FieldGroup> field_groups_;
  std::vector<FieldState> states_;  // One for each field.
};

}  // namespace podgpu
