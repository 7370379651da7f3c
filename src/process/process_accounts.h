// All accounts of processes and pods in one object: table, ledger, usage by pods, and short-lived
// processes from accounting.
//
// Call Take() once per reading, in order. Then rows are in table(), energy in ledger(), pods in
// uses(). When generation() has changed, rebuild the series. One thread, the tick's.
#pragma once

#include <chrono>
#include <utility>

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

  // See ProcessTable::TakeContainers.
  void TakeContainers(PodsOfContainers pods) { table_.TakeContainers(std::move(pods)); }

  const ProcessTable& table() const { return table_; }
  const Ledger& ledger() const { return ledger_; }
  const PodUses& uses() const { return uses_; }
  const ShortLives& short_lives() const { return short_lives_; }
  uint64_t generation() const {
    return table_.generation() + uses_.generation() + ledger_.generation();
  }
  // Returns the wall time of `at`, computed from the clocks of the last reading.
  WallTime WallAt(Instant at) const {
    return wall_ - std::chrono::duration_cast<WallTime::duration>(at_ - at);
  }
  // Assigns the numbers of pods that hold devices.
  PodNumbers& pods() { return table_.pods(); }

 private:
  Instant at_{};  // Time of the last reading.
  WallTime wall_{};
  ProcessTable table_;
  Ledger ledger_;
  PodUses uses_;
  ShortLives short_lives_;
};

}  // namespace podgpu
