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

TEST(MetricPatterns, NeverAddTexts) {
  EXPECT_EQ(Select({}, {{"DCGM_FI_DEV_NAME"}, {}}).counters.size(), 0U);
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
