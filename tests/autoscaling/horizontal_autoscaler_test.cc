// The numbers of the published examples, and the cases of the description.
#include "tests/autoscaling/horizontal_autoscaler.h"

#include <vector>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr seconds kSync{15};

AutoscalerOptions Target(double target, int most = 10) {
  AutoscalerOptions options;
  options.target = target;
  options.most = most;
  return options;
}

TEST(HorizontalAutoscaler, ScalesByTheQuotientOfValueAndTarget) {
  struct Row {
    const char* what;
    int replicas;
    double value, target;
    int expected;
  };
  const Row rows[] = {
      {"twice the target", 2, 200, 100, 4},
      {"half of the target waits for the window", 4, 50, 100, 4},
      {"a fraction is rounded up", 3, 120, 100, 4},
      {"9.9 % above is tolerated", 5, 109.9, 100, 5},
      {"10 % above is not", 5, 110, 100, 6},
      {"9.9 % below is tolerated", 5, 90.1, 100, 5},
      {"more than the most", 8, 200, 100, 10},
      {"4 pods more at once", 1, 1'000, 100, 5},
      {"or twice as many", 6, 1'000, 100, 10},
      {"zero waits for the window", 3, 0, 60, 3},
  };
  for (const Row& row : rows) {
    HorizontalAutoscaler autoscaler(Target(row.target), row.replicas);
    EXPECT_EQ(autoscaler.Sync(seconds(0), row.value), row.expected) << row.what;
  }
}

TEST(HorizontalAutoscaler, ScalesDownWhenTheWholeWindowRecommendsIt) {
  HorizontalAutoscaler autoscaler(Target(60), 6);
  seconds now{0};
  EXPECT_EQ(autoscaler.Sync(now, 60), 6);
  for (; now < seconds(285); now += kSync) {
    EXPECT_EQ(autoscaler.Sync(now + kSync, 20), 6) << now.count();
  }
  EXPECT_EQ(autoscaler.Sync(now + kSync, 20), 2) << "the last higher one is 300 s old";
}

TEST(HorizontalAutoscaler, ScalesDownToTheHighestRecommendationOfTheWindow) {
  HorizontalAutoscaler autoscaler(Target(60), 6);
  autoscaler.Sync(seconds(0), 60);
  autoscaler.Sync(seconds(15), 40);  // Recommends 4.
  for (seconds now{30}; now < seconds(300); now += kSync) {
    autoscaler.Sync(now, 10);  // Recommends 1.
  }
  EXPECT_EQ(autoscaler.Sync(seconds(300), 10), 4);
}

TEST(HorizontalAutoscaler, ScalesUpAtOnceAlsoWithinTheWindow) {
  HorizontalAutoscaler autoscaler(Target(60), 4);
  autoscaler.Sync(seconds(0), 20);
  EXPECT_EQ(autoscaler.Sync(seconds(15), 90), 6);
}

TEST(HorizontalAutoscaler, KeepsTheNumberWithoutAValue) {
  HorizontalAutoscaler autoscaler(Target(60), 4);
  for (seconds now{0}; now < seconds(3'600); now += kSync) {
    ASSERT_EQ(autoscaler.Sync(now, std::nullopt), 4);
  }
}

TEST(HorizontalAutoscaler, NeverGoesBelowTheLeast) {
  AutoscalerOptions options = Target(60);
  options.least = 2;
  HorizontalAutoscaler autoscaler(options, 4);
  for (seconds now{0}; now <= seconds(600); now += kSync) {
    autoscaler.Sync(now, 0);
  }
  EXPECT_EQ(autoscaler.replicas(), 2);
}

}  // namespace
}  // namespace podgpu
