#include "sample/findings.h"

#include <algorithm>

namespace podgpu {

void Findings::Clear() {
  asked = {};
  xids.clear();
  gpus.clear();
  health.clear();
  peers.clear();
  note.reset();
  events_note.reset();
  lacked.reset();
  util_ratio_is_percent = false;
}

bool SameLines(const Findings& a, const Findings& b) {
  const auto same_code = [](const XidCount& one, const XidCount& other) {
    return one.gpu == other.gpu && one.code == other.code;
  };
  // Failure reasons of watches and states of peers are labels, so they change the lines.
  const auto same_reasons = [](const GpuHealth& one, const GpuHealth& other) {
    return std::ranges::equal(one.watches, other.watches, {}, &HealthVerdict::code,
                              &HealthVerdict::code);
  };
  return a.asked == b.asked && a.util_ratio_is_percent == b.util_ratio_is_percent &&
         a.gpus.size() == b.gpus.size() && std::ranges::equal(a.xids, b.xids, same_code) &&
         std::ranges::equal(a.health, b.health, same_reasons) && a.peers == b.peers;
}

}  // namespace podgpu
