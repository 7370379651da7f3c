// Collects every sample of the two fields whose samples are counted: XIDs and the reasons for
// reduced clocks.
//
// A reading returns only the newest sample of each cell; there may have been more since the last
// reading.  See is called with each cell; Collect asks the engine for the samples in between only
// when the newest one is new and there is a gap, so a healthy node costs no call.  If the engine
// cannot return them, only the newest sample is counted, and a note says so.  Each sample is
// counted once, by its time stamp, even after a lost connection.  Groups are made when they are
// first needed, one per GPU, because one unwatched device fails the call for all.  Used on the
// source thread only.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "base/status.h"
#include "sample/grid.h"
#include "source/event_counts.h"
#include "topology/topology.h"

namespace podgpu {

class DcgmEvents {
 public:
  // Borrows both, which outlive this.
  DcgmEvents(const abi::DcgmLibrary& library, const Clock& clock)
      : library_(library), clock_(clock) {}

  // Sets the devices to those of `topology`, whose clock reasons are sampled every `period`.
  void Follow(abi::dcgmHandle_t handle, const Topology& topology, std::chrono::microseconds period);

  // Called with each cell of a reading.
  void See(const abi::dcgmFieldValue_v2& raw);

  // Called after a reading: counts the samples that See received, and writes the counts into the
  // findings of `grid`.
  Status Collect(abi::dcgmHandle_t handle, Grid& grid);

  // Called when the engine may have removed GPUs from the groups: they are made again when they are
  // needed.
  void Renew(abi::dcgmHandle_t handle);

  // Called when the connection is gone, and the groups with it.
  void Forget();

 private:
  static constexpr size_t kFieldCount = 2;
  using Sample = SampleWindow::Sample;

  // One counted field of one GPU.
  struct Cell {
    Sample newest;        // The last one that See received.
    int64_t seen_us = 0;  // Stamp of the last counted sample.
    bool has_news = false;
    bool is_answered = false;  // In the last reading; "no XID yet" is an answer.
  };
  struct Device {
    uint32_t gpu_id = 0;
    std::optional<abi::dcgmGpuGrp_t> group;
    std::array<Cell, kFieldCount> cells;
  };

  Status CollectCell(abi::dcgmHandle_t handle, size_t gpu, size_t field, const Grid& grid);
  Status AskForSamples(abi::dcgmHandle_t handle, Device& device, size_t field, int64_t since_us);
  void NoteAnswer(const Status& answer);
  Status MakeGroups(abi::dcgmHandle_t handle, Device& device, size_t field);
  void Count(size_t gpu, size_t field, const Sample& sample);
  void NoteKnownCounts(Findings& findings);
  static int Take(abi::dcgm_field_entity_group_t group, abi::dcgm_field_eid_t entity,
                  abi::dcgmFieldValue_v1* values, int count, void* user);

  const abi::DcgmLibrary& library_;
  const Clock& clock_;
  std::chrono::microseconds period_{};
  std::vector<Device> devices_;  // One for each GPU of the topology.
  std::array<std::optional<abi::dcgmFieldGrp_t>, kFieldCount> field_groups_;
  std::vector<Sample> reply_;
  uint32_t asked_gpu_ = 0;  // The GPU and the field of the samples in reply_.
  uint16_t asked_field_ = 0;
  EventCounts counts_;
  std::string failure_;  // Why samples are not returned, as last logged; empty: they are.
  std::shared_ptr<const FindingsNote> note_;
};

}  // namespace podgpu
