// Everything the tick knows about processes: their accounts and the names of their pods.
//
// Takes each waiting reading from the queue once and adds the pods that hold its devices.  Names
// are looked up again when rows, owners or pods have changed, and kept as long as a row needs them:
// an ended pod keeps its name.  Without an API server, uids and names are learned from devices that
// only one container holds (learned_pods.h).  The list of the API server or of the kubelet tells
// the pod of a process whose cgroup holds only a container id.  Tick thread only.
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
#include "usage/process_queue.h"
#include "view/process_view.h"

namespace podgpu {

struct ProcessOptions {
  bool enabled = false;
  std::chrono::milliseconds period{1'000};
  std::string prefix = std::string(kProcessPrefix);
  ProcessTableOptions table;
  LedgerOptions ledger;
  bool pod_values = false;  // DCGM rows show what each pod uses of a shared device.
};

class ProcessRows {
 public:
  explicit ProcessRows(const ProcessOptions& options)
      : prefix_(options.prefix),
        pod_values_wanted_(options.pod_values),
        accounts_(options.table, options.ledger) {}

  // Takes the waiting readings.  `facts`: of this tick.
  void Take(ProcessQueue& queue, const TickFacts& facts);

  const ProcessTable& table() const { return accounts_.table(); }
  // Returns whether the last reading is older than `stale_after`.
  bool IsStale(Instant now, Duration stale_after) const {
    return !read_at_ || now - *read_at_ > stale_after;
  }
  // Returns `grid` with the energy counters that fit the ledger's amounts (LedgerCounters).  `grid`
  // is not null.
  std::shared_ptr<const Grid> WithCounters(const std::shared_ptr<const Grid>& grid, Instant now,
                                           Duration stale_after);
  // Processes of pods whose names are unknown.
  const UnnamedProcesses& unnamed() const { return unnamed_; }
  // Returns how many processes run on each entity of `topology`.
  std::shared_ptr<const EntityCounts> CountsOn(const Topology& topology, Instant now,
                                               Duration stale_after);

  // Changes whenever the set of lines changes.
  uint64_t generation() const { return accounts_.generation() + name_changes_; }
  // The input of the sections about processes (process_sections.h).
  const ProcessAccounts& accounts() const { return accounts_; }
  const ProcessNames& names() const { return names_; }
  const std::string& prefix() const { return prefix_; }
  const PodValues& pod_values() const { return pod_values_; }

 private:
  // The inputs of names, or of holders; they are made again when one of these has changed.
  struct Basis {
    uint64_t rows = 0;  // Generation of the accounts; 0 in the basis of holders.
    uint64_t epoch = 0;
    std::shared_ptr<const Owners> owners;
    std::shared_ptr<const ApiFacts> pods;
    std::shared_ptr<const ProcessFacts> facts;
    bool operator==(const Basis&) const = default;
  };

  static Basis BasisOf(uint64_t rows, const TickFacts& facts, ProcessQueue& queue);
  void FindContainers(const TickFacts& facts);
  void FindHolders(const TickFacts& facts, ProcessQueue& queue);
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
  std::shared_ptr<const ApiObjects> pods_of_containers_;  // The list that `accounts_` knows.
  std::vector<DeviceHolders> holders_;                    // Holders by device number.
  LearnedPods learned_;
  UnnamedProcesses unnamed_;
  MigActivity activity_;
  PodValues pod_values_;
  ProcessNames names_;
  uint64_t name_changes_ = 0;
  std::vector<std::unique_ptr<ProcessReading>> readings_;  // Empty between ticks.
};

}  // namespace podgpu
