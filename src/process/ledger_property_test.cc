// Invariants of the ledger in random runs: processes on devices that come and go, counters that
// restart, missing answers, clocks that jump.
#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "process/ledger.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kDevices = 3;
constexpr uint32_t kPods = 4;

class RandomNode {
 public:
  explicit RandomNode(uint64_t seed)
      : random_(seed), ledger_(OptionsOf(seed)), idle_energy_(OptionsOf(seed).idle_energy) {}

  void Step() {
    now_ += milliseconds(1000) + milliseconds(Chance(10) ? Below(20'000) : 0);
    now_ -= milliseconds(Chance(30) ? Below(5'000) : 0);
    for (uint32_t device = 0; device < kDevices; ++device) {
      Live(device);
      if (!Chance(8)) {  // Otherwise the device is gone for a while; its counter may go on.
        Record(device);
      }
    }
    ForgetSome();
    Check();
  }

  uint64_t charged_mj() const {
    uint64_t sum = 0;
    for (const auto& [device, energy] : expected_mj_) {
      sum += energy;
    }
    return sum;
  }

 private:
  struct DeviceState {
    uint64_t counter_mj = 1'000'000;
    std::optional<uint64_t> read_mj;
    bool settled = true;  // The last read of the counter succeeded.
    Instant read_at;
    std::vector<Resident> residents;
  };

  static LedgerOptions OptionsOf(uint64_t seed) {
    return {.idle_power_mw = seed % 4 == 0 ? 0 : (seed % 5) * 37'123,
            .idle_energy = static_cast<IdleEnergy>(seed % 3)};
  }
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  bool Chance(uint64_t one_in) { return Below(one_in) == 0; }

  // Processes start and end, pids are used again; the device draws energy or restarts.
  void Live(uint32_t device) {
    DeviceState& state = devices_[device];
    std::erase_if(state.residents, [&](const Resident&) { return Chance(6); });
    while (Chance(2) && state.residents.size() < 6) {
      state.residents.push_back(
          {.process = {.pid = static_cast<uint32_t>(1 + Below(9)), .start_ticks = Below(4)},
           .instance = static_cast<uint32_t>(Below(3)),
           .listed = !Chance(4)});
    }
    for (Resident& resident : state.residents) {
      resident.busy = Chance(3) ? 0 : random_() >> Below(64);
      // A pod may become known late and then never changes.
      if (resident.listed && Chance(2)) {
        resident.pod = {static_cast<uint32_t>(1 + resident.process.start_ticks % kPods)};
      }
    }
    state.counter_mj = Chance(25) ? Below(10'000) : state.counter_mj + Below(900'000);
  }

  void Record(uint32_t device) {
    DeviceState& state = devices_[device];
    DeviceInterval interval;
    interval.device = {device};
    interval.at = now_;
    interval.residents = state.residents;
    interval.residents_known = !Chance(12);
    interval.samples = static_cast<BusySamples>(Below(3));
    if (device == 2) {
      interval.instances = {{0, random_() >> Below(64)}, {1, Below(2)}};
    }
    for (uint32_t pod = 1; pod <= Below(kPods); ++pod) {
      interval.holders.push_back({pod});
    }
    if (!Chance(7)) {
      interval.counter_mj = Chance(40) ? random_() : state.counter_mj;
    }
    ledger_.Record(interval);
    state.settled = interval.counter_mj.has_value();
    if (!interval.counter_mj) {
      return;
    }
    // The rule in its simplest form, for a GPU that draws less than 100 kW.
    const bool fell = !state.read_mj || *interval.counter_mj < *state.read_mj;
    const auto elapsed_ms = std::max<int64_t>(
        0, std::chrono::duration_cast<milliseconds>(now_ - state.read_at).count());
    if (!fell && (*interval.counter_mj - *state.read_mj) / 100'000 <=
                     static_cast<uint64_t>(elapsed_ms) + 1000) {
      expected_mj_[device] += *interval.counter_mj - *state.read_mj;
    }
    state.read_mj = interval.counter_mj;
    state.read_at = now_;
  }

  void ForgetSome() {
    std::erase_if(seen_, [&](const auto& row) {
      const ProcessOnDevice& process = row.first;
      const std::vector<Resident>& residents = devices_[process.device.value].residents;
      const bool alive = std::any_of(residents.begin(), residents.end(), [&](const Resident& one) {
        return one.process == process.process;
      });
      if (alive || !devices_[process.device.value].settled || !Chance(5)) {
        return false;
      }
      forgotten_mj_[process.device.value] += SumMj(*ledger_.Process(process));
      ledger_.Forget(process);
      return true;
    });
  }

  void Check() {
    std::map<uint32_t, uint64_t> processes_mj = forgotten_mj_;
    for (uint32_t device = 0; device < kDevices; ++device) {
      for (uint32_t pid = 1; pid < 10; ++pid) {
        for (uint64_t start = 0; start < 4; ++start) {
          CheckProcess({{pid, start}, {device}}, processes_mj[device]);
        }
      }
      CheckDevice(device, processes_mj[device]);
    }
  }

  void CheckProcess(const ProcessOnDevice& process, uint64_t& sum_mj) {
    if (const EnergyByMethod* energy = ledger_.Process(process)) {
      uint64_t& before = seen_[process];
      EXPECT_GE(SumMj(*energy), before) << "pid " << process.process.pid;
      before = SumMj(*energy);
      sum_mj += before;
    }
  }

  void CheckDevice(uint32_t device, uint64_t processes_mj) {
    const DeviceEnergy* energy = ledger_.Device({device});
    if (energy == nullptr) {
      return;
    }
    EXPECT_EQ(energy->TotalMj(), expected_mj_[device]);
    // The part of the methods that no process received is idle energy of pods.
    EXPECT_GE(SumMj(energy->by_method), processes_mj);
    if (idle_energy_ != IdleEnergy::kAllocated) {
      EXPECT_EQ(SumMj(energy->by_method), processes_mj);
    }
    DeviceEnergy& before = device_before_[device];
    for (size_t method = 0; method < kEnergyMethodCount; ++method) {
      EXPECT_GE(energy->by_method.at(method), before.by_method.at(method));
    }
    EXPECT_GE(energy->unattributed_mj, before.unattributed_mj);
    EXPECT_GE(energy->outside_kubernetes_mj, before.outside_kubernetes_mj);
    before = *energy;
    CheckPods(device, *energy);
  }

  void CheckPods(uint32_t device, const DeviceEnergy& energy) {
    uint64_t sum_mj = 0;
    for (uint32_t pod = 1; pod <= kPods; ++pod) {
      if (const EnergyByMethod* of_pod = ledger_.Pod({{pod}, {device}})) {
        uint64_t& before = pods_before_[{{pod}, {device}}];
        EXPECT_GE(SumMj(*of_pod), before);
        before = SumMj(*of_pod);
        sum_mj += before;
      }
    }
    EXPECT_LE(sum_mj, SumMj(energy.by_method));
  }

  std::mt19937_64 random_;
  Ledger ledger_;
  IdleEnergy idle_energy_;
  Instant now_{std::chrono::hours(1)};
  std::map<uint32_t, DeviceState> devices_;
  std::map<uint32_t, uint64_t> expected_mj_, forgotten_mj_;
  std::map<ProcessOnDevice, uint64_t> seen_;
  std::map<PodOnDevice, uint64_t> pods_before_;
  std::map<uint32_t, DeviceEnergy> device_before_;
};

TEST(LedgerProperty, ConservesEveryMillijouleAndNeverFalls) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNode node(seed);
    for (int step = 0; step < 120; ++step) {
      node.Step();
    }
    ASSERT_GT(node.charged_mj(), 1'000'000U);
    if (HasFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace podgpu
