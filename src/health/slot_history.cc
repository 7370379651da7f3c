#include "health/slot_history.h"

#include "base/status.h"

namespace podgpu {

void SlotHistory::Withdraw(const Topology* topology, std::span<Value> slots) {
  const std::optional<uint64_t> epoch =
      topology == nullptr ? std::nullopt : std::optional(topology->epoch);
  if (lines_.empty() || epoch != epoch_) {
    epoch_ = epoch;
    TakeLayout(topology);
  }
  PODGPU_CHECK(slots.size() == lines_.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    Value& value = slots[i];
    if (lines_[i].shown == Shown::kAlways || !value.present()) {
      continue;
    }
    if (value.number() == 0 && !seen_[i]) {
      value = Value::OfAbsence(Absence::kNoData);
    } else if (!seen_[i] && lines_[i].shown == Shown::kOnceSeen) {
      seen_[i] = true;
      seen_keys_.insert(lines_[i].key);
    }
  }
}

void SlotHistory::TakeLayout(const Topology* topology) {
  lines_ = SlotLinesOf(view_, topology);
  seen_.clear();
  for (const SlotLine& line : lines_) {
    seen_.push_back(seen_keys_.contains(line.key));
  }
}

}  // namespace podgpu
