#include "sim/world/world.h"

#include <array>
#include <string>

#include "gtest/gtest.h"

#include "sim/testing/world.h"

namespace podgpu::sim {
namespace {

constexpr int64_t kNjPerJ = 1'000'000'000;
constexpr DeviceRef kGpu0{.gpu = 0};

int64_t EnergyNj(const World& world, TimeUs t) {
  return static_cast<int64_t>(world.Integrate(Integral::kEnergyNj, kGpu0, t));
}

TEST(WorkedExample, EnergyIsExactToTheNanojoule) {
  const TestWorld world(ShippedScenario("worked-example"));
  struct Row {
    const char* label;
    TimeUs at_us;
    int64_t energy_nj;
  };
  constexpr std::array<Row, 8> kRows = {{{"start", 0, 0},
                                         {"busy phase of A", 4 * kSecondUs, 1'828 * kNjPerJ},
                                         {"one cycle of era 0", 6 * kSecondUs, 1'968 * kNjPerJ},
                                         {"end of era 0", 10 * kSecondUs, 3'796 * kNjPerJ},
                                         {"within era 1", 12'345'678, 4'459'900'614'000},
                                         {"one cycle of era 1", 16 * kSecondUs, 6'700 * kNjPerJ},
                                         {"end of era 1", 50 * kSecondUs, 22'898 * kNjPerJ},
                                         {"one minute", 60 * kSecondUs, 25'920 * kNjPerJ}}};
  for (const Row& row : kRows) {
    EXPECT_EQ(EnergyNj(*world, row.at_us), row.energy_nj) << row.label;
  }
}

TEST(WorkedExample, EnergyIsTheSumOfItsParts) {
  const TestWorld world(ShippedScenario("worked-example"));
  constexpr TimeUs kAt = 12'345'678;
  EXPECT_EQ(static_cast<int64_t>(world->ProcessEnergyNj(4101, kAt)), 3'229'777'386'000);
  EXPECT_EQ(static_cast<int64_t>(world->ProcessEnergyNj(4102, kAt)), 365'925'768'000);
  EXPECT_EQ(static_cast<int64_t>(world->IdleEnergyNj(0, kAt)), 864'197'460'000);
  EXPECT_EQ(static_cast<int64_t>(world->NoiseEnergyNj(0, kAt)), 0);
}

TEST(WorkedExample, SensorsHaveTheValuesOfTheTable) {
  const TestWorld world(ShippedScenario("worked-example"));
  constexpr TimeUs kAt = 12'345'678;
  EXPECT_EQ(world->EnergyCounterMj(0, kAt) - world->EnergyCounterMj(0, 0), 4'431'900);
  EXPECT_EQ(world->EnergyCounterTime(0, kAt), 12'300'000);
  EXPECT_EQ(world->PowerAverageMw(0, kAt), 342'100);
  EXPECT_EQ(world->PowerInstantMw(0, kAt), 613'000);
}

TEST(WorkedExample, SharingByActivityDiffersFromTheTruth) {
  const TestWorld world(ShippedScenario("worked-example"));
  constexpr TimeUs kFrom = 12 * kSecondUs;
  constexpr TimeUs kTo = 12'300'000;
  const auto joules_tenths = [](Int128 nj) { return static_cast<int64_t>(nj / (kNjPerJ / 10)); };
  EXPECT_EQ(joules_tenths(world->IntegrateOver(Integral::kEnergyNj, kGpu0, kFrom, kTo)), 1'839);
  const auto of = [&](Integral what, int pid) {
    return world->IntegrateProcess(what, pid, kTo) - world->IntegrateProcess(what, pid, kFrom);
  };
  EXPECT_EQ(of(Integral::kSmPpmUs, 4101), 2 * of(Integral::kSmPpmUs, 4102));
  EXPECT_EQ(joules_tenths(of(Integral::kEnergyNj, 4101)), 1'161);
  EXPECT_EQ(joules_tenths(of(Integral::kEnergyNj, 4102)), 468);
  EXPECT_EQ(joules_tenths(world->IdleEnergyNj(0, kTo) - world->IdleEnergyNj(0, kFrom)), 210);
}

TEST(WorkedExample, TemperatureFollowsWithItsLag) {
  // One process that repeats without end: 457 W for 4 s, 70 W for 2 s.
  std::string text = ShippedScenario("worked-example");
  text.resize(text.find("  - name: b\n"));
  const TestWorld world(text);
  EXPECT_NEAR(world->TemperatureExactC(0, 0), 35.25, 0.005);
  EXPECT_NEAR(world->TemperatureExactC(0, 4 * kSecondUs), 40.51, 0.005);
  EXPECT_NEAR(world->TemperatureExactC(0, 6 * kSecondUs), 40.01, 0.005);
  EXPECT_NEAR(world->TemperatureExactC(0, 6'000 * kSecondUs), 53.62, 0.005);
}

}  // namespace
}  // namespace podgpu::sim
