// What `podgpu help metrics` says about families and fields.
#include "cli/metric_help.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace podgpu {
namespace {

TEST(MetricHelp, DescribesAFamilyWithTheFieldThatFeedsIt) {
  EXPECT_EQ(MetricHelp("podgpu_gpu_power_watts").value(),
            "podgpu_gpu_power_watts: gauge, in watts\n"
            "  Power that the board draws.\n"
            "  shown by: view native\n"
            "  from: DCGM field 155 (DCGM_FI_DEV_BOARD_POWER_WATTS); with --source=nvml: driver\n");
}

TEST(MetricHelp, DescribesADcgmFieldByAnyOfItsNames) {
  const std::string text = MetricHelp("DCGM_FI_DEV_POWER_USAGE").value();
  EXPECT_TRUE(text.starts_with("DCGM_FI_DEV_BOARD_POWER_WATTS: in W\n")) << "its newest name";
  EXPECT_NE(text.find("  Board power draw (in W).\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  earlier name: DCGM_FI_DEV_POWER_USAGE\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  in base units: podgpu_gpu_power_watts\n"), std::string::npos) << text;
  EXPECT_EQ(MetricHelp("dcgm_power_usage").value(), text) << "a name of the 1.x exporters";
}

TEST(MetricHelp, HasATextForEachNameItLists) {
  const std::string names = MetricHelp("").value();
  size_t count = 0;
  for (const std::string_view name : Split(names, '\n')) {
    if (!name.empty() && !name.starts_with("and ")) {
      ++count;
      EXPECT_TRUE(MetricHelp(name).value_or("").starts_with(std::string(name) + ": ")) << name;
    }
  }
  EXPECT_GT(count, 100U);
}

TEST(MetricHelp, NamesTheNearestMetric) {
  EXPECT_EQ(MetricHelp("podgpu_gpu_power_wats").status().message(),
            "help metrics: there is no metric \"podgpu_gpu_power_wats\"; nearest is "
            "podgpu_gpu_power_watts. podgpu help metrics lists the names");
}

}  // namespace
}  // namespace podgpu
