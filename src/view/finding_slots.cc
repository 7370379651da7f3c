#include "view/finding_slots.h"

#include "exposition/section.h"

namespace podgpu {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;

Value CountIf(bool is_there, uint64_t count) {
  return is_there ? Value::OfInt64(static_cast<int64_t>(count))
                  : Value::OfAbsence(Absence::kNoData);
}

}  // namespace

void AppendFindings(const Findings& findings, bool stale, std::vector<Value>& slots) {
  const FindingSlots at(findings, slots.size());
  for (size_t i = 0; i < findings.gpus.size(); ++i) {
    const GpuEventCounts& gpu = findings.gpus[i];
    AppendAt(at.XidZero(i), CountIf(!stale && gpu.xids_known && gpu.xids == 0, 0), slots);
    AppendAt(at.ClockZero(i), CountIf(!stale && gpu.clocks_known && gpu.clock_samples == 0, 0),
             slots);
    for (size_t bit = 0; bit < gpu.clock_events.size(); ++bit) {
      const uint64_t samples = gpu.clock_events[bit];
      AppendAt(at.ClockEvent(i, bit), CountIf(!stale && gpu.clocks_known && samples > 0, samples),
               slots);
    }
    for (size_t bit = 0; bit < gpu.clock_event_totals.size(); ++bit) {
      const uint64_t events = gpu.clock_event_totals[bit];
      AppendAt(at.ClockEventTotal(i, bit), CountIf(events > 0, events), slots);
    }
  }
  for (size_t i = 0; i < findings.xids.size(); ++i) {
    const XidCount& xid = findings.xids[i];
    AppendAt(at.XidsInWindow(i), CountIf(!stale && xid.in_window > 0, xid.in_window), slots);
    AppendAt(at.XidTotal(i), CountIf(xid.total > 0, xid.total), slots);
  }
  for (size_t i = 0; i < findings.health.size(); ++i) {
    const GpuHealth& gpu = findings.health[i];
    for (size_t watch = 0; watch < gpu.watches.size(); ++watch) {
      const auto result = static_cast<uint64_t>(gpu.watches[watch].result);
      AppendAt(at.Health(i, watch), CountIf(!stale && gpu.is_known, result), slots);
    }
  }
  for (size_t way = 0; way < findings.peers.size(); ++way) {
    AppendAt(at.Peer(way), CountIf(!stale, static_cast<uint64_t>(findings.peers[way])), slots);
  }
}

void AppendXids(const Findings& findings, std::vector<Value>& slots) {
  const XidSlots at(findings, slots.size());
  for (size_t i = 0; i < findings.xids.size(); ++i) {
    const XidCount& xid = findings.xids[i];
    AppendAt(at.Total(i), CountIf(true, xid.total), slots);
    AppendAt(at.LastSeconds(i),
             Value::OfDouble(static_cast<double>(xid.last_us) / kMicrosecondsPerSecond), slots);
  }
}

void FindingLines::Take(const Findings& findings) {
  if (!SameLines(last_, findings)) {
    last_ = findings;
    ++generation_;
  }
}

}  // namespace podgpu
