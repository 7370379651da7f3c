// The energy ledger: charges the energy of each GPU to processes and pods, and records the method.
//
// No GPU measures energy per process. The ledger takes the growth of the device's measured counter
// and shares it out: all of it to the only process (exclusive); by SM time among several
// (sm_share); by the activity of MIG instances (mig_activity); equally (equal) only when the driver
// has no samples, for the GPU or for one instance; and to no process when there is no basis for a
// share. Every millijoule lands in exactly one place: methods, `unattributed` and
// `outside_kubernetes` of a device add up to the growth of its counter. Amounts never fall, and
// those of devices and pods outlive their processes: the energy of a forgotten process is kept as
// `ended` under its pod, and under no pod when the pod is forgotten too.
//
// The tick's thread calls it once per reading of the counters, independent of scrapes. Pure: no
// clock, no I/O; allocates only for new devices, processes and pods.
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
// Returns the label value: "exclusive" and so on.
std::string_view EnergyMethodName(EnergyMethod method);

// Millijoules by EnergyMethod.
using EnergyByMethod = std::array<uint64_t, kEnergyMethodCount>;
uint64_t SumMj(const EnergyByMethod& energy);
// Returns whether the energy of a process or pod by this method is a series: `exclusive` always,
// each other method once it has charged something, since most accounts know one method.  `energy`
// may be null.
bool HasSeries(const EnergyByMethod* energy, EnergyMethod method);

// Receiver of the energy that an idle device would have drawn.
enum class IdleEnergy : uint8_t {
  kUnattributed,
  kEqual,      // The residents, in equal parts.
  kAllocated,  // The pods that hold the device, in equal parts, even if they run nothing.
};

struct DeviceEnergy {
  EnergyByMethod by_method{};  // Energy of listed processes, and idle energy that pods received.
  uint64_t unattributed_mj = 0;
  uint64_t outside_kubernetes_mj = 0;
  // Number of times that the counter fell, or grew by more than a GPU can draw.
  uint64_t restarts = 0;
  uint64_t TotalMj() const { return SumMj(by_method) + unattributed_mj + outside_kubernetes_mj; }
};

// The last reading of a device's counter whose energy has been shared out.
struct CountedReading {
  uint64_t counter_mj = 0;
  Instant at;
};

struct LedgerOptions {
  uint64_t idle_power_mw = 0;  // Set aside first; at most the energy that was drawn.
  IdleEnergy idle_energy = IdleEnergy::kUnattributed;
};

class Ledger {
 public:
  explicit Ledger(const LedgerOptions& options) : options_(options) {}

  // Shares out the energy that the device drew since its last reading. The first reading, and the
  // first after a restart of the counter, charge nothing.
  void Record(const DeviceInterval& interval);

  // Return null for a device, process or pod that was never charged or was forgotten. Valid until
  // it is forgotten.
  const DeviceEnergy* Device(DeviceNumber device) const;
  const EnergyByMethod* Process(const ProcessOnDevice& process) const;
  const EnergyByMethod* Pod(const PodOnDevice& pod) const;

  // Returns nothing when the counter was never read.
  std::optional<CountedReading> Counted(DeviceNumber device) const;

  // Returns for each pod the energy of listed processes whose accounts are gone, and the idle
  // energy that the pod received. With the accounts of processes they add up to the methods.
  const std::map<PodOnDevice, EnergyByMethod>& ended() const { return ended_; }
  const std::map<PodOnDevice, uint64_t>& idle() const { return idle_; }
  // Changes when an entry of these two maps is added or removed, and when a process or pod gets a
  // series (HasSeries).
  uint64_t generation() const { return generation_; }

  // Drops the account of a process whose rows are gone, or of a removed pod on all devices.
  void Forget(const ProcessOnDevice& process);
  void Forget(PodNumber pod);

 private:
  struct DeviceAccount {
    DeviceEnergy energy;
    OpenInterval open;
    Instant counted_at;
    std::optional<uint64_t> counter_mj = std::nullopt;  // The counter at `counted_at`.
  };
  struct ProcessAccount {
    EnergyByMethod energy{};
    PodNumber pod = kNoPod;
  };
  struct Hash {
    size_t operator()(const ProcessOnDevice& process) const;
  };
  // A device whose energy is being shared out.
  struct Bill {
    DeviceNumber device;
    DeviceEnergy& energy;
  };

  // Opens the account at 0 as soon as the process is seen.
  void Open(const Resident& resident, DeviceNumber device);
  void ShareIdle(const DeviceInterval& interval, const OpenInterval& open, uint64_t idle_mj,
                 Bill& bill);
  void ShareActive(const OpenInterval& open, uint64_t active_mj, Bill& bill);
  void ShareByInstance(const OpenInterval& open, uint64_t active_mj, Bill& bill);
  void ShareWithinInstance(BusySamples samples, uint64_t energy_mj, Bill& bill);
  // Shares among sharers_; energy without a receiver is unattributed.
  void ShareByBusy(uint64_t energy_mj, EnergyMethod method, Bill& bill);
  void ShareEqually(uint64_t energy_mj, EnergyMethod method, Bill& bill);
  void ChargeSharers(std::span<const uint64_t> shares, uint64_t energy_mj, EnergyMethod method,
                     Bill& bill);
  void Charge(const Resident& resident, EnergyMethod method, uint64_t energy_mj, Bill& bill);
  void Add(EnergyByMethod& account, EnergyMethod method, uint64_t energy_mj);
  void AddEnded(const PodOnDevice& pod, EnergyMethod method, uint64_t energy_mj);
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
  Apportioner among_instances_;  // Separate: its shares are read while among_processes_ works.
  std::vector<const Resident*> sharers_;
  std::vector<uint64_t> weights_;
};

}  // namespace podgpu
