// Counts what happens to GPUs: XIDs by code, since the start and in a window, and the reasons for
// which clocks were held back, in a window.
//
// Knows no vendor: a source tells each sample once, and has the counts written beside a reading.
// Time is that of the samples' stamps.  A GPU is known by its UUID, so that its totals outlive a
// lost connection and a new numbering.  What happened before the start is in the window, if it is
// recent enough, and in no total: that would be counted again by each start.  Source thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sample/findings.h"
#include "source/sample_window.h"
#include "topology/topology.h"

namespace podgpu {

class EventCounts {
 public:
  // Of different codes on one GPU; an engine that tells more tells nonsense.
  static constexpr size_t kMostCodes = 64;

  // From now on `gpu` below is an index into the GPUs of `topology`.  The first call is the start.
  void Follow(const Topology& topology, WallTime now);
  bool follows() const { return !columns_.empty(); }

  // An XID of `gpu`; the stamps of one GPU ascend.
  void AddXid(size_t gpu, int64_t code, int64_t stamp_us);
  // A sample of the mask of reasons (field 112).
  void AddClocks(size_t gpu, int64_t reasons, int64_t stamp_us);
  // For a clock that was set back: what stands in the windows has stamps of no time.
  void ForgetXidWindow(size_t gpu);
  void ForgetClockWindow(size_t gpu);

  // Writes the counts into `findings`, in the windows that it asks for, ending at `now`.  Who would
  // have told of events is for the caller to say.
  void Fill(WallTime now, Findings& findings);

 private:
  struct Record {
    std::string uuid;
    std::vector<XidCount> xids;  // Ascending by code; `gpu` is not set.
    SampleWindow xid_window;
    SampleWindow clock_window;
    GpuEventCounts counts;
  };

  Record& At(size_t gpu) { return records_[columns_[gpu]]; }
  static XidCount* Find(Record& record, int64_t code);
  static void DropXid(Record& record, const std::optional<SampleWindow::Sample>& sample);
  static void DropClocks(Record& record, const std::optional<SampleWindow::Sample>& sample);
  static void Expire(Record& record, WallTime now, const FindingsAsked& asked);

  std::vector<Record> records_;  // Of every GPU ever seen.
  std::vector<size_t> columns_;  // By GPU of the topology: its record.
  std::optional<int64_t> started_us_;
};

}  // namespace podgpu
