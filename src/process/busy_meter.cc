#include "process/busy_meter.h"

#include <algorithm>
#include <tuple>

namespace podgpu {
namespace {

// How far ahead of our look a record may be: it is stamped while the driver is being asked.
constexpr uint64_t kAheadUs = 1'000'000;
// Drivers sample each 1/6 to 1 s: what is not there yet may be stamped so long ago.
constexpr uint64_t kSampleUs = 1'000'000;
constexpr uint32_t kWholePercent = 100;

}  // namespace

uint64_t BusyMeter::Since(uint64_t now_us) {
  if (since_us_ > now_us + kAheadUs) {
    since_us_ = 0;  // Civil time was set back: nothing would ever be newer.
  }
  return since_us_ == 0 ? now_us : since_us_;
}

std::optional<std::span<const ProcessBusy>> BusyMeter::Take(
    std::span<const UtilizationRecord> records, uint64_t now_us) {
  busy_.clear();
  if (since_us_ == 0) {
    since_us_ = now_us;
    return std::nullopt;
  }
  records_.assign(records.begin(), records.end());
  std::erase_if(records_, [&](const UtilizationRecord& record) {
    return record.stamp_us <= since_us_ || record.stamp_us > now_us + kAheadUs;
  });
  std::sort(records_.begin(), records_.end(),
            [](const UtilizationRecord& a, const UtilizationRecord& b) {
              return std::tie(a.pid, a.stamp_us) < std::tie(b.pid, b.stamp_us);
            });
  uint64_t newest_us = 0;
  for (UtilizationRecord& record : records_) {
    newest_us = std::max(newest_us, record.stamp_us);
    if (record.born_us > now_us + kAheadUs) {
      record.born_us = 0;  // Civil time was set back since: it says nothing about these stamps.
    }
  }
  for (auto begin = records_.begin(); begin != records_.end();) {
    const auto end = std::find_if(begin, records_.end(), [&](const UtilizationRecord& record) {
      return record.pid != begin->pid;
    });
    busy_.push_back(Count(std::span(begin, end), newest_us));
    begin = end;
  }
  // While all are idle the time goes on, too: the average over a long silence would be coarse.
  since_us_ = std::max({since_us_, newest_us, now_us - std::min(now_us, kSampleUs)});
  return busy_;
}

ProcessBusy BusyMeter::Count(std::span<const UtilizationRecord> records, uint64_t newest_us) const {
  const UtilizationRecord& last = records.back();
  const uint64_t begin_us = std::max(since_us_, std::min(last.born_us, last.stamp_us));
  uint64_t busy = 0;
  uint64_t to_us = begin_us;
  for (const UtilizationRecord& record : records) {
    if (record.stamp_us > to_us) {
      busy += std::min(record.sm_percent, kWholePercent) * (record.stamp_us - to_us);
      to_us = record.stamp_us;
    }
  }
  // What it will be said to have done between its own stamp and the newest is not known yet.
  busy += std::min(last.sm_percent, kWholePercent) * (newest_us - to_us);
  return {.pid = last.pid,
          .busy_percent_us = busy,
          .sm_percent = std::min(last.sm_percent, kWholePercent),
          .memory_percent = std::min(last.memory_percent, kWholePercent)};
}

}  // namespace podgpu
