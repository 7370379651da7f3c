#include "metrics_api/values/metric_names.h"

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(MetricNames, AreInTheOrderOfTheirEnumerationsAndInTheDocument) {
  std::ifstream file("docs/metrics-api.md");
  const std::string document(std::istreambuf_iterator<char>(file), {});
  const auto check = [&](const auto& rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(static_cast<size_t>(rows[i].metric), i);
      EXPECT_NE(document.find("| `" + std::string(rows[i].name) + "` |"), std::string::npos)
          << rows[i].name;
    }
  };
  check(ExternalMetrics());
  check(PodMetrics());
  EXPECT_EQ(FindExternalMetric("gpu_free"), ExternalMetric::kFreeGpus);
  EXPECT_EQ(FindPodMetric("gpu_free"), std::nullopt);
}

}  // namespace
}  // namespace podgpu
