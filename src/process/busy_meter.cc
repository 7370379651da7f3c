#include "process/busy_meter.h"

#include <algorithm>
#include <tuple>

namespace podgpu {
namespace {

// How far ahead of our look a record may be: it is stamped while the driver is being asked.
constexpr uint64_t kAheadUs = 1'000'000;
// Drivers sample each 1/6 to 1 s: what is not there yet may be stamped so long ago.
constexpr uint64_t kSampleUs = 1'000'000;
// Records of one answer have been seen to differ by up to 10 s (simulator.md 3.5).
constexpr uint64_t kLateUs = 10'000'000;
constexpr uint32_t kWholePercent = 100;

// Calls use_process(records) with those of each process, which stand together.
template <typename UseProcess>
void ForEachProcess(std::span<const UtilizationRecord> records, const UseProcess& use_process) {
  for (auto begin = records.begin(); begin != records.end();) {
    const auto end = std::find_if(begin, records.end(), [&](const UtilizationRecord& record) {
      return record.pid != begin->pid;
    });
    use_process(std::span(begin, end));
    begin = end;
  }
}

}  // namespace

uint64_t BusyMeter::Since(uint64_t now_us) {
  if (since_us_ > now_us + kAheadUs) {
    since_us_ = 0;  // Civil time was set back: nothing would ever be newer.
    counted_.clear();
  }
  return since_us_ == 0 ? now_us : since_us_;
}

uint64_t BusyMeter::LateSince() const {
  return std::max(begun_us_, since_us_ - std::min(since_us_, kLateUs));
}

std::optional<std::span<const ProcessBusy>> BusyMeter::Take(
    std::span<const UtilizationRecord> records, uint64_t now_us,
    std::span<const UtilizationRecord> late) {
  busy_.clear();
  if (since_us_ == 0) {
    since_us_ = now_us;
    begun_us_ = now_us;
    return std::nullopt;
  }
  Sort(records, since_us_, now_us);
  uint64_t newest_us = 0;
  for (const UtilizationRecord& record : records_) {
    newest_us = std::max(newest_us, record.stamp_us);
  }
  ForEachProcess(records_, [&](std::span<const UtilizationRecord> of_process) {
    busy_.push_back(Count(of_process, newest_us));
  });
  const size_t in_time = busy_.size();
  Sort(late, LateSince(), now_us);
  ForEachProcess(records_, [&](std::span<const UtilizationRecord> of_process) {
    const auto told = std::span(busy_).first(in_time);
    if (!std::ranges::binary_search(told, of_process.front().pid, {}, &ProcessBusy::pid)) {
      TakeLate(of_process.back());
    }
  });
  for (const ProcessBusy& process : std::span(busy_).first(in_time)) {
    const Counted* before = Find(process.pid);
    Note(process.pid, newest_us, before != nullptr && before->is_late);
  }
  std::ranges::sort(busy_, {}, &ProcessBusy::pid);
  // While all are idle the time goes on, too: the average over a long silence would be coarse.
  since_us_ = std::max({since_us_, newest_us, now_us - std::min(now_us, kSampleUs)});
  std::erase_if(counted_, [late_us = LateSince()](const Counted& counted) {
    return counted.to_us <= late_us;  // So that nothing is counted twice.
  });
  return busy_;
}

void BusyMeter::Sort(std::span<const UtilizationRecord> records, uint64_t after_us,
                     uint64_t now_us) {
  records_.assign(records.begin(), records.end());
  std::erase_if(records_, [&](const UtilizationRecord& record) {
    return record.stamp_us <= after_us || record.stamp_us > now_us + kAheadUs;
  });
  std::sort(records_.begin(), records_.end(),
            [](const UtilizationRecord& a, const UtilizationRecord& b) {
              return std::tie(a.pid, a.stamp_us) < std::tie(b.pid, b.stamp_us);
            });
  for (UtilizationRecord& record : records_) {
    if (record.born_us > now_us + kAheadUs) {
      record.born_us = 0;  // Civil time was set back since: it says nothing about these stamps.
    }
  }
}

ProcessBusy BusyMeter::Count(std::span<const UtilizationRecord> records, uint64_t newest_us) const {
  const UtilizationRecord& last = records.back();
  const Counted* before = Find(last.pid);
  const uint64_t since_us = before != nullptr && before->is_late ? before->to_us : since_us_;
  const uint64_t begin_us = std::max(since_us, std::min(last.born_us, last.stamp_us));
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

// Who was counted in time and is silent now is idle; the longer while would count its past again.
void BusyMeter::TakeLate(const UtilizationRecord& last) {
  const Counted* before = Find(last.pid);
  const bool is_late = before != nullptr ? before->is_late : last.stamp_us <= since_us_;
  const uint64_t begin_us = std::max(
      {before != nullptr ? before->to_us : 0, LateSince(), std::min(last.born_us, last.stamp_us)});
  if (!is_late || last.stamp_us <= begin_us) {
    return;
  }
  const uint32_t percent = std::min(last.sm_percent, kWholePercent);
  busy_.push_back({.pid = last.pid,
                   .busy_percent_us = percent * (last.stamp_us - begin_us),
                   .sm_percent = percent,
                   .memory_percent = std::min(last.memory_percent, kWholePercent)});
  Note(last.pid, last.stamp_us, true);
}

const BusyMeter::Counted* BusyMeter::Find(uint32_t pid) const {
  const auto found = std::ranges::lower_bound(counted_, pid, {}, &Counted::pid);
  return found != counted_.end() && found->pid == pid ? &*found : nullptr;
}

void BusyMeter::Note(uint32_t pid, uint64_t to_us, bool is_late) {
  auto found = std::ranges::lower_bound(counted_, pid, {}, &Counted::pid);
  if (found == counted_.end() || found->pid != pid) {
    found = counted_.insert(found, {.pid = pid});
  }
  found->to_us = std::max(found->to_us, to_us);
  found->is_late = is_late;
}

}  // namespace podgpu
