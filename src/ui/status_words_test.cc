#include "ui/status_words.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

StatusUse UseOf(std::optional<double> energy_joules, bool is_apportioned, std::string method = {}) {
  return {std::nullopt,  std::nullopt,   std::nullopt,
          energy_joules, is_apportioned, std::move(method)};
}

TEST(StatusWords, HaveUnitsAndADashForWhatIsAbsent) {
  EXPECT_EQ(PercentWords(0.955), "96 %");
  EXPECT_EQ(PercentWords(0.125), "13 %") << "halves are rounded up";
  EXPECT_EQ(PercentWords(std::nullopt), "-");
  EXPECT_EQ(MemoryWords(1'610'612'736, std::nullopt), "1.5 GiB");
  EXPECT_EQ(MemoryWords(1'610'612'736, 5'368'709'120), "1.5 of 5.0 GiB");
  EXPECT_EQ(MemoryWords(std::nullopt, 5'368'709'120), "-");
  EXPECT_EQ(PowerWords(651.5, 700), "652 of 700 W");
  EXPECT_EQ(PowerWords(std::nullopt, 700), "-");
  EXPECT_EQ(TemperatureWords(std::nullopt), "-");
  EXPECT_EQ(EnergyWords(UseOf(3'600'000 * 7.04, false)), "7.0 kWh");
  EXPECT_EQ(EnergyWords(UseOf(1'512, true)), "~0.4 Wh");
  EXPECT_EQ(EnergyWords(UseOf(3'600 * 270.4, false)), "270 Wh");
  EXPECT_EQ(EnergyWords(UseOf(std::nullopt, true)), "-");
  EXPECT_EQ(PowerWords(UseOf(std::nullopt, true)), "-");
}

TEST(StatusWords, SayHowLong) {
  constexpr int64_t kSecond = 1'000;
  EXPECT_EQ(SpanWords(41 * kSecond), "41s");
  EXPECT_EQ(SpanWords(59 * 60 * kSecond), "59m");
  EXPECT_EQ(SpanWords((2 * 60 + 4) * 60 * kSecond), "2h04m");
  EXPECT_EQ(SpanWords(49 * 3'600 * kSecond), "2d1h");
  EXPECT_EQ(SpanWords(-5), "0s");
  EXPECT_EQ(IdleWords(0, true, 14 * 60 * kSecond), "idle >14m");
  EXPECT_EQ(IdleWords(std::nullopt, true, 0), "");
}

TEST(StatusWords, Statement37SayHowEnergyWasFound) {
  EXPECT_EQ(MethodWords(UseOf(1, false, "exclusive")), "measured");
  EXPECT_EQ(MethodWords(UseOf(1, true, "equal")), "apportioned in equal parts");
  EXPECT_EQ(MethodWords(UseOf(1, true)), "apportioned");
  EXPECT_EQ(MethodWords(UseOf(1, false, "other")), "other");
}

TEST(StatusWords, ReferToTheFaultThatSaysTheSame) {
  NodeStatus status;
  status.verdict = "not ready: libdcgm is in none of 6 paths; next look in 10 s";
  status.parts = {{"driver", "waiting", "libdcgm is in none of 6 paths"}};
  const StatusMissing missing{"power of pods", "0", "driver: libdcgm is in none of 6 paths", ""};
  EXPECT_EQ(VerdictWords(&status), status.verdict);
  EXPECT_EQ(DetailWords(status, status.parts[0]), status.parts[0].detail);
  EXPECT_EQ(ReasonWords(status, missing), missing.reason);
  status.faults = {{"waiting", std::nullopt, "driver: libdcgm is in none of 6 paths", "", ""}};
  EXPECT_EQ(VerdictWords(&status), "not ready");
  EXPECT_EQ(DetailWords(status, status.parts[0]), "the fault above says why");
  EXPECT_EQ(ReasonWords(status, missing), "the fault above says why");
}

TEST(StatusWords, MakeSentencesOfFaultsAndRemedies) {
  EXPECT_EQ(SentenceWords("reboot the node"), "Reboot the node.");
  EXPECT_EQ(SentenceWords("GPU 3 is lost."), "GPU 3 is lost.");
  EXPECT_EQ(SentenceWords(""), "");
}

TEST(StatusWords, PlotsHaveGapsAndEndInABarWhereSamplesEnd) {
  EXPECT_EQ(PlotPath({0, 100}, 1'000), "M298 100L299 0");
  EXPECT_EQ(PlotPath({5, 5, 5, 5}, 1'000), "M296 95L299 95") << "a level line has two points";
  EXPECT_EQ(PlotPath({5, -1, 7, 8}, 1'000), "M296 95h1M298 93L299 92");
  EXPECT_EQ(PlotPath({5, 6, -1, -1}, 1'000), "M296 95L297 94M298 0V100");
  EXPECT_EQ(PlotPath({-1, -1}, 1'000), "");
  EXPECT_EQ(PlotPath(std::vector<int8_t>(400, 50), 1'000), "M0 50L299 50");
  EXPECT_EQ(PlotPath(std::vector<int8_t>(10, 50), 30'000), "M0 50L270 50") << "five minutes";
  EXPECT_EQ(PlotPath({1, 2, 3}, 1'500), "M295.5 99L297 98L298.5 97");
  EXPECT_EQ(PlotWords("Power", {-1, 3, 9}, 60'000), "Power, 3 minutes: 3 to 9, now 9 percent");
  EXPECT_EQ(PlotWords("Power", {3, -1}, 1'000), "Power, 1 minute: 3 to 3, now no sample");
  EXPECT_EQ(PlotWords("Power", {-1}, 1'000), "Power: no samples");
}

TEST(StatusWords, OfAnExporterLeaveOutWhatIsNotKnown) {
  EXPECT_EQ(SelfWords({std::nullopt, std::nullopt, 3'214'000, std::nullopt}), "3,214,000 series");
  EXPECT_EQ(SelfWords({1'048'576, 0.0012, 12, 0.0034}),
            "1.0 MiB, 0.12 % of a core, 12 series, slowest scrape 3.4 ms");
}

}  // namespace
}  // namespace podgpu
