// Writes to the log what changes on the node: the device source, readiness, each GPU, new XIDs.
//
// The tick writes these lines, since it never hangs: the thread that reads the devices may be stuck
// in the very call that is the fault.  Each change is one line, with its cause and what helps: a
// fault of the source is told by the source's line and not again by each GPU, and readiness has a
// line of its own only when no other line tells of the same change.  The line on a lost GPU names
// the last XID that was known before.  A GPU is announced as `ok` only once it has values again;
// `starting` and `recovering` are passing states and not announced.  Each subject has a budget of
// lines an hour (line_budget.h), and one XID code of one GPU speaks once in ten minutes.  Repeats
// are counted in metrics.  Tick thread only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "facts/tick_facts.h"
#include "health/condition.h"
#include "health/line_budget.h"
#include "ui/condition.h"

namespace podgpu {

class StateLog {
 public:
  static constexpr std::chrono::minutes kXidPause{10};
  static constexpr size_t kMostXids = 256;  // Pairs of GPU and code that are remembered.

  // Writes what differs from the last call.  `condition` was judged from `basis`, and that from
  // `facts`.
  void Note(const TickFacts& facts, const ConditionBasis& basis, const Condition& condition);

 private:
  struct AnnouncedGpu {
    std::string uuid;
    uint32_t gpu_id = 0;
    DeviceState state = DeviceState::kOk;
    LineBudget budget;
  };
  struct AnnouncedXid {
    std::string uuid;
    int64_t code = 0;
    uint64_t total = 0;   // At the last reading.
    uint64_t untold = 0;  // Events since the last line.
    std::optional<Instant> told_at;
  };

  bool NoteDriver(const ConditionBasis& basis, const Condition& condition, Instant now);
  bool NoteGpus(const TickFacts& facts, const ConditionBasis& basis, const Condition& condition);
  bool NoteGpu(const TickFacts& facts, const ConditionBasis& basis, size_t index, bool is_ready);
  void NoteXids(const TickFacts& facts);
  void TellXid(const TickFacts& facts, const XidCount& xid, AnnouncedXid& announced);
  AnnouncedGpu& AnnouncedOf(const Gpu& gpu);
  AnnouncedXid& AnnouncedOf(const Gpu& gpu, int64_t code);

  PartState driver_ = PartState::kStarting;
  LineBudget driver_budget_;
  bool is_ready_ = false;
  LineBudget readiness_budget_;
  std::vector<AnnouncedGpu> gpus_;
  std::vector<AnnouncedXid> xids_;
  std::optional<Instant> read_at_;  // Of the last reading whose XIDs were noted.
};

}  // namespace podgpu
