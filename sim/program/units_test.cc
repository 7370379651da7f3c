#include "sim/program/units.h"

#include <limits>

#include <gtest/gtest.h>

namespace podgpu::sim {
namespace {

TEST(ParseTime, ParsesEachUnitExactlyAndRefusesOtherTexts) {
  struct Case {
    const char* text;
    std::optional<TimeUs> expected;
  };
  const Case cases[] = {
      {"0s", 0},
      {"12.345678s", 12'345'678},
      {"200ms", 200'000},
      {"7us", 7},
      {"1.5min", 90'000'000},
      {"24h", 86'400'000'000},
      {"0.001ms", 1},
      {"1.2345678s", std::nullopt},  // Finer than a microsecond.
      {"0.5us", std::nullopt},
      {"5", std::nullopt},
      {"s", std::nullopt},
      {"-5s", std::nullopt},
      {"+5s", std::nullopt},
      {"1.s", std::nullopt},
      {".5s", std::nullopt},
      {"5 s", std::nullopt},
      {"1000000001h", std::nullopt},
      {"99999999999999999999s", std::nullopt},
      {"", std::nullopt},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ParseTime(c.text), c.expected) << c.text;
  }
}

TEST(FormatTime, IsReadBackAsTheSameTime) {
  EXPECT_EQ(FormatTime(12'345'678), "12.345678s");
  EXPECT_EQ(FormatTime(12'300'000), "12.3s");
  EXPECT_EQ(FormatTime(60'000'000), "60s");
  for (const TimeUs t : {TimeUs{0}, TimeUs{1}, TimeUs{999'999}, TimeUs{1'000'001}}) {
    EXPECT_EQ(ParseTime(FormatTime(t)), t);
  }
}

TEST(ParseSpeed, ParsesTwoWholeNumbersOrOne) {
  const std::optional<Speed> speed = ParseSpeed("60/7");
  ASSERT_TRUE(speed.has_value());
  EXPECT_EQ(speed->numerator, 60);
  EXPECT_EQ(speed->denominator, 7);
  ASSERT_TRUE(ParseSpeed("3").has_value());
  EXPECT_EQ(ParseSpeed("3")->denominator, 1);
  for (const char* text : {"", "0", "1/0", "1/2/3", "1.5", "fast", "1000001", "-1/2"}) {
    EXPECT_FALSE(ParseSpeed(text).has_value()) << text;
  }
}

TEST(FormatInteger, WritesNumbersBeyondSixtyFourBits) {
  EXPECT_EQ(FormatInteger(0), "0");
  EXPECT_EQ(FormatInteger(-17), "-17");
  const Int128 large = Int128{std::numeric_limits<int64_t>::max()} * 1000;
  EXPECT_EQ(FormatInteger(large), "9223372036854775807000");
  const Int128 least = Int128{1} << 126;
  EXPECT_EQ(FormatInteger(-least - least), "-170141183460469231731687303715884105728");
}

}  // namespace
}  // namespace podgpu::sim
