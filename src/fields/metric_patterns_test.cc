#include "fields/metric_patterns.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

std::vector<std::string> NamesAfter(const MetricPatterns& patterns,
                                    std::vector<std::string>* warnings = nullptr) {
  const Counters selected =
      Select(ParseCounters("DCGM_FI_DEV_GPU_TEMP, gauge, t\nDCGM_FI_DEV_SERIAL, label, s\n"
                           "dcgm_sm_clock, gauge, c\n",
                           "x.csv")
                 .value(),
             patterns);
  std::vector<std::string> names;
  for (const Counter& counter : selected.counters) {
    names.push_back(counter.name);
  }
  if (warnings != nullptr) {
    *warnings = selected.warnings;
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(MetricPatterns, WithoutPatternsTheListIsUnchanged) {
  EXPECT_EQ(NamesAfter({}), (Names{"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_SERIAL", "dcgm_sm_clock"}));
}

TEST(MetricPatterns, AddFieldsThatAreNotListed) {
  EXPECT_EQ(
      NamesAfter({{"DCGM_FI_DEV_*_CLOCK", "DCGM_FI_DEV_GPU_TEMP"}, {"*VIDEO*", "*MAX*", "*APP*"}}),
      (Names{"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_SERIAL", "dcgm_sm_clock",
             "DCGM_FI_DEV_MEM_CLOCK"}));
}

TEST(MetricPatterns, AnAddedFieldIsUntypedAndHasAHelpText) {
  const Counters selected = Select({}, {{"DCGM_FI_DEV_POWER_USAGE"}, {}});
  ASSERT_EQ(selected.counters.size(), 1U);
  EXPECT_EQ(selected.counters[0].name, "DCGM_FI_DEV_POWER_USAGE")
      << "the old name, not the one of newer headers";
  EXPECT_EQ(selected.counters[0].type, "untyped");
  EXPECT_EQ(selected.counters[0].help, "DCGM field 155 (W).");
}

TEST(MetricPatterns, RemoveLinesByEitherName) {
  EXPECT_EQ(NamesAfter({{}, {"DCGM_FI_DEV_SM_CLOCK", "*SERIAL"}}), (Names{"DCGM_FI_DEV_GPU_TEMP"}));
  EXPECT_EQ(NamesAfter({{}, {"dcgm_*"}}), (Names{"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_SERIAL"}));
}

TEST(MetricPatterns, AddAnotherNameOfAListedFieldOnlyIfItIsNamed) {
  EXPECT_EQ(NamesAfter({{"DCGM_FI_DEV_GPU_TEMP_CELSIUS"}, {"*SERIAL"}}),
            (Names{"DCGM_FI_DEV_GPU_TEMP", "dcgm_sm_clock", "DCGM_FI_DEV_GPU_TEMP_CELSIUS"}));
  EXPECT_EQ(NamesAfter({{"DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS"}, {"*SERIAL"}}),
            (Names{"DCGM_FI_DEV_GPU_TEMP", "dcgm_sm_clock", "DCGM_FI_DEV_BOARD_POWER_WATTS",
                   "DCGM_FI_DEV_POWER_USAGE"}));
  EXPECT_EQ(NamesAfter({{"DCGM_FI_DEV_GPU_TEMP_C*"}, {"*SERIAL"}}),
            (Names{"DCGM_FI_DEV_GPU_TEMP", "dcgm_sm_clock"}));
}

TEST(MetricPatterns, RemoveOneOfBothNames) {
  const Counters list = ParseCounters("DCGM_FI_DEV_GPU_TEMP, gauge, t\n", "c.csv").value();
  const auto left = [&](const std::string& excluded) {
    Names names;
    for (const Counter& counter : Select(list, {{}, {excluded}, true}).counters) {
      names.push_back(counter.name);
    }
    return names;
  };
  EXPECT_EQ(left("DCGM_FI_DEV_GPU_TEMP_CELSIUS"), Names{"DCGM_FI_DEV_GPU_TEMP"});
  EXPECT_EQ(left("DCGM_FI_DEV_GPU_TEMP"), Names{"DCGM_FI_DEV_GPU_TEMP_CELSIUS"});
}

TEST(MetricPatterns, GiveTheOtherNameTheTypeOfTheRelease) {
  const Counters list =
      ParseCounters("DCGM_FI_DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND, gauge, n\n", "c.csv").value();
  for (const char* type : {"counter", "gauge"}) {
    const Counters both = Select(list, {{}, {}, true, {.nvlink_bandwidth_type = type}});
    ASSERT_EQ(both.counters.size(), 2U);
    EXPECT_EQ(both.counters[1].name, "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL");
    EXPECT_EQ(both.counters[1].type, type);
  }
}

TEST(MetricPatterns, NeverAddTexts) {
  EXPECT_EQ(Select({}, {{"DCGM_FI_DEV_NAME"}, {}}).counters.size(), 0U);
}

TEST(MetricPatterns, ShowRenamedMetricsUnderBothNames) {
  const Counters list = ParseCounters(
                            "DCGM_FI_DEV_SM_CLOCK, gauge, old\n"
                            "DCGM_FI_DEV_FB_USED_BYTES, gauge, new\n"
                            "DCGM_FI_DEV_GPU_TEMP, gauge, t\n"
                            "DCGM_FI_DEV_GPU_TEMP_CELSIUS, gauge, both are listed\n"
                            "DCGM_FI_DRIVER_VERSION, label, d\n"
                            "DCGM_FI_DEV_SERIAL, label, not renamed\n",
                            "c.csv")
                            .value();
  const Counters both = Select(list, {{}, {"*FB_USED"}, true});
  Names names;
  for (const Counter& counter : both.counters) {
    names.push_back(counter.name + " " + std::to_string(counter.field->id) + " " + counter.type);
  }
  EXPECT_EQ(
      names,
      (Names{"DCGM_FI_DEV_SM_CLOCK 100 gauge", "DCGM_FI_DEV_FB_USED_BYTES 1627 gauge",
             "DCGM_FI_DEV_GPU_TEMP 150 gauge", "DCGM_FI_DEV_GPU_TEMP_CELSIUS 150 gauge",
             "DCGM_FI_DRIVER_VERSION 1 label", "DCGM_FI_DEV_SERIAL 53 label",
             "DCGM_FI_DEV_SM_CLOCK_HERTZ 1603 gauge", "DCGM_FI_SYSTEM_DRIVER_VERSION 1 label"}))
      << "and an excluded name stays away";
}

TEST(MetricPatterns, CauseAWarningWhenTheyMatchNothing) {
  std::vector<std::string> warnings;
  NamesAfter({{"DCGM_FI_NO_*"}, {"ours_*"}}, &warnings);
  EXPECT_EQ(warnings,
            (Names{"--metrics-include: \"DCGM_FI_NO_*\" matches nothing. Correct it, or remove it",
                   "--metrics-exclude: \"ours_*\" matches nothing. Correct it, or remove it"}));
}

}  // namespace
}  // namespace podgpu
