// What the tick knows of processes: their accounts, and what their pods are called.
//
// Takes every reading that has come, each once, and adds to it which pods hold its devices; a
// scrape takes none.  Names are looked for anew
// when rows, owners or pods have changed, and kept for as long as a row needs them: a pod that has
// ended is still called what it was.  Without an API server, uids and names come from what the
// kubelet gives to one container alone.  Tick thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "facts/tick_facts.h"
#include "process/process_accounts.h"
#include "usage/device_holders.h"
#include "usage/learned_pods.h"
#include "usage/ledger_counters.h"
#include "usage/mig_activity.h"
#include "usage/pod_values.h"
#include "usage/process_counts.h"
#include "usage/process_feed.h"
#include "view/process_view.h"

namespace podgpu {

struct ProcessOptions {
  bool enabled = false;
  std::chrono::milliseconds period{1'000};
  std::string prefix = std::string(kProcessPrefix);
  ProcessTableOptions table;
  LedgerOptions ledger;
  bool pod_values = false;  // What pods use of shared devices is told on DCGM rows.
};

class ProcessRows {
 public:
  explicit ProcessRows(const ProcessOptions& options)
      : prefix_(options.prefix),
        pod_values_wanted_(options.pod_values),
        accounts_(options.table, options.ledger) {}

  // Takes what has come.  `facts`: of this tick.
  void Take(ProcessFeed& feed, const TickFacts& facts);

  const ProcessTable& table() const { return accounts_.table(); }
  // Whether the last reading is older than `stale_after`.
  bool IsStale(Instant now, Duration stale_after) const {
    return !read_at_ || now - *read_at_ > stale_after;
  }
  // `grid`, which is there, with the energy counters that fit the ledger's amounts
  // (LedgerCounters).
  std::shared_ptr<const Grid> WithCounters(const std::shared_ptr<const Grid>& grid, Instant now,
                                           Duration stale_after);
  // Processes of pods that have no names.
  const UnnamedProcesses& unnamed() const { return unnamed_; }
  // How many processes are on each entity of `topology`.
  std::shared_ptr<const EntityCounts> CountsOn(const Topology& topology, Instant now,
                                               Duration stale_after);

  // Changes whenever the set of lines changes.
  uint64_t generation() const { return accounts_.generation() + name_changes_; }
  // What the sections of processes tell of (process_sections.h).
  const ProcessAccounts& accounts() const { return accounts_; }
  const ProcessNames& names() const { return names_; }
  const std::string& prefix() const { return prefix_; }
  const PodValues& pod_values() const { return pod_values_; }

 private:
  // What names, or holders, were made from.
  struct Basis {
    uint64_t rows = 0;  // Generation of the accounts; of holders, 0.
    uint64_t epoch = 0;
    std::shared_ptr<const Owners> owners;
    std::shared_ptr<const ApiFacts> pods;
    std::shared_ptr<const ProcessFacts> facts;
    bool operator==(const Basis&) const = default;
  };

  static Basis BasisOf(uint64_t rows, const TickFacts& facts, ProcessFeed& feed);
  void FindHolders(const TickFacts& facts, ProcessFeed& feed);
  bool LearnPods(const Basis& basis, const TickFacts& facts);
  void TakeReading(const Grid* grid, ProcessReading& reading);
  ProcessNames NameAll(const Basis& basis, const TickFacts& facts) const;

  const std::string prefix_;
  const bool pod_values_wanted_;
  ProcessAccounts accounts_;
  ProcessCounts counts_;
  LedgerCounters counters_;
  std::optional<Instant> read_at_;
  std::optional<Basis> basis_;
  std::optional<Basis> holders_basis_;
  std::vector<DeviceHolders> holders_;  // By device number.
  LearnedPods learned_;
  UnnamedProcesses unnamed_;
  MigActivity activity_;
  PodValues pod_values_;
  ProcessNames names_;
  uint64_t name_changes_ = 0;
  std::vector<std::unique_ptr<ProcessReading>> readings_;  // Empty between ticks.
};

}  // namespace podgpu
