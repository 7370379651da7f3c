// Where the numbers of findings stand among the slots of a tick.
//
// Findings (sample/findings.h) are of no fixed number, so that they have no cells; the tick writes
// them behind its own slots, each time anew, and the views refer to them there.  Both sides count
// by the one class below, which depends on nothing but which lines there are (SameLines).  Pure;
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sample/findings.h"
#include "sample/value.h"

namespace podgpu {

class FindingSlots {
 public:
  // For `findings`, whose first slot is `first`.
  FindingSlots(const Findings& findings, uint32_t first)
      : first_(first),
        gpu_count_(findings.gpus.size()),
        first_health_(first + gpu_count_ * kPerGpu + findings.xids.size() * kPerXid),
        first_peer_(first_health_ + findings.health.size() * kHealthWatchCount),
        end_(first_peer_ + findings.peers.size()) {}

  // Of a GPU.  A zero is there while nothing was counted, and absent otherwise.
  uint32_t XidZero(size_t gpu) const { return OfGpu(gpu, 0); }
  uint32_t ClockZero(size_t gpu) const { return OfGpu(gpu, 1); }
  uint32_t ClockEvent(size_t gpu, size_t bit) const { return OfGpu(gpu, 2 + bit); }
  // Of an element of findings.xids.
  uint32_t XidsInWindow(size_t xid) const { return OfXid(xid, 0); }
  uint32_t XidTotal(size_t xid) const { return OfXid(xid, 1); }
  uint32_t XidLastSeconds(size_t xid) const { return OfXid(xid, 2); }
  // Of an element of findings.health, and of findings.peers.
  uint32_t Health(size_t gpu, size_t watch) const {
    return static_cast<uint32_t>(first_health_ + gpu * kHealthWatchCount + watch);
  }
  uint32_t Peer(size_t way) const { return static_cast<uint32_t>(first_peer_ + way); }
  // The first slot behind them.
  uint32_t end() const { return static_cast<uint32_t>(end_); }

 private:
  static constexpr size_t kPerGpu = 2 + kClockEventCount;
  static constexpr size_t kPerXid = 3;

  uint32_t OfGpu(size_t gpu, size_t which) const {
    return static_cast<uint32_t>(first_ + gpu * kPerGpu + which);
  }
  uint32_t OfXid(size_t xid, size_t which) const {
    return static_cast<uint32_t>(first_ + gpu_count_ * kPerGpu + xid * kPerXid + which);
  }

  size_t first_;
  size_t gpu_count_;
  size_t first_health_;
  size_t first_peer_;
  size_t end_;
};

// Appends the values of all slots of `findings`.  Of old ones (`stale`) only totals and times are
// told, since a window that does not end now says nothing.
void AppendFindings(const Findings& findings, bool stale, std::vector<Value>& slots);

}  // namespace podgpu
