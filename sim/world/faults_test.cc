// The faults of a world: when they are in force, and what they do to its physics.
#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "sim/testing/world.h"

namespace podgpu::sim {
namespace {

constexpr TimeUs kNever = std::numeric_limits<TimeUs>::max();
constexpr std::string_view kHead =
    "format: 1\nname: case\nnoise_mw: 0\nrefresh_phase: 0s\n"
    "gpus: [{count: 2, class: h100-sxm5-80gb}]\n"
    "orphans: [{pid: 7, gpu: 0, load: {sm: 50%}, k_w: 600}]\n";

TestWorld With(std::string_view faults, std::string_view control = "") {
  return TestWorld(std::string(kHead) + "faults:\n" + std::string(faults), control);
}

TEST(WorldFaults, AreInForceFromBeginToEnd) {
  const TestWorld world = With(
      "  - {at: 20s, kind: hang, calls: [\"dcgmGet*\", dcgmInit], gpu: 1, for: 5s}\n"
      "  - {at: 10s, kind: nodata, fields: [150, DCGM_FI_DEV_POWER_USAGE]}\n");
  ASSERT_EQ(world->faults().size(), 2U);
  EXPECT_EQ(world->faults()[0].kind, FaultKind::kNodata) << "faults are sorted by start";
  EXPECT_EQ(world->FaultAt(FaultKind::kHang, 20 * kSecondUs - 1), nullptr);
  const Fault* const hang = world->FaultAt(FaultKind::kHang, 20 * kSecondUs);
  ASSERT_NE(hang, nullptr);
  EXPECT_EQ(hang->at, 20 * kSecondUs);
  EXPECT_EQ(hang->until, 25 * kSecondUs);
  EXPECT_TRUE(hang->OnCall("dcgmGetGpuStatus"));
  EXPECT_TRUE(hang->OnCall("dcgmInit"));
  EXPECT_FALSE(hang->OnCall("dcgmInit2"));
  EXPECT_EQ(world->FaultAt(FaultKind::kHang, 0, 21 * kSecondUs), nullptr);
  EXPECT_EQ(world->FaultAt(FaultKind::kHang, 1, 21 * kSecondUs), hang);
  EXPECT_EQ(world->FaultAt(FaultKind::kHang, 25 * kSecondUs), nullptr);
  const Fault* const nodata = world->FaultAt(FaultKind::kNodata, 0, 30 * kSecondUs);
  ASSERT_NE(nodata, nullptr);
  EXPECT_EQ(nodata->until, kNever);
  EXPECT_TRUE(nodata->OnField(155));
  EXPECT_FALSE(nodata->OnField(156));
  EXPECT_TRUE(nodata->Concerns(1)) << "the fault concerns every GPU";
  EXPECT_EQ(world->fault_kinds(), FaultBit(FaultKind::kHang) | FaultBit(FaultKind::kNodata));
}

TEST(WorldFaults, ReturnTheNextBeginOrEnd) {
  const TestWorld world = With(
      "  - {at: 10s, kind: kubelet_down, for: 5s}\n"
      "  - {at: 12s, kind: engine_kill, restart_after: 8s}\n");
  std::vector<TimeUs> changes;
  for (TimeUs t = world->NextFaultChange(0); t != kNever; t = world->NextFaultChange(t)) {
    changes.push_back(t / kSecondUs);
  }
  EXPECT_EQ(changes, (std::vector<TimeUs>{10, 12, 15, 20}));
}

TEST(WorldFaults, KeepTheirNumbersAndDefaults) {
  const TestWorld world = With(
      "  - {at: 1s, kind: gpu_lost, gpu: 1}\n"
      "  - {at: 2s, kind: clock_jump, s: -3600}\n"
      "  - {at: 3s, kind: kubelet_huge, for: 1s}\n"
      "  - {at: 4s, kind: thermal, gpu: 0, ambient_c: 45.5}\n"
      "  - {at: 5s, kind: error, calls: dcgmInit, code: -21}\n"
      "  - {at: 6s, kind: kubelet_slow, ms: 250, for: 1s}\n");
  const auto of = [&](FaultKind kind, FaultNumber number) {
    return std::ranges::find(world->faults(), kind, &Fault::kind)->Get(number);
  };
  EXPECT_EQ(of(FaultKind::kGpuLost, FaultNumber::kXid), 79);
  EXPECT_EQ(of(FaultKind::kClockJump, FaultNumber::kSeconds), -3'600);
  EXPECT_EQ(of(FaultKind::kKubeletHuge, FaultNumber::kSizeBytes), 16 << 20);
  EXPECT_EQ(of(FaultKind::kThermal, FaultNumber::kAmbientMillic), 45'500);
  EXPECT_FALSE(world->FaultAt(FaultKind::kThermal, 6 * kSecondUs)->Has(FaultNumber::kRampUs));
  EXPECT_EQ(of(FaultKind::kError, FaultNumber::kCode), -21);
  EXPECT_EQ(of(FaultKind::kError, FaultNumber::kTarget), static_cast<int>(ErrorTarget::kCall));
  EXPECT_EQ(of(FaultKind::kKubeletSlow, FaultNumber::kMs), 250);
}

TEST(WorldFaults, EndWhenTheControlLogHealsThem) {
  const TestWorld world = With("  - {at: 1s, kind: gpu_lost, gpu: 0}\n",
                               "- {at: 2s, kind: gpu_lost, gpu: 1}\n"
                               "- {at: 3s, kind: watch_stale}\n"
                               "- {at: 4s, kind: heal, of: gpu_lost}\n"
                               "- {at: 5s, kind: gpu_lost, gpu: 1, for: 100s}\n"
                               "- {at: 9s, kind: heal}\n");
  EXPECT_EQ(world->FaultAt(FaultKind::kGpuLost, 1, 3 * kSecondUs)->until, 4 * kSecondUs);
  EXPECT_EQ(world->FaultAt(FaultKind::kGpuLost, 1, 5 * kSecondUs)->until, 9 * kSecondUs);
  EXPECT_EQ(world->FaultAt(FaultKind::kWatchStale, 5 * kSecondUs)->until, 9 * kSecondUs);
  EXPECT_EQ(world->FaultAt(FaultKind::kGpuLost, 0, 10 * kSecondUs)->until, kNever)
      << "the fault of the scenario itself";
}

TEST(WorldFaults, ThrottlingLowersClockAndPowerAndIsCounted) {
  struct Case {
    const char* why;
    uint64_t reason;
    int64_t power_ns, thermal_ns;  // In a second.
  };
  for (const Case& c : {Case{"power", 0x4, 400'000'000, 0}, Case{"thermal", 0x20, 0, 400'000'000},
                        Case{"hw", 0x8, 0, 0}, Case{"brake", 0x80, 0, 0}}) {
    const TestWorld world =
        With("  - {at: 10s, kind: throttle, gpu: 0, why: " + std::string(c.why) +
             ", factor: 0.6, for: 10s}\n");
    const auto over = [&](Integral what) {
      return static_cast<int64_t>(
          world->IntegrateOver(what, {.gpu = 0}, 12 * kSecondUs, 13 * kSecondUs));
    };
    EXPECT_EQ(world->ClockEventReasons(0, 9 * kSecondUs), 0U) << c.why;
    EXPECT_EQ(world->ClockEventReasons(0, 12 * kSecondUs), c.reason) << c.why;
    EXPECT_EQ(world->ClockEventReasons(0, 20 * kSecondUs), 0U) << c.why;
    EXPECT_EQ(world->SmClockMhz(0, 12 * kSecondUs),
              world->gpu(0).max_sm_clock_mhz * 6 / 10 / 15 * 15);
    EXPECT_EQ(world->PowerAverageMw(0, 10 * kSecondUs), 70'000 + 300'000);
    EXPECT_EQ(world->PowerAverageMw(0, 12 * kSecondUs), 70'000 + 300'000 * 216 / 1'000);
    EXPECT_EQ(over(Integral::kPowerViolationNs), c.power_ns) << c.why;
    EXPECT_EQ(over(Integral::kThermalViolationNs), c.thermal_ns) << c.why;
  }
}

TEST(WorldFaults, WarmAirHeatsTheBoardGradually) {
  const TestWorld world =
      With("  - {at: 100s, kind: thermal, gpu: 1, ambient_c: 60, ramp: 10s, for: 200s}\n");
  const double before = world->TemperatureExactC(1, 100 * kSecondUs);
  EXPECT_NEAR(before, 30 + 0.075 * 70, 1e-9);
  EXPECT_NEAR(world->TemperatureExactC(1, 100 * kSecondUs + 1), before, 1e-5) << "no jump";
  EXPECT_GT(world->TemperatureExactC(1, 105 * kSecondUs), before + 1);
  EXPECT_NEAR(world->TemperatureExactC(1, 300 * kSecondUs), before + 30, 0.01);
  EXPECT_NEAR(world->TemperatureExactC(1, 600 * kSecondUs), before, 0.01);
  EXPECT_NEAR(world->TemperatureExactC(0, 300 * kSecondUs), 30 + 0.075 * 370, 0.01);
}

TEST(WorldFaults, TheEnergyCounterRestartsWithTheDriver) {
  const TestWorld world = With("  - {at: 10s, kind: driver_reload, for: 10s}\n");
  EXPECT_GT(world->EnergyCounterMj(1, 10 * kSecondUs), 1'000'000'000'000);
  EXPECT_EQ(world->EnergyCounterMj(1, 20 * kSecondUs), 0);
  EXPECT_EQ(world->EnergyCounterMj(1, 30 * kSecondUs), 70'000 * 10);
  EXPECT_EQ(world->Integrate(Integral::kEnergyNj, {.gpu = 1}, 30 * kSecondUs),
            Int128{70'000'000'000} * 30)
      << "the true energy does not restart";
  EXPECT_EQ(world->PowerAverageMw(1, 20 * kSecondUs), 70'000);
}

TEST(WorldFaults, OfTheShippedScenariosBeginAndEnd) {
  int count = 0;
  const std::string folder = "sim/scenarios";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    const TestWorld world(ShippedScenario(name));
    if (!name.starts_with("fault-")) {
      continue;
    }
    ++count;
    EXPECT_FALSE(world->faults().empty()) << name;
    for (const Fault& fault : world->faults()) {
      EXPECT_LT(fault.until, 300 * kSecondUs) << name;
    }
  }
  EXPECT_EQ(count, 12);
}

TEST(WorldFaults, MigModeCanHaveNoInstances) {
  const TestWorld world = With(
      "  - {at: 10s, kind: mig_mode, gpu: 1, mode: enabled}\n"
      "  - {at: 20s, kind: mig_mode, gpu: 1, mode: disabled}\n");
  EXPECT_FALSE(world->mig_enabled(1, 9 * kSecondUs));
  EXPECT_TRUE(world->mig_enabled(1, 10 * kSecondUs));
  EXPECT_EQ(world->instance_count(1, 10 * kSecondUs), 0);
  EXPECT_FALSE(world->mig_enabled(1, 20 * kSecondUs));
}

TEST(Globs, MatchWholeNames) {
  struct Case {
    const char *pattern, *text;
    bool matches;
  };
  for (const Case& c : {Case{"", "", true},
                        {"", "a", false},
                        {"*", "", true},
                        {"*", "dcgmInit", true},
                        {"dcgm*", "dcgmInit", true},
                        {"dcgm*", "nvmlInit", false},
                        {"*Get*Values", "dcgmEntitiesGetLatestValues", true},
                        {"*Get*Value", "dcgmEntitiesGetLatestValues", false},
                        {"dcgmConnect_v?", "dcgmConnect_v2", true},
                        {"dcgmConnect_v?", "dcgmConnect_v", false},
                        {"a*b*c", "a-b-b-c", true},
                        {"a*b*c", "a-c-b", false}}) {
    EXPECT_EQ(GlobMatches(c.pattern, c.text), c.matches) << c.pattern << " on " << c.text;
  }
}

}  // namespace
}  // namespace podgpu::sim
