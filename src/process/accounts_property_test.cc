// Invariants of table and ledger together on a random node: processes come, go and come back, pids
// are used again, rows reach the end of their retention, lists and counters are missing, counters
// restart, devices disappear for a while.  Of some processes only the container is known, until a
// list of pods names it.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "process/process_accounts.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr uint32_t kDevicesOfNode = 3;
constexpr uint64_t kHighestPid = 7;

class LivingNode {
 public:
  explicit LivingNode(uint32_t seed)
      : random_(seed),
        retention_(seconds(Below(4) == 0 ? 0 : Below(25))),
        all_processes_(OneIn(3)),
        ledger_({.idle_power_mw = Below(2) * 60'000,
                 .idle_energy = OneIn(2) ? IdleEnergy::kUnattributed : IdleEnergy::kEqual}),
        accounts_({.retention = retention_, .all_processes = all_processes_}, ledger_),
        keeper_({.retention = std::chrono::hours(1'000), .all_processes = all_processes_},
                ledger_) {}

  void Step() {
    now_ += seconds(1 + Below(3));
    ListPods();
    ProcessReading reading{.at = now_, .devices = {}};
    for (uint32_t device = 0; device < kDevicesOfNode; ++device) {
      Live(device);
      if (!OneIn(9)) {
        reading.devices.push_back(Tell(device));
      }
    }
    accounts_.Take(reading);
    keeper_.Take(reading);
    NoteGrowth(reading);
    CheckGeneration();
    Check();
  }

  uint64_t shared_out_mj() const { return shared_out_mj_; }
  size_t forgotten() const { return forgotten_; }
  size_t restarts() const { return restarts_; }
  // Steps that left the generation as it was.
  size_t unchanged() const { return unchanged_; }

 private:
  struct LivingDevice {
    uint64_t counter_mj = 5'000'000;
    std::map<uint32_t, std::shared_ptr<const ProcessIdentity>> processes;  // By pid.
    std::optional<uint64_t> read_mj;
    uint64_t expected_mj = 0;   // The expected sum, computed in the simplest way.
    uint64_t forgotten_mj = 0;  // Charged to rows that are gone.
    DeviceEnergy before;
  };

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  bool OneIn(uint64_t times) { return Below(times) == 0; }

  // Each list has other containers; before the first one, this may be no node of Kubernetes.
  void ListPods() {
    if (!OneIn(40)) {
      return;
    }
    PodsOfContainers pods;
    for (uint64_t i = Below(4); i > 0; --i) {
      pods["c" + std::to_string(Below(6))] = "pod-" + std::to_string(Below(3));
    }
    accounts_.TakeContainers(pods);
    keeper_.TakeContainers(pods);
  }

  // Few pids, so they are used again, sometimes by a process outside containers.
  void Live(uint32_t number) {
    LivingDevice& device = devices_[number];
    std::erase_if(device.processes, [&](const auto& process) {
      const bool ends = OneIn(7);
      if (ends && OneIn(3)) {
        ended_.push_back(process.second);
      }
      return ends;
    });
    if (OneIn(2)) {
      auto identity = std::make_shared<ProcessIdentity>();
      identity->key = {.pid = static_cast<uint32_t>(1 + Below(kHighestPid)),
                       .start_ticks = ++births_};
      identity->place.pod_uid = OneIn(4) ? "" : "pod-" + std::to_string(Below(3));
      identity->place.container_id = OneIn(2) ? "" : "c" + std::to_string(Below(6));
      device.processes.try_emplace(identity->key.pid, std::move(identity));
    }
    if (!ended_.empty() && OneIn(3)) {  // A list did not show it for a while.
      device.processes.try_emplace(ended_.back()->key.pid, ended_.back());
      ended_.pop_back();
    }
    device.counter_mj = OneIn(30) ? Below(1'000) : device.counter_mj + Below(700'000);
  }

  DeviceReading Tell(uint32_t number) {
    LivingDevice& device = devices_[number];
    DeviceReading reading{.device = {number}, .at = now_};
    reading.counter_mj = OneIn(8) ? std::nullopt : std::optional(device.counter_mj);
    reading.listed = !OneIn(12);
    reading.samples = OneIn(6) ? static_cast<BusySamples>(Below(3)) : BusySamples::kMeasured;
    for (const auto& [pid, identity] : device.processes) {
      // A process that /proc does not identify is a row of its own.
      reading.processes.push_back({.pid = pid, .identity = OneIn(15) ? nullptr : identity});
      reading.busy.push_back({.pid = pid, .busy_percent_us = OneIn(3) ? 0 : Below(1'000'000)});
    }
    if (OneIn(4)) {  // Of a process that is on no list and perhaps never was.
      const auto pid = static_cast<uint32_t>(1 + Below(kHighestPid + 3));
      if (!device.processes.contains(pid)) {
        reading.busy.push_back({.pid = pid, .busy_percent_us = Below(1'000'000)});
      }
    }
    return reading;
  }

  void NoteGrowth(const ProcessReading& reading) {
    for (const DeviceReading& told : reading.devices) {
      LivingDevice& device = devices_[told.device.value];
      if (!told.counter_mj) {
        continue;
      }
      const bool fell = device.read_mj && *told.counter_mj < *device.read_mj;
      restarts_ += fell ? 1 : 0;
      if (device.read_mj && !fell) {
        device.expected_mj += *told.counter_mj - *device.read_mj;
        shared_out_mj_ += *told.counter_mj - *device.read_mj;
      }
      device.read_mj = told.counter_mj;
    }
  }

  void Check() {
    CheckForgotten();
    for (auto& [number, device] : devices_) {
      const auto rows = accounts_.table().devices().find({number});
      const DeviceEnergy* energy = accounts_.ledger().Device({number});
      if (rows == accounts_.table().devices().end() || energy == nullptr) {
        continue;
      }
      uint64_t of_rows_mj = 0;
      for (const auto& [process, row] : rows->second) {
        of_rows_mj += CheckRow({process, {number}}, row);
      }
      EXPECT_EQ(energy->TotalMj(), device.expected_mj);
      const uint64_t ended_mj = EndedMj(accounts_, number);
      EXPECT_EQ(of_rows_mj + ended_mj, SumMj(energy->by_method));
      EXPECT_GE(ended_mj, device.forgotten_mj)
          << "a row may be charged once more when it is removed";
      CheckKeeper(number, device);
      for (size_t method = 0; method < kEnergyMethodCount; ++method) {
        EXPECT_GE(energy->by_method.at(method), device.before.by_method.at(method));
      }
      EXPECT_GE(energy->unattributed_mj, device.before.unattributed_mj);
      EXPECT_GE(energy->outside_kubernetes_mj, device.before.outside_kubernetes_mj);
      device.before = *energy;
    }
  }

  using Methods = std::set<EnergyMethod>;
  static Methods MethodsOf(const EnergyByMethod* energy) {
    Methods methods;
    for (size_t i = 0; i < kEnergyMethodCount; ++i) {
      if (const auto method = static_cast<EnergyMethod>(i); HasSeries(energy, method)) {
        methods.insert(method);
      }
    }
    return methods;
  }

  // All that has series of its own.
  struct Lines {
    std::set<DeviceNumber> devices;
    std::map<ProcessOnDevice, std::shared_ptr<const ProcessIdentity>> processes;
    std::set<PodOnDevice> idle;
    std::map<PodOnDevice, Methods> ended, used;
    std::map<ProcessOnDevice, Methods> of_processes;
    bool operator==(const Lines&) const = default;
  };

  Lines LinesNow() const {
    Lines lines;
    for (const auto& [device, rows] : accounts_.table().devices()) {
      lines.devices.insert(device);
      for (const auto& [process, row] : rows) {
        if (row.listed && !row.replaced) {
          const ProcessOnDevice key{process, device};
          lines.processes[key] = row.identity;
          lines.of_processes[key] = MethodsOf(accounts_.ledger().Process(key));
        }
      }
    }
    for (const auto& [key, energy] : accounts_.ledger().ended()) {
      lines.ended[key] = MethodsOf(&energy);
    }
    for (const auto& [key, energy_mj] : accounts_.ledger().idle()) {
      lines.idle.insert(key);
    }
    for (const auto& [key, use] : accounts_.uses().all()) {
      lines.used[key] = MethodsOf(accounts_.ledger().Pod(key));
    }
    return lines;
  }

  // A page is made again only when the generation has changed, so no line may come or go without.
  void CheckGeneration() {
    Lines lines = LinesNow();
    if (accounts_.generation() == generation_) {
      EXPECT_TRUE(lines == lines_) << "lines have changed, their generation has not";
      ++unchanged_;
    }
    generation_ = accounts_.generation();
    lines_ = std::move(lines);
  }

  static uint64_t EndedMj(const ProcessAccounts& accounts, uint32_t number) {
    uint64_t sum_mj = 0;
    for (const auto& [pod, energy] : accounts.ledger().ended()) {
      sum_mj += pod.device == DeviceNumber{number} ? SumMj(energy) : 0;
    }
    return sum_mj;
  }

  // With endless retention the rows hold all of the energy except that of replaced rows.
  void CheckKeeper(uint32_t number, const LivingDevice& device) const {
    const DeviceEnergy& energy = *keeper_.ledger().Device({number});
    EXPECT_EQ(energy.TotalMj(), device.expected_mj);
    uint64_t of_rows_mj = 0;
    for (const auto& [process, row] : keeper_.table().devices().at({number})) {
      const EnergyByMethod* charged = keeper_.ledger().Process({process, {number}});
      of_rows_mj += charged != nullptr ? SumMj(*charged) : 0;
    }
    EXPECT_EQ(of_rows_mj + EndedMj(keeper_, number), SumMj(energy.by_method));
  }

  // Returns whether the row is there without series.
  bool IsHidden(const ProcessOnDevice& process) const {
    const ProcessTable::Rows& rows = accounts_.table().devices().at(process.device);
    const auto row = rows.find(process.process);
    return row != rows.end() && (row->second.replaced || !row->second.listed);
  }

  // A row is removed exactly at the end of its retention, or it loses its series: because another
  // process has its labels, or because it is outside Kubernetes. Its energy is then forgotten
  // energy.
  void CheckForgotten() {
    for (const ProcessOnDevice& process : accounts_.table().forgotten()) {
      ++forgotten_;
      EXPECT_EQ(accounts_.ledger().Process(process), nullptr);
      const auto seen = last_seen_.find(process);  // Not found: it lived within one reading.
      devices_[process.device.value].forgotten_mj += charged_mj_[process];
      charged_mj_.erase(process);
      if (!IsHidden(process)) {
        EXPECT_GE(seen == last_seen_.end() ? Duration::zero() : now_ - seen->second, retention_);
        last_seen_.erase(process);
      }
    }
  }

  // Returns the energy charged to the row.
  uint64_t CheckRow(const ProcessOnDevice& process, const ProcessRow& row) {
    if (row.active || !last_seen_.contains(process)) {
      last_seen_[process] = now_;
    }
    const EnergyByMethod* energy = accounts_.ledger().Process(process);
    if (energy == nullptr) {
      return 0;
    }
    EXPECT_GE(SumMj(*energy), charged_mj_[process]) << "pid " << process.process.pid;
    charged_mj_[process] = SumMj(*energy);
    return SumMj(*energy);
  }

  std::mt19937_64 random_;
  const Duration retention_;
  const bool all_processes_;
  const LedgerOptions ledger_;
  ProcessAccounts accounts_;
  ProcessAccounts keeper_;  // The same with endless retention.
  Instant now_{std::chrono::hours(1)};
  std::map<uint32_t, LivingDevice> devices_;
  std::vector<std::shared_ptr<const ProcessIdentity>> ended_;
  uint64_t births_ = 0;
  std::map<ProcessOnDevice, uint64_t> charged_mj_;
  std::map<ProcessOnDevice, Instant> last_seen_;
  uint64_t shared_out_mj_ = 0;
  size_t forgotten_ = 0, restarts_ = 0, unchanged_ = 0;
  uint64_t generation_ = 0;
  Lines lines_;
};

TEST(ProcessAccountsProperty, EnergyAddsUpAcrossRetentionReusedPidsAndRestarts) {
  size_t unchanged = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LivingNode node(seed);
    for (int step = 0; step < 150; ++step) {
      node.Step();
    }
    EXPECT_GT(node.shared_out_mj(), 1'000'000U);
    EXPECT_GT(node.forgotten(), 0U);
    EXPECT_GT(node.restarts(), 0U);
    unchanged += node.unchanged();
    if (HasFailure()) {
      return;
    }
  }
  EXPECT_GT(unchanged, 100U);
}

}  // namespace
}  // namespace podgpu
