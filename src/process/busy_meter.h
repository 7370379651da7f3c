// From the driver's samples of process utilisation to busy time that adds up.
//
// The driver tells a record per process that was busy, or a few, each with its own time stamp and
// with the average over the samples since the time that it was asked for.  So it is asked for what
// is newer than the newest stamp of the last answer: with 0 it averages over a history of unknown
// length, in which bursts that are long over linger.  A process's average stands for all of the
// time between the two stamps, also when its own samples come later than those of others.  A
// process of whom that answer tells nothing was idle, or its samples come later by more than an
// interval; so where one is silent that runs, the driver is asked again for a longer while.  Who is
// in that answer alone is counted up to its own stamp, by the average over that while: what it did
// is counted some seconds later, and smoothed, but not lost.  What is old or from the future does
// not count, nor a share above 100 %.
//
// One meter per device, on the thread that asks the driver: Since(), the vendor's call, LateSince()
// and the call again if need be, Take().  No clock, no I/O; keeps its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace podgpu {

// What the driver says of a process, with the clock of its time stamps: microseconds since 1970.
struct UtilizationRecord {
  uint32_t pid = 0;
  uint64_t stamp_us = 0;
  uint32_t sm_percent = 0;
  uint32_t memory_percent = 0;
  uint64_t born_us = 0;  // When the process began, 0 where nobody knows.
};

struct ProcessBusy {
  uint32_t pid = 0;
  uint64_t busy_percent_us = 0;  // SM time since the last answer.
  uint32_t sm_percent = 0;       // Of the newest record.
  uint32_t memory_percent = 0;
};

class BusyMeter {
 public:
  // The time stamp to ask the driver with.
  uint64_t Since(uint64_t now_us);

  // The one to ask with for those that are silent; after Since().
  uint64_t LateSince() const;

  // What the answers to these say, ascending by pid; nothing when the meter has only just begun, or
  // begins anew since civil time was set back.  Valid until the next call.
  std::optional<std::span<const ProcessBusy>> Take(std::span<const UtilizationRecord> records,
                                                   uint64_t now_us,
                                                   std::span<const UtilizationRecord> late = {});

 private:
  // Up to when a process was counted in the last seconds.
  struct Counted {
    uint32_t pid = 0;
    uint64_t to_us = 0;
    bool is_late = false;  // Its samples have come later than those of others.
  };

  void Sort(std::span<const UtilizationRecord> records, uint64_t after_us, uint64_t now_us);
  // Of the records of one process, which are ascending by time stamp.
  ProcessBusy Count(std::span<const UtilizationRecord> records, uint64_t newest_us) const;
  void TakeLate(const UtilizationRecord& last);
  // Null for one that was not counted in the last seconds.
  const Counted* Find(uint32_t pid) const;
  void Note(uint32_t pid, uint64_t to_us, bool is_late);

  uint64_t since_us_ = 0;  // 0: has not begun.
  uint64_t begun_us_ = 0;
  std::vector<Counted> counted_;  // Ascending by pid.
  std::vector<UtilizationRecord> records_;
  std::vector<ProcessBusy> busy_;
};

}  // namespace podgpu
