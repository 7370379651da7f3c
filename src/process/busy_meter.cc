#include "process/busy_meter.h"

#include <algorithm>
#include <tuple>

namespace podgpu {
namespace {

// A record may be stamped this far ahead of the query time: the driver stamps it while it answers.
constexpr uint64_t kAheadUs = 1'000'000;
// Drivers sample every 1/6 to 1 s: a sample that is not there yet may carry a stamp this old.
constexpr uint64_t kSampleUs = 1'000'000;
// Stamps in one answer have been seen to differ by up to 10 s.
constexpr uint64_t kLateUs = 10'000'000;
constexpr uint32_t kWholePercent = 100;

// Calls use_process(records) once per process; the records of one process are adjacent.
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
    since_us_ = 0;  // Civil time was set back: no record would ever be newer.
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
  // The start also moves while all processes are idle: a long period would give a coarse average.
  since_us_ = std::max({since_us_, newest_us, now_us - std::min(now_us, kSampleUs)});
  std::erase_if(counted_, [late_us = LateSince()](const Counted& counted) {
    return counted.to_us <= late_us;  // LateSince() no longer covers it.
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
      record.born_us = 0;  // Civil time was set back since; the stamp is useless.
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
  // The driver has not yet reported the time between the last stamp of this process and the newest
  // stamp of all; assume the same load.
  busy += std::min(last.sm_percent, kWholePercent) * (newest_us - to_us);
  return {.pid = last.pid,
          .busy_percent_us = busy,
          .sm_percent = std::min(last.sm_percent, kWholePercent),
          .memory_percent = std::min(last.memory_percent, kWholePercent)};
}

// Only a process whose samples come late is counted here. One that was counted in time and is
// absent now is idle; the longer period would count its past again.
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
