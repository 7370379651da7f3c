// From the driver's samples of process utilisation to busy time that adds up.
//
// The driver tells a record per process that was busy, or a few, each with its own time stamp and
// with the average over the samples since the time that it was asked for.  So it is asked for what
// is newer than the newest stamp of the last answer: with 0 it averages over a history of unknown
// length, in which bursts that are long over linger.  A process's average stands for all of the
// time between the two stamps, also when its own samples come later than those of others; later
// by more than an interval, they count in the next.  What is old or from the future does not
// count, nor a share above 100 %.  A process without a record was idle.
//
// One meter per device, on the thread that asks the driver: Since(), the vendor's call, Take().  No
// clock, no I/O; keeps its memory.
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

  // What the answer to that says, ascending by pid; nothing when the meter has only just begun, or
  // begins anew since civil time was set back.  Valid until the next call.
  std::optional<std::span<const ProcessBusy>> Take(std::span<const UtilizationRecord> records,
                                                   uint64_t now_us);

 private:
  // Of the records of one process, which are ascending by time stamp.
  ProcessBusy Count(std::span<const UtilizationRecord> records, uint64_t newest_us) const;

  uint64_t since_us_ = 0;  // 0: has not begun.
  std::vector<UtilizationRecord> records_;
  std::vector<ProcessBusy> busy_;
};

}  // namespace podgpu
