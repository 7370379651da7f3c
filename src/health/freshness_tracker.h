// Tracks over many readings which GPUs give values, since when the others give none, and which lose
// speed or memory.
//
// A GPU whose samples are all older than --stale-after is unresponsive at once: it gave nothing for
// that long already.  A GPU without any value may have just been found, or its watches may have
// just been set up again.  So it is awaited for a while before it counts as unresponsive.  An
// unresponsive GPU stays unresponsive until it gives a value, even when the reason for its absent
// values changes.  Throttling may begin and end each second, so a GPU counts as throttled until
// none was seen for a minute.  GPUs are identified by UUID, so a new list of devices does not
// restart the wait. Used on the tick thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "health/sample_state.h"

namespace podgpu {

class FreshnessTracker {
 public:
  // The time for which a GPU counts as throttled after the last reading that shows it.
  static constexpr std::chrono::seconds kThrottlingStays{60};

  // `patience`: how long a GPU may give no value before it is unresponsive.
  explicit FreshnessTracker(Duration patience) : patience_(patience) {}

  // Takes a reading whose stale values are already withdrawn.  The same reading may be passed
  // again.
  void Take(const Grid& grid);

  // About the GPUs of the last reading.
  const GpuFreshness& freshness() const { return freshness_; }

 private:
  struct TrackedGpu {
    std::string uuid;
    uint32_t gpu_id = 0;
    std::optional<Instant> no_value_since;  // The first reading without a value.
    bool had_value = false;                 // It gave a value at least once.
    bool is_unresponsive = false;
    DeviceLoss loss = DeviceLoss::kNone;
    Instant lost_at{};  // Time of the last reading that showed `loss`.
  };

  void TakeTopology(const std::shared_ptr<const Topology>& topology);
  void Judge(size_t index, SampleVerdict verdict, Instant read_at);
  void JudgeLoss(size_t index, const Grid& grid);

  const Duration patience_;
  std::shared_ptr<const Topology> topology_;
  std::vector<TrackedGpu> gpus_;  // The GPUs of that topology.
  GpuFreshness freshness_;
};

}  // namespace podgpu
