#include "process/ledger.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using enum EnergyMethod;

constexpr DeviceNumber kGpu{1};
constexpr PodNumber kPodA{1};
constexpr PodNumber kPodB{2};
constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

ProcessKey Key(uint32_t pid) { return {.pid = pid, .start_ticks = 1000 + pid}; }
Resident Busy(uint32_t pid, uint64_t busy, PodNumber pod = kNoPod) {
  return {.process = Key(pid), .busy = busy, .pod = pod};
}
Resident Outside(uint32_t pid, uint64_t busy) {
  return {.process = Key(pid), .busy = busy, .listed = false};
}
Resident InInstance(uint32_t pid, uint32_t instance, uint64_t busy = 0) {
  return {.process = Key(pid), .instance = instance, .busy = busy};
}

// One GPU and its counter; one interval per second.
class OneGpu {
 public:
  explicit OneGpu(const LedgerOptions& options = {}) : ledger(options) {
    interval.device = kGpu;
    Read(1'000'000);
  }

  // Records `interval` with the counter at `counter_mj`, one second after the last.
  void Read(std::optional<uint64_t> counter_mj) {
    interval.counter_mj = counter_mj;
    ledger.Record(interval);
    interval.at += seconds(1);
    counter_mj_ = counter_mj.value_or(counter_mj_);
  }
  void Draw(uint64_t energy_mj) { Read(counter_mj_ + energy_mj); }
  void Draw(uint64_t energy_mj, std::vector<Resident> residents) {
    interval.residents = std::move(residents);
    Draw(energy_mj);
  }

  uint64_t Mj(uint32_t pid, EnergyMethod method) const {
    const EnergyByMethod* energy = ledger.Process({Key(pid), kGpu});
    return energy == nullptr ? 0 : energy->at(static_cast<size_t>(method));
  }
  uint64_t PodMj(PodNumber pod, EnergyMethod method) const {
    const EnergyByMethod* energy = ledger.Pod({pod, kGpu});
    return energy == nullptr ? 0 : energy->at(static_cast<size_t>(method));
  }
  // All energy that is kept as ended, of any pod.
  uint64_t EndedMj(PodNumber pod, EnergyMethod method) const {
    const auto energy = ledger.ended().find({pod, kGpu});
    return energy == ledger.ended().end() ? 0 : energy->second.at(static_cast<size_t>(method));
  }
  const DeviceEnergy& device() const { return *ledger.Device(kGpu); }
  uint64_t DeviceMj(EnergyMethod method) const {
    return device().by_method.at(static_cast<size_t>(method));
  }

  Ledger ledger;
  DeviceInterval interval;

 private:
  uint64_t counter_mj_ = 0;
};

TEST(Ledger, ChargesNothingAtTheFirstReading) {
  OneGpu gpu;
  EXPECT_EQ(gpu.device().TotalMj(), 0U);
}

TEST(Ledger, GivesTheWholeIntervalToTheOnlyProcess) {
  OneGpu gpu;
  gpu.Draw(70'001, {Busy(7, 0)});
  EXPECT_EQ(gpu.Mj(7, kExclusive), 70'001U);
  EXPECT_EQ(gpu.DeviceMj(kExclusive), 70'001U);
}

TEST(Ledger, AttributesNothingWithoutProcesses) {
  OneGpu gpu;
  gpu.Draw(70'000, {});
  EXPECT_EQ(gpu.device().unattributed_mj, 70'000U);
}

TEST(Ledger, SharesByBusyTime) {
  OneGpu gpu;
  gpu.Draw(400'001, {Busy(7, 75), Busy(8, 25)});
  EXPECT_EQ(gpu.Mj(7, kSmShare), 300'001U);
  EXPECT_EQ(gpu.Mj(8, kSmShare), 100'000U);
  EXPECT_EQ(gpu.DeviceMj(kSmShare), 400'001U);
}

TEST(Ledger, NeverChargesAnIntervalWithoutBusyTime) {
  OneGpu gpu;
  gpu.Draw(100'000, {Busy(7, 0), Busy(8, 0)});
  gpu.Draw(100'000, {Busy(7, 0), Busy(8, 0)});
  gpu.Draw(50'000, {Busy(7, 10), Busy(8, 0)});
  EXPECT_EQ(gpu.device().unattributed_mj, 200'000U);
  EXPECT_EQ(gpu.Mj(7, kSmShare), 50'000U);
  EXPECT_EQ(gpu.Mj(8, kSmShare), 0U);
}

TEST(Ledger, SharesEquallyOnlyWhereTheDriverHasNoSamples) {
  OneGpu gpu;
  gpu.interval.samples = BusySamples::kNotSupported;
  gpu.Draw(100'001, {Busy(7, 0), Busy(8, 0)});
  EXPECT_EQ(gpu.Mj(7, kEqual), 50'001U);
  EXPECT_EQ(gpu.Mj(8, kEqual), 50'000U);
  gpu.interval.samples = BusySamples::kMissing;
  gpu.Draw(30'000);
  EXPECT_EQ(gpu.Mj(7, kEqual), 50'001U);
  EXPECT_EQ(gpu.device().unattributed_mj, 30'000U);
}

TEST(Ledger, AttributesNothingWhenResidentsAreUnknown) {
  OneGpu gpu;
  gpu.interval.residents_known = false;
  gpu.Draw(100'000, {Busy(7, 5)});
  EXPECT_EQ(gpu.device().unattributed_mj, 100'000U);
}

// The counter of a process neither jumps nor freezes when another process comes or goes.
TEST(Ledger, KeepsCountingWhenSharingStartsAndEnds) {
  OneGpu gpu;
  gpu.Draw(100, {Busy(7, 9)});
  gpu.Draw(100, {Busy(7, 1), Busy(8, 1)});
  gpu.Draw(100, {Busy(7, 9)});
  EXPECT_EQ(gpu.Mj(7, kExclusive), 200U);
  EXPECT_EQ(gpu.Mj(7, kSmShare), 50U);
}

TEST(Ledger, SeparatesTwoProcessesWithTheSamePid) {
  OneGpu gpu;
  const ProcessKey old_one{.pid = 7, .start_ticks = 1};
  const ProcessKey new_one{.pid = 7, .start_ticks = 2};
  gpu.Draw(100, {{.process = old_one, .busy = 1}});
  gpu.Draw(40, {{.process = new_one, .busy = 1}});
  EXPECT_EQ(SumMj(*gpu.ledger.Process({old_one, kGpu})), 100U);
  EXPECT_EQ(SumMj(*gpu.ledger.Process({new_one, kGpu})), 40U);
}

TEST(Ledger, CountsEnergyOutsideKubernetesSeparately) {
  OneGpu gpu;
  gpu.Draw(100, {Busy(7, 1), Outside(8, 3)});
  gpu.Draw(10, {Outside(8, 3)});
  EXPECT_EQ(gpu.Mj(7, kSmShare), 25U);
  EXPECT_EQ(gpu.device().outside_kubernetes_mj, 85U);
  EXPECT_EQ(gpu.ledger.Process({Key(8), kGpu}), nullptr);
}

TEST(Ledger, SharesByTheActivityOfInstances) {
  OneGpu gpu;
  gpu.interval.samples = BusySamples::kNotSupported;
  gpu.interval.instances = {{.instance = 1, .busy = 300}, {.instance = 2, .busy = 100}};
  gpu.Draw(1000, {InInstance(7, 1), InInstance(8, 2), InInstance(9, 2)});
  EXPECT_EQ(gpu.Mj(7, kMigActivity), 750U);
  EXPECT_EQ(gpu.Mj(8, kEqual), 125U)
      << "the share of two processes in one instance is not measured";
  EXPECT_EQ(gpu.Mj(9, kEqual), 125U);
  gpu.interval.instances = {{.instance = 1, .busy = 0}, {.instance = 2, .busy = 0}};
  gpu.Draw(70);
  EXPECT_EQ(gpu.device().unattributed_mj, 70U);
}

TEST(Ledger, LeavesAnInstanceWithoutProcessesUnattributed) {
  OneGpu gpu;
  gpu.interval.samples = BusySamples::kNotSupported;
  gpu.interval.instances = {{.instance = 1, .busy = 1}, {.instance = 2, .busy = 1}};
  gpu.Draw(100, {InInstance(7, 1), InInstance(8, 5)});
  EXPECT_EQ(gpu.Mj(7, kMigActivity), 50U);
  EXPECT_EQ(gpu.Mj(8, kMigActivity), 0U);
  EXPECT_EQ(gpu.device().unattributed_mj, 50U);
}

TEST(Ledger, UsesSamplesWithinAnInstanceWhereThereAreSome) {
  OneGpu gpu;
  gpu.interval.instances = {{.instance = 1, .busy = 1}};
  gpu.Draw(100, {InInstance(7, 1, 3), InInstance(8, 1, 1)});
  EXPECT_EQ(gpu.Mj(7, kMigActivity), 75U);
  EXPECT_EQ(gpu.Mj(8, kMigActivity), 25U);
}

TEST(Ledger, ChargesNoSharerOfAnInstanceWhileSamplesAreMissing) {
  OneGpu gpu;
  gpu.interval.samples = BusySamples::kMissing;
  gpu.interval.instances = {{.instance = 1, .busy = 3}, {.instance = 2, .busy = 1}};
  gpu.Draw(100, {InInstance(7, 1), InInstance(8, 1), InInstance(9, 2)});
  EXPECT_EQ(gpu.device().unattributed_mj, 75U);
  EXPECT_EQ(gpu.Mj(9, kMigActivity), 25U) << "alone in its instance";
}

TEST(Ledger, SetsIdleEnergyAside) {
  // 40 W for a second; of 100 J, 60 are active.
  const struct {
    IdleEnergy whose;
    size_t residents;
    uint64_t exclusive, sm_share, equal, pod_a_idle, unattributed;
  } rows[] = {
      {IdleEnergy::kUnattributed, 0, 0, 0, 0, 0, 100'000},
      {IdleEnergy::kUnattributed, 1, 60'000, 0, 0, 0, 40'000},
      {IdleEnergy::kUnattributed, 2, 0, 45'000, 0, 0, 40'000},
      {IdleEnergy::kEqual, 0, 0, 0, 0, 0, 100'000},
      {IdleEnergy::kEqual, 1, 100'000, 0, 0, 0, 0},
      {IdleEnergy::kEqual, 2, 0, 45'000, 20'000, 0, 0},
      {IdleEnergy::kAllocated, 0, 0, 0, 0, 20'000, 60'000},
      {IdleEnergy::kAllocated, 1, 60'000, 0, 0, 20'000, 0},
      {IdleEnergy::kAllocated, 2, 0, 45'000, 0, 20'000, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::to_string(static_cast<int>(row.whose)) + " with " +
                 std::to_string(row.residents));
    OneGpu gpu({.idle_power_mw = 40'000, .idle_energy = row.whose});
    std::vector<Resident> residents = {Busy(7, 3), Busy(8, 1)};
    residents.resize(row.residents);
    gpu.interval.holders = {kPodA, kPodB};
    gpu.Draw(100'000, residents);
    EXPECT_EQ(gpu.Mj(7, kExclusive), row.exclusive);
    EXPECT_EQ(gpu.Mj(7, kSmShare), row.sm_share);
    EXPECT_EQ(gpu.Mj(7, kEqual), row.equal);
    EXPECT_EQ(gpu.PodMj(kPodA, kEqual), row.pod_a_idle);
    EXPECT_EQ(gpu.device().unattributed_mj, row.unattributed);
    EXPECT_EQ(gpu.device().TotalMj(), 100'000U);
  }
}

TEST(Ledger, SetsAsideAtMostTheEnergyThatWasDrawn) {
  OneGpu gpu({.idle_power_mw = kMost, .idle_energy = IdleEnergy::kUnattributed});
  gpu.Draw(100, {Busy(7, 1)});
  EXPECT_EQ(gpu.device().unattributed_mj, 100U);
}

TEST(Ledger, APodKeepsTheEnergyOfItsProcesses) {
  OneGpu gpu;
  gpu.Draw(100, {Busy(7, 1, kPodA), Busy(8, 1, kPodA)});
  gpu.ledger.Forget({Key(7), kGpu});
  gpu.Draw(100, {Busy(8, 1, kPodA)});
  EXPECT_EQ(gpu.PodMj(kPodA, kSmShare), 100U);
  EXPECT_EQ(gpu.PodMj(kPodA, kExclusive), 100U);
  EXPECT_EQ(gpu.device().TotalMj(), 200U);
  gpu.ledger.Forget(kPodA);
  EXPECT_EQ(gpu.ledger.Pod({kPodA, kGpu}), nullptr);
}

TEST(Ledger, HasASeriesForAMethodOnceItHasChargedSomething) {
  OneGpu gpu;
  gpu.Draw(100, {Busy(7, 1, kPodA)});
  EXPECT_EQ(gpu.ledger.generation(), 0U) << "exclusive always has a series";
  gpu.Draw(100, {Busy(7, 1, kPodA), Busy(8, 3, kPodB)});
  EXPECT_EQ(gpu.ledger.generation(), 4U) << "sm_share of two processes and of two pods";
  gpu.Draw(100, {Busy(7, 1, kPodA), Busy(8, 3, kPodB)});
  EXPECT_EQ(gpu.ledger.generation(), 4U);
  EXPECT_TRUE(HasSeries(gpu.ledger.Pod({kPodA, kGpu}), kSmShare));
  EXPECT_FALSE(HasSeries(gpu.ledger.Pod({kPodA, kGpu}), kEqual));
}

TEST(Ledger, KeepsTheEnergyOfAForgottenProcessUnderItsPod) {
  OneGpu gpu;
  gpu.Draw(100, {Busy(7, 1, kPodA), Busy(8, 3, kPodB)});
  const uint64_t generation = gpu.ledger.generation();
  gpu.ledger.Forget({Key(7), kGpu});
  const uint64_t with_ended = gpu.ledger.generation();
  EXPECT_GT(with_ended, generation) << "it has series of its own";
  gpu.ledger.Forget({Key(7), kGpu});
  EXPECT_EQ(gpu.EndedMj(kPodA, kSmShare), 25U) << "once";
  EXPECT_EQ(gpu.ledger.generation(), with_ended);
  gpu.ledger.Forget(kPodA);
  EXPECT_EQ(gpu.EndedMj(kPodA, kSmShare), 0U);
  EXPECT_EQ(gpu.EndedMj(kNoPod, kSmShare), 25U)
      << "it belongs to no pod, and the GPU still adds up";
  EXPECT_GT(gpu.ledger.generation(), with_ended);
  EXPECT_EQ(gpu.Mj(8, kSmShare) + 25, gpu.DeviceMj(kSmShare));
}

TEST(Ledger, MakesNoEntryForAProcessThatDrewNothing) {
  OneGpu gpu;
  gpu.Draw(0, {Busy(7, 1, kPodA)});
  gpu.ledger.Forget({Key(7), kGpu});
  EXPECT_TRUE(gpu.ledger.ended().empty());
}

TEST(Ledger, KeepsLaterEnergyOfAForgottenPodUnderNoPod) {
  OneGpu gpu;
  gpu.interval.residents = {Busy(7, 30, kPodA)};
  gpu.Read(std::nullopt);
  gpu.ledger.Forget({Key(7), kGpu});
  gpu.ledger.Forget(kPodA);
  gpu.Draw(1000, {});
  EXPECT_EQ(gpu.EndedMj(kNoPod, kExclusive), 1000U);
  EXPECT_EQ(gpu.ledger.Pod({kPodA, kGpu}), nullptr);
}

TEST(Ledger, ReportsTheIdleEnergyOfAPodSeparately) {
  OneGpu gpu({.idle_power_mw = 60, .idle_energy = IdleEnergy::kAllocated});
  gpu.interval.holders = {kPodA, kPodB};
  gpu.Draw(100, {Busy(7, 1, kPodA)});
  EXPECT_EQ(gpu.ledger.idle().at({kPodA, kGpu}), 30U);
  EXPECT_EQ(gpu.PodMj(kPodA, kEqual), 30U);
  gpu.ledger.Forget(kPodB);
  EXPECT_EQ(gpu.EndedMj(kNoPod, kEqual), 30U);
  EXPECT_EQ(gpu.Mj(7, kExclusive) + 30 + 30, gpu.device().TotalMj());
}

TEST(Ledger, ReturnsTheLastReadingWhoseEnergyWasShared) {
  Ledger ledger{{}};
  DeviceInterval interval;
  interval.device = kGpu;
  interval.at = Instant(seconds(5));
  ledger.Record(interval);
  EXPECT_FALSE(ledger.Counted(kGpu)) << "no counter yet";
  interval.counter_mj = 700;
  ledger.Record(interval);
  interval.at += seconds(1);
  interval.counter_mj.reset();
  ledger.Record(interval);
  ASSERT_TRUE(ledger.Counted(kGpu));
  EXPECT_EQ(ledger.Counted(kGpu)->counter_mj, 700U);
  EXPECT_EQ(ledger.Counted(kGpu)->at, Instant(seconds(5)));
}

TEST(Ledger, GivesALateIdentifiedPodTheEarlierEnergyOfItsProcess) {
  OneGpu gpu;
  gpu.Draw(100, {Busy(7, 1)});
  EXPECT_EQ(gpu.ledger.Pod({kPodA, kGpu}), nullptr);
  gpu.Draw(30, {Busy(7, 1, kPodA)});
  EXPECT_EQ(gpu.PodMj(kPodA, kExclusive), 130U);
}

TEST(Ledger, OpensAnAccountAtZeroForANewProcess) {
  OneGpu gpu;
  gpu.interval.residents = {Busy(7, 1, kPodA)};
  gpu.Read(std::nullopt);
  ASSERT_NE(gpu.ledger.Process({Key(7), kGpu}), nullptr);
  EXPECT_EQ(SumMj(*gpu.ledger.Process({Key(7), kGpu})), 0U);
  ASSERT_NE(gpu.ledger.Pod({kPodA, kGpu}), nullptr);
}

TEST(Ledger, StartsAgainWhenTheCounterRestarts) {
  const struct {
    const char* label;
    uint64_t counter_mj;
  } rows[] = {{"a driver was loaded again", 0},
              {"it fell a little", 999'999},
              {"a sentinel", kMost},
              {"more than any GPU draws", 1'000'000 + 250'000'000}};
  for (const auto& row : rows) {
    OneGpu gpu;
    gpu.interval.residents = {Busy(7, 1)};
    gpu.Read(row.counter_mj);
    EXPECT_EQ(gpu.device().TotalMj(), 0U) << row.label;
    EXPECT_EQ(gpu.device().restarts, 1U) << row.label;
    gpu.Read(2'000);
    gpu.Read(2'100);
    EXPECT_EQ(gpu.Mj(7, kExclusive), row.counter_mj <= 2'000 ? 2'100 - row.counter_mj : 100U)
        << row.label;
  }
}

TEST(Ledger, SharesTheEnergyOfFailedReadsAtTheNextReading) {
  OneGpu gpu;
  gpu.interval.residents = {Busy(7, 30)};
  gpu.Read(std::nullopt);
  gpu.interval.residents = {Busy(7, 10), Busy(8, 20), Outside(9, 40)};
  gpu.Read(std::nullopt);
  EXPECT_EQ(gpu.device().TotalMj(), 0U);
  gpu.interval.residents = {};
  gpu.Draw(1000);
  EXPECT_EQ(gpu.Mj(7, kSmShare), 400U);
  EXPECT_EQ(gpu.Mj(8, kSmShare), 200U);
  EXPECT_EQ(gpu.device().outside_kubernetes_mj, 400U);
  gpu.Draw(5);
  EXPECT_EQ(gpu.device().unattributed_mj, 5U);
}

TEST(Ledger, ForgetsProcessesWhoseRowsAreGone) {
  OneGpu gpu;
  gpu.interval.residents = {Busy(7, 30, kPodA)};
  gpu.Read(std::nullopt);
  gpu.ledger.Forget({Key(7), kGpu});
  gpu.Draw(1000, {});
  EXPECT_EQ(gpu.ledger.Process({Key(7), kGpu}), nullptr);
  EXPECT_EQ(gpu.PodMj(kPodA, kExclusive), 1000U);
}

TEST(Ledger, HandlesExtremeWeights) {
  OneGpu gpu;
  gpu.interval.residents = {Busy(7, kMost), Busy(8, kMost)};
  gpu.Read(std::nullopt);
  gpu.Draw(1001);
  EXPECT_EQ(gpu.Mj(7, kSmShare), 501U);
  EXPECT_EQ(gpu.Mj(8, kSmShare), 500U);
}

TEST(Ledger, HandlesAClockThatStopsOrGoesBack) {
  OneGpu gpu({.idle_power_mw = 1'000});
  gpu.interval.at -= seconds(500);
  gpu.Draw(100, {Busy(7, 1)});
  EXPECT_EQ(gpu.Mj(7, kExclusive), 100U);
}

TEST(Ledger, AllocatesNothingForKnownProcesses) {
  OneGpu gpu;
  for (uint32_t pid = 1; pid <= 1000; ++pid) {
    gpu.interval.residents.push_back(Busy(pid, pid, PodNumber{pid % 40}));
  }
  gpu.Draw(100);
  const Allocations before = AllocationsOfThisThread();
  for (int i = 0; i < 10; ++i) {
    gpu.Draw(700'000);
  }
  EXPECT_EQ((AllocationsOfThisThread() - before).count, 0U);
}

}  // namespace
}  // namespace podgpu
