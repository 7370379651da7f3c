#include "health/lacked_metrics.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

std::shared_ptr<const std::vector<Counter>> List(const std::vector<std::string>& names) {
  std::string csv;
  for (const std::string& name : names) {
    csv += name + ", gauge, help\n";
  }
  return std::make_shared<const std::vector<Counter>>(ParseCounters(csv, "test.csv")->counters);
}

std::shared_ptr<const LackedFields> Lacking(const std::vector<uint16_t>& ids) {
  LackedFields lacked{.fields = {}, .why = "NVML has none"};
  for (const uint16_t id : ids) {
    lacked.fields.push_back(FindField(id));
  }
  return std::make_shared<const LackedFields>(std::move(lacked));
}

constexpr char kTemperatureName[] = "DCGM_FI_DEV_GPU_TEMP";
constexpr char kPowerName[] = "DCGM_FI_DEV_POWER_USAGE";

TEST(LackedMetrics, AreOneWarningThatNamesThem) {
  EXPECT_EQ(LackedWarnings(nullptr, *List({kTemperatureName})), std::vector<std::string>());
  EXPECT_EQ(LackedWarnings(Lacking({150}).get(), *List({kPowerName})), std::vector<std::string>())
      << "the list does not name it; a page may have asked for it";
  EXPECT_EQ(LackedWarnings(Lacking({150, 155}).get(), *List({kPowerName, kTemperatureName})),
            std::vector<std::string>{
                "GPUs of this node can never give 2 metrics of the list: DCGM_FI_DEV_POWER_USAGE, "
                "DCGM_FI_DEV_GPU_TEMP; NVML has none. Let DCGM read them (image podgpu-dcgm, or "
                "dcgm.library.image of the chart), or take them out of the list "
                "(--metrics-exclude)"});
}

TEST(LackedMetrics, AreAWarningOfTheConfigurationUntilTheListChanges) {
  LackedMetrics metrics;
  const auto notes = std::make_shared<const ConfigNotes>(ConfigNotes{"a.csv", 3, {"a.csv:1: x"}});
  const auto list = List({kTemperatureName, kPowerName});
  testing::internal::CaptureStderr();
  metrics.Take(Lacking({150}), list);
  metrics.Take(Lacking({150}), list);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(log, '\n'), 1) << log;
  const auto with = metrics.AddTo(notes);
  ASSERT_EQ(with->warnings.size(), 2U);
  EXPECT_EQ(metrics.AddTo(notes), with) << "the same object while nothing changes";
  metrics.Take(Lacking({150}), List({kPowerName}));
  EXPECT_EQ(metrics.AddTo(notes), notes);
}

}  // namespace
}  // namespace podgpu
