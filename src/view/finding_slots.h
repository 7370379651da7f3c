// The layout of the slots of findings within their sections.
//
// The number of findings (sample/findings.h) varies, so they have no cells: the sections of the
// DCGM view and of the core view append them as slots.  The function that adds the lines and the
// one that appends the numbers use the same layout class below, so they cannot disagree.  A layout
// depends only on the set of lines (SameLines).  Used on the tick thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sample/findings.h"
#include "sample/value.h"

namespace podgpu {

// Layout of the rows of the DCGM view.
class FindingSlots {
 public:
  // `first`: the first slot of `findings`.
  FindingSlots(const Findings& findings, size_t first)
      : first_(first),
        first_xid_(first + findings.gpus.size() * kPerGpu),
        first_health_(first_xid_ + findings.xids.size() * kPerXid),
        first_peer_(first_health_ + findings.health.size() * kHealthWatchCount),
        end_(first_peer_ + findings.peers.size()) {}

  // Slot of a GPU.  The number in it is 0 while no XID was counted, and absent otherwise.
  uint32_t XidZero(size_t gpu) const { return OfGpu(gpu, 0); }
  uint32_t ClockZero(size_t gpu) const { return OfGpu(gpu, 1); }
  uint32_t ClockEvent(size_t gpu, size_t bit) const { return OfGpu(gpu, 2 + bit); }
  uint32_t ClockEventTotal(size_t gpu, size_t bit) const {
    return OfGpu(gpu, 2 + kClockEventCount + bit);
  }
  // Slots of an element of findings.xids.
  uint32_t XidsInWindow(size_t xid) const {
    return static_cast<uint32_t>(first_xid_ + xid * kPerXid);
  }
  uint32_t XidTotal(size_t xid) const { return XidsInWindow(xid) + 1; }
  // Slot of an element of findings.health, and of findings.peers.
  uint32_t Health(size_t gpu, size_t watch) const {
    return static_cast<uint32_t>(first_health_ + gpu * kHealthWatchCount + watch);
  }
  uint32_t Peer(size_t way) const { return static_cast<uint32_t>(first_peer_ + way); }

  uint32_t count() const { return static_cast<uint32_t>(end_ - first_); }

 private:
  static constexpr size_t kPerGpu = 2 + 2 * kClockEventCount;
  static constexpr size_t kPerXid = 2;

  uint32_t OfGpu(size_t gpu, size_t which) const {
    return static_cast<uint32_t>(first_ + gpu * kPerGpu + which);
  }

  size_t first_;
  size_t first_xid_;
  size_t first_health_;
  size_t first_peer_;
  size_t end_;
};

// Layout of the XIDs of the core view, by element of findings.xids.
class XidSlots {
 public:
  XidSlots(const Findings& findings, size_t first) : first_(first), xids_(findings.xids.size()) {}

  uint32_t Total(size_t xid) const { return static_cast<uint32_t>(first_ + xid * kPerXid); }
  uint32_t LastSeconds(size_t xid) const { return Total(xid) + 1; }

  uint32_t count() const { return static_cast<uint32_t>(xids_ * kPerXid); }

 private:
  static constexpr size_t kPerXid = 2;

  size_t first_;
  size_t xids_;
};

// Appends the numbers of FindingSlots.  When the findings are too old (`stale`), all but the totals
// are absent: dcgm-exporter counts over a window that ends now, and these do not.
void AppendFindings(const Findings& findings, bool stale, std::vector<Value>& slots);

// Appends the numbers of XidSlots.
void AppendXids(const Findings& findings, std::vector<Value>& slots);

// Counts how often the set of lines of the findings has changed.
class FindingLines {
 public:
  void Take(const Findings& findings);

  // Changes whenever the set of lines changes.
  uint64_t generation() const { return generation_; }

 private:
  Findings last_;  // A copy of the findings of the last change.
  uint64_t generation_ = 0;
};

}  // namespace podgpu
