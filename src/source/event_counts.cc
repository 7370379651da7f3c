#include "source/event_counts.h"

#include <algorithm>

#include "base/status.h"

namespace podgpu {
namespace {

// Adds `step` to the count of each reason in the mask.
void CountReasons(int64_t reasons, int64_t step, GpuEventCounts& counts) {
  for (size_t bit = 0; bit < kClockEventCount; ++bit) {
    if (((reasons >> bit) & 1) != 0) {
      counts.clock_events[bit] += static_cast<uint64_t>(step);
    }
  }
  counts.clock_samples += static_cast<uint64_t>(step);
}

}  // namespace

void EventCounts::Follow(const Topology& topology, WallTime now) {
  if (!started_us_) {
    started_us_ = ToMicroseconds(now);
  }
  columns_.clear();
  for (const Gpu& gpu : topology.gpus) {
    // A GPU without a UUID is identified by its number.
    const std::string name = gpu.uuid.empty() ? "gpu " + std::to_string(gpu.gpu_id) : gpu.uuid;
    const auto found = std::ranges::find(records_, name, &Record::uuid);
    columns_.push_back(static_cast<size_t>(found - records_.begin()));
    if (found == records_.end()) {
      records_.emplace_back().uuid = name;
    }
  }
}

XidCount* EventCounts::Find(Record& record, int64_t code) {
  const auto found = std::ranges::lower_bound(record.xids, code, {}, &XidCount::code);
  return found != record.xids.end() && found->code == code ? &*found : nullptr;
}

void EventCounts::AddXid(size_t gpu, int64_t code, int64_t stamp_us) {
  PODGPU_CHECK(gpu < columns_.size());
  Record& record = At(gpu);
  XidCount* count = Find(record, code);
  if (count == nullptr) {
    if (record.xids.size() == kMostCodes) {
      return;
    }
    const auto place = std::ranges::lower_bound(record.xids, code, {}, &XidCount::code);
    count = &*record.xids.insert(place, XidCount{.code = code});
  }
  count->last_us = stamp_us;
  count->total += stamp_us >= started_us_.value_or(0) ? 1U : 0U;
  ++count->in_window;
  ++record.counts.xids;
  DropXid(record, record.xid_window.Push({stamp_us, code}));
}

void EventCounts::AddClocks(size_t gpu, int64_t reasons, int64_t stamp_us) {
  PODGPU_CHECK(gpu < columns_.size());
  Record& record = At(gpu);
  CountReasons(reasons, 1, record.counts);
  CountNewReasons(record, reasons, stamp_us);
  DropClocks(record, record.clock_window.Push({stamp_us, reasons}));
}

// A reason that the first sample has may be old, so that sample counts nothing.
void EventCounts::CountNewReasons(Record& record, int64_t reasons, int64_t stamp_us) const {
  if (record.last_reasons && stamp_us >= started_us_.value_or(0)) {
    const int64_t newly_set = reasons & ~*record.last_reasons;
    for (size_t bit = 0; bit < kClockEventCount; ++bit) {
      record.counts.clock_event_totals[bit] += static_cast<uint64_t>((newly_set >> bit) & 1);
    }
  }
  record.last_reasons = reasons;
}

void EventCounts::ForgetXidWindow(size_t gpu, int64_t now_us) {
  started_us_ = std::min(started_us_.value_or(now_us), now_us);
  Record& record = At(gpu);
  record.xid_window.Clear();
  record.counts.xids = 0;
  for (XidCount& count : record.xids) {
    count.in_window = 0;
  }
}

void EventCounts::ForgetClockWindow(size_t gpu, int64_t now_us) {
  started_us_ = std::min(started_us_.value_or(now_us), now_us);
  Record& record = At(gpu);
  record.clock_window.Clear();
  record.counts.clock_samples = 0;
  record.counts.clock_events.fill(0);
}

void EventCounts::DropXid(Record& record, const std::optional<SampleWindow::Sample>& sample) {
  if (sample) {
    --Find(record, sample->value)->in_window;
    --record.counts.xids;
  }
}

void EventCounts::DropClocks(Record& record, const std::optional<SampleWindow::Sample>& sample) {
  if (sample) {
    CountReasons(sample->value, -1, record.counts);
  }
}

void EventCounts::Expire(Record& record, WallTime now, const FindingsAsked& asked) {
  const int64_t xids_since = ToMicroseconds(now - asked.xid_window);
  while (const auto sample = record.xid_window.PopBefore(xids_since)) {
    DropXid(record, sample);
  }
  const int64_t clocks_since = ToMicroseconds(now - asked.clock_window);
  while (const auto sample = record.clock_window.PopBefore(clocks_since)) {
    DropClocks(record, sample);
  }
}

void EventCounts::Fill(WallTime now, Findings& findings) {
  findings.xids.clear();
  findings.gpus.clear();
  for (size_t gpu = 0; gpu < columns_.size(); ++gpu) {
    Record& record = At(gpu);
    Expire(record, now, findings.asked);
    findings.gpus.push_back(record.counts);
    for (const XidCount& count : record.xids) {
      findings.xids.push_back(count);
      findings.xids.back().gpu = static_cast<uint16_t>(gpu);
    }
  }
}

}  // namespace podgpu
