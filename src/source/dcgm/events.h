// Every sample of the fields whose samples are counted: XIDs, and the reasons of the clocks.
//
// A reading sees the newest sample of each cell; between two readings there may have been more.
// This one is shown each cell (See), and asks the engine for the samples in between only where the
// newest is new and has left a gap, so that a healthy node costs no call.  An engine that does not
// tell them has its newest counted, and a note says so.  A sample is counted once, by its time
// stamp, also across a lost connection.  Groups are made at the first question, one for each GPU,
// because one device that is not watched fails the call for all.  Source thread only.
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

  // The devices are those of `topology`, sampled every `period`.
  void Follow(abi::dcgmHandle_t handle, const Topology& topology, std::chrono::microseconds period);

  // What a reading has got for a cell.
  void See(const abi::dcgmFieldValue_v2& raw);

  // After a reading: counts what See has shown, and writes the counts into the findings of `grid`.
  Status Collect(abi::dcgmHandle_t handle, Grid& grid);

  // For when the connection is gone, and the groups with it.
  void Forget();

 private:
  static constexpr size_t kFieldCount = 2;
  using Sample = SampleWindow::Sample;

  // One counted field of one GPU.
  struct Cell {
    Sample newest;        // That See was shown.
    int64_t seen_us = 0;  // The stamp of the last sample that was counted.
    bool has_news = false;
    bool is_answered = false;  // By the last reading; to say that there was no XID is an answer.
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
  std::vector<Device> devices_;  // By GPU of the topology.
  std::array<std::optional<abi::dcgmFieldGrp_t>, kFieldCount> field_groups_;
  std::vector<Sample> reply_;
  uint32_t asked_gpu_ = 0;  // Whose samples and which field reply_ takes.
  uint16_t asked_field_ = 0;
  EventCounts counts_;
  std::string failure_;  // Why samples are not told, as said last; empty: they are.
  std::shared_ptr<const FindingsNote> note_;
};

}  // namespace podgpu
