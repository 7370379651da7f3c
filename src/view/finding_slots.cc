#include "view/finding_slots.h"

namespace podgpu {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;

Value CountIf(bool is_there, uint64_t count) {
  return is_there ? Value::OfInt64(static_cast<int64_t>(count))
                  : Value::OfAbsence(Absence::kNoData);
}

}  // namespace

void AppendFindings(const Findings& findings, bool stale, std::vector<Value>& slots) {
  for (const GpuEventCounts& gpu : findings.gpus) {
    slots.push_back(CountIf(!stale && gpu.xids_known && gpu.xids == 0, 0));
    slots.push_back(CountIf(!stale && gpu.clocks_known && gpu.clock_samples == 0, 0));
    for (const uint64_t samples : gpu.clock_events) {
      slots.push_back(CountIf(!stale && gpu.clocks_known && samples > 0, samples));
    }
  }
  for (const XidCount& xid : findings.xids) {
    slots.push_back(CountIf(!stale && xid.in_window > 0, xid.in_window));
    slots.push_back(CountIf(true, xid.total));
    slots.push_back(Value::OfDouble(static_cast<double>(xid.last_us) / kMicrosecondsPerSecond));
  }
  for (const GpuHealth& gpu : findings.health) {
    for (const HealthVerdict& verdict : gpu.watches) {
      slots.push_back(CountIf(!stale && gpu.is_known, static_cast<uint64_t>(verdict.result)));
    }
  }
  for (const int32_t state : findings.peers) {
    slots.push_back(CountIf(!stale, static_cast<uint64_t>(state)));
  }
}

}  // namespace podgpu
