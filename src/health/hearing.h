// Follows from reading to reading which GPUs give values, and since when others give none.
//
// A GPU whose samples are all older than --stale-after is unresponsive at once, since it has been
// silent for that long already.  One that gives no value at all may just have been found, or be
// watched again after a change: it is awaited for a while before it counts as unresponsive, and
// once it does it stays so until it gives a value, whatever the reason for the silence becomes in
// between.  GPUs are known by UUID, so that a new list of devices does not begin the wait again.
// Tick thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "health/device_states.h"

namespace podgpu {

class Hearing {
 public:
  // `patience`: how long a GPU may give no value before it is unresponsive.
  explicit Hearing(Duration patience) : patience_(patience) {}

  // Takes in a reading from which old values are withdrawn.  The same one may come again.
  void Take(const Grid& grid);

  // Of the GPUs of the last reading.
  const HeardGpus& heard() const { return heard_; }

 private:
  struct Listened {
    std::string uuid;
    uint32_t gpu_id = 0;
    std::optional<Instant> silent_since;  // The first reading without a value.
    bool was_heard = false;               // It has given a value at some time.
    bool is_unresponsive = false;
  };

  void TakeTopology(const std::shared_ptr<const Topology>& topology);
  void Judge(size_t index, HeardVoice voice, Instant read_at);

  const Duration patience_;
  std::shared_ptr<const Topology> topology_;
  std::vector<Listened> gpus_;  // Of that topology.
  HeardGpus heard_;
};

}  // namespace podgpu
