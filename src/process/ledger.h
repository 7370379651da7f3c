// The ledger of energy: who is charged how much of what a GPU drew, and by which method.
//
// No GPU measures energy per process.  The device's counter is measured; the ledger differences it
// and shares each difference out: whole to the one process that was there (exclusive), by SM time
// among several (sm_share), by the activity of MIG instances (mig_activity), equally only where the
// driver has no samples, which may be so within an instance alone, and to no process where nothing
// says whose it was.  Every millijoule of the counter lands in exactly one place: over its methods,
// `unattributed` and `outside_kubernetes` a device adds up to what its counter grew by.  Amounts
// only ever grow, and a device's and a pod's outlive the processes that they came from: what a
// forgotten process was charged is kept under its pod as `ended`, and under no pod when that is
// forgotten too.
//
// Driven once per reading of the counters, whoever scrapes.  Pure: no clock, no I/O; takes memory
// only for what it has not met before.  One thread, the tick's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "process/apportion.h"
#include "process/device_interval.h"
#include "process/keys.h"

namespace podgpu {

enum class EnergyMethod : uint8_t { kExclusive, kSmShare, kMigActivity, kEqual };
inline constexpr size_t kEnergyMethodCount = 4;
// "exclusive" and so on, as label values have it.
std::string_view EnergyMethodName(EnergyMethod method);

// Millijoules by EnergyMethod.
using EnergyByMethod = std::array<uint64_t, kEnergyMethodCount>;
uint64_t SumMj(const EnergyByMethod& energy);

// Whose the energy is that an idle device would have drawn.
enum class IdleEnergy : uint8_t {
  kUnattributed,
  kEqual,      // The residents', in equal parts.
  kAllocated,  // In equal parts that of the pods that hold the device, whether they run or not.
};

struct DeviceEnergy {
  EnergyByMethod by_method{};  // Of listed processes, and of idle energy that is given away.
  uint64_t unattributed_mj = 0;
  uint64_t outside_kubernetes_mj = 0;
  uint64_t restarts = 0;  // How often the counter fell, or grew by what no GPU can draw.
  uint64_t TotalMj() const { return SumMj(by_method) + unattributed_mj + outside_kubernetes_mj; }
};

// The reading of a device's counter up to which its energy has been shared out.
struct CountedReading {
  uint64_t counter_mj = 0;
  Instant at;
};

struct LedgerOptions {
  uint64_t idle_power_mw = 0;  // Set aside first, at the most what was drawn.
  IdleEnergy idle_energy = IdleEnergy::kUnattributed;
};

class Ledger {
 public:
  explicit Ledger(const LedgerOptions& options) : options_(options) {}

  // Shares out what the device drew since its last reading.  The first reading begins, and so does
  // one after a restart of the counter: nothing is charged.
  void Record(const DeviceInterval& interval);

  // Null for what was never charged or was forgotten.  Valid until it is forgotten.
  const DeviceEnergy* Device(DeviceNumber device) const;
  const EnergyByMethod* Process(const ProcessOnDevice& process) const;
  const EnergyByMethod* Pod(const PodOnDevice& pod) const;

  // Nothing where the counter has never been read.
  std::optional<CountedReading> Counted(DeviceNumber device) const;

  // What listed processes were charged that have no account any more, by their pods; and the idle
  // energy that pods were given.  With the accounts of processes they add up to the methods.
  const std::map<PodOnDevice, EnergyByMethod>& ended() const { return ended_; }
  const std::map<PodOnDevice, uint64_t>& idle() const { return idle_; }
  // Changes when an entry of these two comes or goes.
  uint64_t generation() const { return generation_; }

  // Drops the account of a process whose rows are gone; of a pod that is no more, on all devices.
  void Forget(const ProcessOnDevice& process);
  void Forget(PodNumber pod);

 private:
  struct DeviceAccount {
    DeviceEnergy energy;
    OpenInterval open;
    Instant counted_at;
    std::optional<uint64_t> counter_mj = std::nullopt;  // As of counted_at.
  };
  struct ProcessAccount {
    EnergyByMethod energy{};
    PodNumber pod = kNoPod;
  };
  struct Hash {
    size_t operator()(const ProcessOnDevice& process) const;
  };
  // A device of which energy is being shared out.
  struct Bill {
    DeviceNumber device;
    DeviceEnergy& energy;
  };

  // Its counters begin at 0 as soon as it is seen.
  void Open(const Resident& resident, DeviceNumber device);
  void ShareIdle(const DeviceInterval& interval, const OpenInterval& open, uint64_t idle_mj,
                 Bill& bill);
  void ShareActive(const OpenInterval& open, uint64_t active_mj, Bill& bill);
  void ShareByInstance(const OpenInterval& open, uint64_t active_mj, Bill& bill);
  void ShareWithinInstance(BusySamples samples, uint64_t energy_mj, Bill& bill);
  // Among sharers_; what nobody gets is unattributed.
  void ShareByBusy(uint64_t energy_mj, EnergyMethod method, Bill& bill);
  void ShareEqually(uint64_t energy_mj, EnergyMethod method, Bill& bill);
  void ChargeSharers(std::span<const uint64_t> shares, uint64_t energy_mj, EnergyMethod method,
                     Bill& bill);
  void Charge(const Resident& resident, EnergyMethod method, uint64_t energy_mj, Bill& bill);
  uint64_t& EndedOf(const PodOnDevice& pod, EnergyMethod method);
  void GiveIdle(PodNumber pod, uint64_t energy_mj, DeviceNumber device);

  LedgerOptions options_;
  std::map<DeviceNumber, DeviceAccount> devices_;
  std::unordered_map<ProcessOnDevice, ProcessAccount, Hash> processes_;
  std::map<PodOnDevice, EnergyByMethod> pods_;
  std::map<PodOnDevice, EnergyByMethod> ended_;
  std::map<PodOnDevice, uint64_t> idle_;
  uint64_t generation_ = 0;

  // Reused from one interval to the next.
  Apportioner among_processes_;
  Apportioner among_instances_;  // Its shares are read while the other works.
  std::vector<const Resident*> sharers_;
  std::vector<uint64_t> weights_;
};

}  // namespace podgpu
