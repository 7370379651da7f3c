// Logs what changes on the node: the state of the device source, readiness, the state of each GPU,
// new XIDs, and facts about pods that are withdrawn because the last answer with them is too old.
//
// The tick writes these lines because it never blocks; the thread that reads the devices may hang
// in the call that causes the change.  Each change is one line with its cause and remedy.  A fault
// of the source is one line, not one more for each GPU, and its end is one line too: it is written
// when all GPUs that are not lost give values again.  Readiness has its own line only when no
// other line reports the same change.  The line about a lost GPU names its last known XID.  A GPU
// is logged as `ok` only when it has values again; the passing states `starting` and `recovering`
// are not logged.  Each subject has a budget of lines an hour (line_budget.h); one XID code of one
// GPU is logged once in ten minutes.  Metrics count the repeats.  Used on the tick thread only.
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
  static constexpr size_t kMostXids = 256;  // Most pairs of GPU and code that are remembered.

  // Logs what differs from the last call. `condition` was judged from `basis`, and `basis` was made
  // from `facts`.
  void Note(const TickFacts& facts, const ConditionBasis& basis, const Condition& condition);

 private:
  struct AnnouncedGpu {
    std::string uuid;
    uint32_t gpu_id = 0;
    DeviceState state = DeviceState::kOk;
    DeviceLoss loss = DeviceLoss::kNone;
    LineBudget budget;
  };
  struct AnnouncedXid {
    std::string uuid;
    int64_t code = 0;
    uint64_t total = 0;   // Total at the last reading.
    uint64_t untold = 0;  // Events since the last line.
    std::optional<Instant> told_at;
  };

  // Facts about pods.
  struct AnnouncedPods {
    bool are_withdrawn = false;
    LineBudget budget;
  };

  bool ReturnsInPart(const ConditionBasis& basis, const Condition& condition, Instant now);
  bool NoteDriver(const ConditionBasis& basis, const Condition& condition, bool is_told,
                  Instant now);
  bool NoteGpus(const TickFacts& facts, const ConditionBasis& basis, const Condition& condition);
  bool NoteGpu(const TickFacts& facts, const ConditionBasis& basis, size_t index,
               const Condition& condition);
  void NoteXids(const TickFacts& facts);
  void NotePods(const ConditionBasis& basis, bool is_ready, Instant now);
  void TellXid(const TickFacts& facts, const XidCount& xid, AnnouncedXid& announced);
  AnnouncedGpu& AnnouncedOf(const Gpu& gpu);
  AnnouncedXid& AnnouncedOf(const Gpu& gpu, int64_t code);

  PartState driver_ = PartState::kStarting;
  LineBudget driver_budget_;
  std::optional<Instant> returns_since_;  // The first reading with values after such a fault.
  bool is_ready_ = false;
  LineBudget readiness_budget_;
  AnnouncedPods owners_;
  AnnouncedPods metadata_;
  AnnouncedPods containers_;
  std::vector<AnnouncedGpu> gpus_;
  std::vector<AnnouncedXid> xids_;
  std::optional<Instant> read_at_;  // Time of the last reading whose XIDs were noted.
};

}  // namespace podgpu
