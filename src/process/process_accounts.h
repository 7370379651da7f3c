// Processes, their pods and their energy: the table, the ledger, the use of devices by pods, and
// what accounting tells of lives too short for a list, fed together.
//
// Take() each reading once, in order; then rows are in table(), amounts in ledger(), pods in
// uses(), and series are to be made anew when generation() has changed.  One thread, the tick's.
#pragma once

#include <chrono>

#include "base/clock.h"
#include "process/ledger.h"
#include "process/pod_uses.h"
#include "process/process_table.h"
#include "process/short_lives.h"

namespace podgpu {

class ProcessAccounts {
 public:
  ProcessAccounts(const ProcessTableOptions& table, const LedgerOptions& ledger)
      : table_(table), ledger_(ledger) {}

  void Take(const ProcessReading& reading) {
    at_ = reading.at;
    wall_ = reading.wall;
    table_.Take(reading);
    short_lives_.Take(reading);
    for (const DeviceInterval& interval : table_.intervals()) {
      ledger_.Record(interval);
    }
    for (const ProcessOnDevice& process : table_.forgotten()) {
      ledger_.Forget(process);
    }
    uses_.Take(reading, table_);
    for (const PodNumber pod : table_.forgotten_pods()) {
      ledger_.Forget(pod);
      uses_.Forget(pod);
    }
  }

  const ProcessTable& table() const { return table_; }
  const Ledger& ledger() const { return ledger_; }
  const PodUses& uses() const { return uses_; }
  const ShortLives& short_lives() const { return short_lives_; }
  uint64_t generation() const {
    return table_.generation() + uses_.generation() + ledger_.generation();
  }
  // The wall time of `at`, by the clocks at the last reading.
  WallTime WallAt(Instant at) const {
    return wall_ - std::chrono::duration_cast<WallTime::duration>(at_ - at);
  }
  // For the numbers of pods that hold devices.
  PodBook& pods() { return table_.pods(); }

 private:
  Instant at_{};  // Of the last reading, as the next.
  WallTime wall_{};
  ProcessTable table_;
  Ledger ledger_;
  PodUses uses_;
  ShortLives short_lives_;
};

}  // namespace podgpu
