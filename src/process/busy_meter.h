// Turns the driver's samples of process utilization into busy time that adds up.
//
// The driver returns one or a few records per busy process. Each has its own time stamp and the
// average over the samples since the time in the query. Query 1 (Since) asks for records newer than
// the newest stamp of the last answer; asking from 0 would average over a history of unknown
// length. A process's average counts for all of the time between two newest stamps, even if its own
// samples lag. A process without a record was idle, or its samples come later than one interval. So
// when a running process has no record, query 2 (LateSince) asks for a longer period. A process
// that is only in this second answer is counted up to its own stamp: seconds late and smoothed, but
// not lost. Old records, records from the future, and shares above 100 % do not count.
//
// One meter per device, on the thread that queries the driver: Since(), the vendor's call,
// LateSince() and a second call if needed, Take(). No clock, no I/O; keeps its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace podgpu {

// One utilization record of the driver. Time stamps are microseconds since 1970.
struct UtilizationRecord {
  uint32_t pid = 0;
  uint64_t stamp_us = 0;
  uint32_t sm_percent = 0;
  uint32_t memory_percent = 0;
  uint64_t born_us = 0;  // Start of the process; 0 when unknown.
};

struct ProcessBusy {
  uint32_t pid = 0;
  uint64_t busy_percent_us = 0;  // SM time since the last answer, in percent x microseconds.
  uint32_t sm_percent = 0;       // SM utilisation in the newest record.
  uint32_t memory_percent = 0;
};

class BusyMeter {
 public:
  // Returns the time stamp for the next query.
  uint64_t Since(uint64_t now_us);

  // Returns the time stamp for a second query, for processes without a record. Call after Since().
  uint64_t LateSince() const;

  // Returns busy time per process, ascending by pid. Returns nothing on the first call and after
  // civil time was set back. Valid until the next call.
  std::optional<std::span<const ProcessBusy>> Take(std::span<const UtilizationRecord> records,
                                                   uint64_t now_us,
                                                   std::span<const UtilizationRecord> late = {});

 private:
  // A process that was counted in the last seconds, and the time up to which it was counted.
  struct Counted {
    uint32_t pid = 0;
    uint64_t to_us = 0;
    bool is_late = false;  // Its samples come later than those of other processes.
  };

  void Sort(std::span<const UtilizationRecord> records, uint64_t after_us, uint64_t now_us);
  // `records` are of one process, ascending by time stamp.
  ProcessBusy Count(std::span<const UtilizationRecord> records, uint64_t newest_us) const;
  void TakeLate(const UtilizationRecord& last);
  // Returns null for a process that was not counted in the last seconds.
  const Counted* Find(uint32_t pid) const;
  void Note(uint32_t pid, uint64_t to_us, bool is_late);

  uint64_t since_us_ = 0;  // 0: not started.
  uint64_t begun_us_ = 0;
  std::vector<Counted> counted_;  // Ascending by pid.
  std::vector<UtilizationRecord> records_;
  std::vector<ProcessBusy> busy_;
};

}  // namespace podgpu
