#include "metrics_api/values/window_tables.h"

#include <gtest/gtest.h>

#include "metrics_api/testing/window_reports.h"
#include "metrics_api/values/metric_question.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int64_t kFirstStep = 1'700'000'000'000;

WallTime At(int64_t after_ms) { return WallTime(milliseconds(kFirstStep + after_ms)); }

class WindowTablesTest : public testing::Test {
 protected:
  // From now on the node's newest report has this reading.
  void Read(double copies, int64_t after_ms) {
    ReportedGpu gpu = TestGpu("GPU-1", {"ml/llm-1"});
    SetUse(gpu.use, UseMeasure::kMemoryCopy, copies);
    node_ = TestNode("n1", {gpu}, kFirstStep + after_ms);
  }
  WindowTables::Nodes Nodes() {
    return [this] {
      ++taken_;
      return WindowFleet{{node_}, {}};
    };
  }
  double Mean(const std::shared_ptr<const MetricsTable>& table) const {
    const StatusOr<InUseMean> mean = AskInUse(*table, {});
    return mean.ok() ? mean->percent.value : -1;
  }

  WindowNode node_ = TestNode("n1", {}, kFirstStep);
  int taken_ = 0;
};

TEST_F(WindowTablesTest, KeepsSamplesFromTheFirstQuestionOn) {
  WindowTables tables(TestWindowOptions(), false);
  Read(20, 1'000);
  tables.Feed(Nodes(), At(1'100), nullptr);
  EXPECT_EQ(taken_, 0) << "before any question";
  EXPECT_NEAR(Mean(*tables.Of(minutes(1), Nodes(), At(1'200))), 20, 1e-4)
      << "the newest sample, in the middle of a step";
  Read(40, 16'000);
  tables.Feed(Nodes(), At(16'100), nullptr);
  EXPECT_NEAR(Mean(*tables.Of(minutes(1), Nodes(), At(16'200))), 30, 1e-4);
  EXPECT_NEAR(Mean(*tables.Of(seconds(10), Nodes(), At(16'300))), 40, 1e-4);
  EXPECT_EQ(tables.newest().Get(), nullptr);
  EXPECT_EQ(tables.points(), 2U);
}

TEST_F(WindowTablesTest, ForgetsThemAnHourAfterTheLastQuestion) {
  WindowTables tables(TestWindowOptions(), false);
  Read(20, 0);
  ASSERT_TRUE(tables.Of(minutes(1), Nodes(), At(0)).ok());
  tables.Feed(Nodes(), At(3'599'000), nullptr);
  EXPECT_EQ(taken_, 2);
  tables.Feed(Nodes(), At(3'600'000), nullptr);
  tables.Feed(Nodes(), At(3'601'000), nullptr);
  EXPECT_EQ(taken_, 2);
  EXPECT_EQ(tables.points(), 0U);
  EXPECT_EQ(tables.bytes(), 0U);
  Read(60, 3'602'000);
  EXPECT_NEAR(Mean(*tables.Of(minutes(1), Nodes(), At(3'602'000))), 60, 1e-4);
}

TEST_F(WindowTablesTest, MakesATableForEachLengthOnceInAStep) {
  WindowTables tables(TestWindowOptions(), false);
  Read(20, 0);
  const auto first = tables.Of(minutes(1), Nodes(), At(10'000)).value();
  EXPECT_EQ(tables.Of(minutes(1), Nodes(), At(14'999)).value(), first);
  EXPECT_NE(tables.Of(minutes(1), Nodes(), At(15'000)).value(), first);
  EXPECT_NE(tables.Of(minutes(1), Nodes(), At(9'999)).value(), first) << "the clock was set back";
  for (const int length : {10, 15, 20}) {
    EXPECT_TRUE(tables.Of(seconds(length), Nodes(), At(16'000)).ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(tables.Of(seconds(25), Nodes(), At(16'000)).status()));
  EXPECT_TRUE(tables.Of(seconds(10), Nodes(), At(70'000)).ok());
  EXPECT_TRUE(tables.Of(seconds(25), Nodes(), At(76'000)).ok()) << "15s was not asked for lately";
}

TEST_F(WindowTablesTest, PublishesATableAtEachWholeStepForTheMetricsApi) {
  WindowTables tables(TestWindowOptions(), true);
  Read(20, 1'000);
  tables.Feed(Nodes(), At(4'000), nullptr);
  const auto first = tables.newest().Get();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->end_ms, kFirstStep);
  EXPECT_EQ(Mean(first), -1) << "its first sample belongs to the next step";
  tables.Feed(Nodes(), At(4'900), nullptr);
  EXPECT_EQ(tables.newest().Get(), first);
  tables.Feed(Nodes(), At(5'100), nullptr);
  EXPECT_NEAR(Mean(tables.newest().Get()), 20, 1e-4);
  EXPECT_NEAR(Mean(*tables.Of(seconds(10), Nodes(), At(5'200))), 20, 1e-4) << "the same samples";
  EXPECT_EQ(taken_, 3);
}

TEST_F(WindowTablesTest, TwoReplicasThatReadAtOtherTimesPublishTheSame) {
  WindowTables one(TestWindowOptions(), true);
  WindowTables other(TestWindowOptions(), true);
  Read(10, 500);
  other.Feed(Nodes(), At(600), nullptr);
  Read(80, 1'000);
  one.Feed(Nodes(), At(4'100), nullptr);
  other.Feed(Nodes(), At(4'900), nullptr);
  Read(50, 5'500);
  one.Feed(Nodes(), At(5'600), nullptr);
  other.Feed(Nodes(), At(9'900), nullptr);
  EXPECT_NEAR(Mean(one.newest().Get()), 80, 1e-4) << "of two samples in a step the newest counts";
  EXPECT_NEAR(Mean(other.newest().Get()), 80, 1e-4);
}

}  // namespace
}  // namespace podgpu
