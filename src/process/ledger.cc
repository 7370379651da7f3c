#include "process/ledger.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/status.h"

namespace podgpu {
namespace {

// Far above the power of any GPU. A counter that grew faster returned no energy, but, for example,
// the sentinel of a driver that has just lost the device.
constexpr uint64_t kMostPowerMw = 100'000'000;
// The driver refreshes the counter about every 100 ms, so a reading may cover a little more than
// the time between two readings.
constexpr Duration kRefreshSlack = std::chrono::seconds(1);

// mW x us are nJ; returns at most `limit`.
uint64_t EnergyMj(uint64_t power_mw, Duration time, uint64_t limit) {
  __extension__ using Wide = unsigned __int128;
  const auto time_us = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  const Wide energy_mj =
      Wide{power_mw} * static_cast<uint64_t>(std::max<int64_t>(time_us, 0)) / 1'000'000;
  return energy_mj > limit ? limit : static_cast<uint64_t>(energy_mj);
}

// Returns the growth of the counter since `before`, or nothing when the counter restarted.
std::optional<uint64_t> Growth(uint64_t before, uint64_t now, Duration elapsed) {
  if (now < before) {
    return std::nullopt;
  }
  const uint64_t growth = now - before;
  const Duration most = std::max(elapsed, Duration::zero()) + kRefreshSlack;
  return growth == EnergyMj(kMostPowerMw, most, growth) ? std::optional(growth) : std::nullopt;
}

size_t IndexOf(EnergyMethod method) { return static_cast<size_t>(method); }

}  // namespace

std::string_view EnergyMethodName(EnergyMethod method) {
  static constexpr std::array<std::string_view, kEnergyMethodCount> kNames = {
      "exclusive", "sm_share", "mig_activity", "equal"};
  return kNames.at(IndexOf(method));
}

uint64_t SumMj(const EnergyByMethod& energy) {
  return std::accumulate(energy.begin(), energy.end(), uint64_t{0});
}

bool HasSeries(const EnergyByMethod* energy, EnergyMethod method) {
  return method == EnergyMethod::kExclusive ||
         (energy != nullptr && (*energy)[IndexOf(method)] > 0);
}

void Ledger::Record(const DeviceInterval& interval) {
  DeviceAccount& account = devices_[interval.device];
  OpenInterval& open = account.open;
  open.Add(interval);
  for (const Resident& resident : interval.residents) {
    if (resident.listed) {
      Open(resident, interval.device);
    }
  }
  if (!interval.counter_mj) {
    return;
  }
  if (account.counter_mj) {
    // The interval may have been open for several readings; everyone who was there in it shares the
    // growth. A counter that fell or grew too much charges no process.
    const Duration elapsed = interval.at - account.counted_at;
    if (const auto grown = Growth(*account.counter_mj, *interval.counter_mj, elapsed)) {
      Bill bill{.device = interval.device, .energy = account.energy};
      const uint64_t idle_mj = EnergyMj(options_.idle_power_mw, elapsed, *grown);
      const uint64_t total_before_mj = account.energy.TotalMj();
      ShareIdle(interval, open, idle_mj, bill);
      ShareActive(open, *grown - idle_mj, bill);
      PODGPU_CHECK(account.energy.TotalMj() == total_before_mj + *grown);
    } else {
      ++account.energy.restarts;
    }
  }
  // This also holds after a restart of the counter: its growth across the restart is unknown, so
  // counting starts again at the new value.
  account.counter_mj = interval.counter_mj;
  account.counted_at = interval.at;
  open.Clear();
}

void Ledger::ShareIdle(const DeviceInterval& interval, const OpenInterval& open, uint64_t idle_mj,
                       Bill& bill) {
  if (idle_mj == 0) {
    return;
  }
  if (options_.idle_energy == IdleEnergy::kEqual && open.residents_known) {
    sharers_.clear();
    for (const Resident& resident : open.residents) {
      sharers_.push_back(&resident);
    }
    ShareEqually(idle_mj, open.Exclusive() ? EnergyMethod::kExclusive : EnergyMethod::kEqual, bill);
  } else if (options_.idle_energy == IdleEnergy::kAllocated && !interval.holders.empty()) {
    const auto shares = among_processes_.Equally(idle_mj, interval.holders.size());
    for (size_t i = 0; i < shares.size(); ++i) {
      GiveIdle(interval.holders[i], shares[i], bill.device);
    }
    bill.energy.by_method[IndexOf(EnergyMethod::kEqual)] += idle_mj;
  } else {
    bill.energy.unattributed_mj += idle_mj;
  }
}

void Ledger::ShareActive(const OpenInterval& open, uint64_t active_mj, Bill& bill) {
  // Order of precedence: unknown or no residents, a single process, measured MIG instances, then SM
  // time of processes, and equal parts only where the driver has no samples at all.  A single
  // process needs no samples: the energy is its own.  Samples that are missing in one reading are
  // no reason for equal parts, which would charge an idle process.
  if (!open.residents_known || open.residents.empty()) {
    bill.energy.unattributed_mj += active_mj;
    return;
  }
  if (open.Exclusive()) {
    Charge(open.residents.front(), EnergyMethod::kExclusive, active_mj, bill);
    return;
  }
  if (!open.instances.empty()) {
    ShareByInstance(open, active_mj, bill);
    return;
  }
  if (open.samples == BusySamples::kMissing) {
    bill.energy.unattributed_mj += active_mj;
    return;
  }
  sharers_.clear();
  for (const Resident& resident : open.residents) {
    sharers_.push_back(&resident);
  }
  if (open.samples == BusySamples::kMeasured) {
    ShareByBusy(active_mj, EnergyMethod::kSmShare, bill);
  } else {
    ShareEqually(active_mj, EnergyMethod::kEqual, bill);
  }
}

void Ledger::ShareByInstance(const OpenInterval& open, uint64_t active_mj, Bill& bill) {
  weights_.clear();
  for (const InstanceActivity& activity : open.instances) {
    weights_.push_back(activity.busy);
  }
  const auto shares = among_instances_.ByWeight(active_mj, weights_);
  if (shares.empty()) {
    bill.energy.unattributed_mj += active_mj;
  }
  for (size_t i = 0; i < shares.size(); ++i) {
    sharers_.clear();
    for (const Resident& resident : open.residents) {
      if (resident.instance == open.instances[i].instance) {
        sharers_.push_back(&resident);
      }
    }
    ShareWithinInstance(open.samples, shares[i], bill);
  }
}

// Shares among sharers_, which are all in one instance.  The energy of the instance follows from
// its measured activity, and so does that of its only process.  Equal parts of several are not
// measured, so they count as `equal` and not as `mig_activity`.
void Ledger::ShareWithinInstance(BusySamples samples, uint64_t energy_mj, Bill& bill) {
  if (sharers_.size() <= 1) {
    ShareEqually(energy_mj, EnergyMethod::kMigActivity, bill);
  } else if (samples == BusySamples::kMeasured) {
    ShareByBusy(energy_mj, EnergyMethod::kMigActivity, bill);
  } else if (samples == BusySamples::kNotSupported) {
    ShareEqually(energy_mj, EnergyMethod::kEqual, bill);
  } else {
    bill.energy.unattributed_mj += energy_mj;
  }
}

void Ledger::ShareByBusy(uint64_t energy_mj, EnergyMethod method, Bill& bill) {
  weights_.clear();
  for (const Resident* sharer : sharers_) {
    weights_.push_back(sharer->busy);
  }
  ChargeSharers(among_processes_.ByWeight(energy_mj, weights_), energy_mj, method, bill);
}

void Ledger::ShareEqually(uint64_t energy_mj, EnergyMethod method, Bill& bill) {
  ChargeSharers(among_processes_.Equally(energy_mj, sharers_.size()), energy_mj, method, bill);
}

void Ledger::ChargeSharers(std::span<const uint64_t> shares, uint64_t energy_mj,
                           EnergyMethod method, Bill& bill) {
  if (shares.empty()) {
    // No shares: all weights are zero, so no process can be charged.
    bill.energy.unattributed_mj += energy_mj;
  }
  for (size_t i = 0; i < shares.size(); ++i) {
    Charge(*sharers_[i], method, shares[i], bill);
  }
}

void Ledger::Charge(const Resident& resident, EnergyMethod method, uint64_t energy_mj, Bill& bill) {
  if (!resident.listed) {
    bill.energy.outside_kubernetes_mj += energy_mj;
    return;
  }
  bill.energy.by_method[IndexOf(method)] += energy_mj;
  const auto it = processes_.find({resident.process, bill.device});
  PodNumber pod = resident.pod;
  if (it != processes_.end()) {
    Add(it->second.energy, method, energy_mj);
    pod = it->second.pod;
  } else if (energy_mj > 0) {  // Its rows were removed while the counter could not be read.
    AddEnded({pod, bill.device}, method, energy_mj);
  }
  if (pod != kNoPod) {
    Add(pods_[{pod, bill.device}], method, energy_mj);
  }
}

void Ledger::Open(const Resident& resident, DeviceNumber device) {
  ProcessAccount& account = processes_[{resident.process, device}];
  if (account.pod == kNoPod && resident.pod != kNoPod) {
    // The pod became known only now: it takes over what the process was charged so far.
    account.pod = resident.pod;
    EnergyByMethod& pod = pods_[{account.pod, device}];
    for (size_t method = 0; method < kEnergyMethodCount; ++method) {
      Add(pod, static_cast<EnergyMethod>(method), account.energy[method]);
    }
  }
}

void Ledger::Add(EnergyByMethod& account, EnergyMethod method, uint64_t energy_mj) {
  const bool had_series = HasSeries(&account, method);
  account[IndexOf(method)] += energy_mj;
  generation_ += HasSeries(&account, method) != had_series ? 1U : 0U;
}

void Ledger::AddEnded(const PodOnDevice& pod, EnergyMethod method, uint64_t energy_mj) {
  const auto [it, is_new] = ended_.try_emplace(pod);
  generation_ += is_new ? 1 : 0;
  Add(it->second, method, energy_mj);
}

void Ledger::GiveIdle(PodNumber pod, uint64_t energy_mj, DeviceNumber device) {
  Add(pods_[{pod, device}], EnergyMethod::kEqual, energy_mj);
  const auto [it, is_new] = idle_.try_emplace({pod, device});
  generation_ += is_new ? 1 : 0;
  it->second += energy_mj;
}

// The energy must stay on the page, so that the rows of a pod add up to the pod.  An amount of 0
// makes no entry, because each entry is a row.
void Ledger::Forget(const ProcessOnDevice& process) {
  const auto it = processes_.find(process);
  if (it == processes_.end()) {
    return;
  }
  for (size_t method = 0; method < kEnergyMethodCount; ++method) {
    if (const uint64_t energy_mj = it->second.energy[method]; energy_mj > 0) {
      AddEnded({it->second.pod, process.device}, static_cast<EnergyMethod>(method), energy_mj);
    }
  }
  processes_.erase(it);
}

// The energy of the pod moves to no pod: without it the rows of the GPU would no longer add up to
// the growth of its counter.
void Ledger::Forget(PodNumber pod) {
  for (auto& [device, account] : devices_) {
    for (Resident& resident : account.open.residents) {
      resident.pod = resident.pod == pod ? kNoPod : resident.pod;
    }
    pods_.erase({pod, device});
    if (const auto ended = ended_.extract({pod, device}); !ended.empty()) {
      ++generation_;
      for (size_t method = 0; method < kEnergyMethodCount; ++method) {
        AddEnded({kNoPod, device}, static_cast<EnergyMethod>(method), ended.mapped()[method]);
      }
    }
    if (const auto idle = idle_.extract({pod, device}); !idle.empty()) {
      ++generation_;
      AddEnded({kNoPod, device}, EnergyMethod::kEqual, idle.mapped());
    }
  }
}

const DeviceEnergy* Ledger::Device(DeviceNumber device) const {
  const auto it = devices_.find(device);
  return it == devices_.end() ? nullptr : &it->second.energy;
}

std::optional<CountedReading> Ledger::Counted(DeviceNumber device) const {
  const auto it = devices_.find(device);
  if (it == devices_.end()) {
    return std::nullopt;
  }
  const DeviceAccount& account = it->second;
  if (!account.counter_mj) {
    return std::nullopt;
  }
  return CountedReading{.counter_mj = *account.counter_mj, .at = account.counted_at};
}

const EnergyByMethod* Ledger::Process(const ProcessOnDevice& process) const {
  const auto it = processes_.find(process);
  return it == processes_.end() ? nullptr : &it->second.energy;
}

const EnergyByMethod* Ledger::Pod(const PodOnDevice& pod) const {
  const auto it = pods_.find(pod);
  return it == pods_.end() ? nullptr : &it->second;
}

size_t Ledger::Hash::operator()(const ProcessOnDevice& process) const {
  // A pid is nearly unique by itself; start time and device separate the few repeats.
  uint64_t hash = process.process.start_ticks * 31 + process.device.value;
  hash = (hash << 32) ^ (hash >> 32) ^ process.process.pid;
  return std::hash<uint64_t>()(hash * 0x9e3779b97f4a7c15U);
}

}  // namespace podgpu
