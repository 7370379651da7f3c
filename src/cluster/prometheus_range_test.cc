#include "cluster/prometheus_range.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

constexpr TimeRange kFour{.begin_s = 1'000, .step_s = 300, .count = 4};

std::string MatrixJson(const std::string& series) {
  return R"({"status":"success","data":{"resultType":"matrix","result":[)" + series + "]}}";
}

TEST(PrometheusRange, HasAValueForEachStepThatIsAnswered) {
  const auto values = ReadPrometheusRange(
      MatrixJson(R"({"metric":{},"values":[[700,"9"],[1000,"12.5"],[1300.0,"0"],[1600,"NaN"],)"
                 R"([1700,"8"],["x","7"],[2200,"6"]]})"),
      kFour);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(*values, (std::vector<std::optional<double>>{12.5, 0, {}, {}}));
  EXPECT_EQ(ReadPrometheusRange(MatrixJson(""), kFour).value(),
            std::vector<std::optional<double>>(4));
}

TEST(PrometheusRange, IsRefusedWithOneLineIfItIsInvalid) {
  const std::string bodies[] = {
      "",
      "[]",
      "<html>",
      R"({"status":"error","data":{"resultType":"matrix","result":[]}})",
      R"({"status":"success","data":{"resultType":"vector","result":[]}})",
      R"({"status":"success","data":{"resultType":"matrix","result":{}}})",
      MatrixJson(R"({"metric":{}})"),
      MatrixJson(R"({"values":[7]})"),
      MatrixJson(R"({"values":[[1]]})"),
      MatrixJson(R"({"values":[]},{"values":[]})"),
  };
  for (const std::string& body : bodies) {
    const auto values = ReadPrometheusRange(body, kFour);
    ASSERT_EQ(values.status().code(), absl::StatusCode::kInvalidArgument) << body;
    EXPECT_NE(std::string(values.status().message()).find("Check that the address is a Prometheus"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace podgpu
