// Counts events of GPUs, since the start and in a window: XIDs by code, and the reasons for reduced
// clocks. In the window it counts the samples that have a reason, and since the start how often a
// reason came.
//
// Independent of the vendor: a source adds each sample once and then calls Fill to write the counts
// into the findings.  Times are the time stamps of the samples.  A GPU is identified by its UUID,
// so its totals survive a lost connection and a new numbering.  An event before the start of podgpu
// counts in the window, if it is recent enough, but in no total, because every restart would count
// it again.  Used on the source thread only.
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
  // The most XID codes that are counted for one GPU; an engine that reports more reports garbage.
  static constexpr size_t kMostCodes = 64;

  // Sets the GPUs: `gpu` in the methods below is an index into the GPUs of `topology`. The first
  // call marks the start.
  void Follow(const Topology& topology, WallTime now);
  bool follows() const { return !columns_.empty(); }

  // Adds an XID of `gpu`. The stamps of one GPU must ascend.
  void AddXid(size_t gpu, int64_t code, int64_t stamp_us);
  // Adds a sample of the mask of clock reasons (field 112).
  void AddClocks(size_t gpu, int64_t reasons, int64_t stamp_us);
  // Empty the window of `gpu`, for a clock that was set back to `now_us`: the stamps in the window
  // are of a time that has not come yet.  Events from then on count in totals.
  void ForgetXidWindow(size_t gpu, int64_t now_us);
  void ForgetClockWindow(size_t gpu, int64_t now_us);

  // Writes the counts into `findings`, for the windows that it asks for, which end at `now`. The
  // caller sets whether the counts are known (xids_known, clocks_known).
  void Fill(WallTime now, Findings& findings);

 private:
  struct Record {
    std::string uuid;
    std::vector<XidCount> xids;  // Ascending by code; `gpu` is not set.
    SampleWindow xid_window;
    SampleWindow clock_window;
    std::optional<int64_t> last_reasons;  // Of the last sample; nothing: there was none.
    GpuEventCounts counts;
  };

  Record& At(size_t gpu) { return records_[columns_[gpu]]; }
  static XidCount* Find(Record& record, int64_t code);
  void CountNewReasons(Record& record, int64_t reasons, int64_t stamp_us) const;
  static void DropXid(Record& record, const std::optional<SampleWindow::Sample>& sample);
  static void DropClocks(Record& record, const std::optional<SampleWindow::Sample>& sample);
  static void Expire(Record& record, WallTime now, const FindingsAsked& asked);

  std::vector<Record> records_;  // One for every GPU ever seen.
  std::vector<size_t> columns_;  // For each GPU of the topology: index of its record.
  std::optional<int64_t> started_us_;
};

}  // namespace podgpu
