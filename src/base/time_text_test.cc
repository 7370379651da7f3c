#include "base/time_text.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(TimeText, MomentsAreInUtc) {
  EXPECT_EQ(Rfc3339(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Rfc3339(1'772'366'400), "2026-03-01T12:00:00Z");
  EXPECT_EQ(TimeOfDay(1'772'366'467'999), "12:01:07");
  EXPECT_EQ(TimeOfDay(1'772'366'467'000, 3'600), "13:01:07");
  EXPECT_EQ(TimeOfDay(0, -3'600), "23:00:00") << "the day before";
}

TEST(TimeText, SpansHaveTheirTwoLargestUnits) {
  EXPECT_EQ(SpanText(-5), "0s");
  EXPECT_EQ(SpanText(59'999), "59s");
  EXPECT_EQ(SpanText(135'000), "2m15s");
  EXPECT_EQ(SpanText(3'600'000), "1h00m");
  EXPECT_EQ(SpanText(86'399'999), "23h59m");
  EXPECT_EQ(SpanText(90'000'000), "1d1h");
}

}  // namespace
}  // namespace podgpu
