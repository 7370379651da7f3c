#include "base/go_values.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(GoValues, ReadsIntegersInEveryBase) {
  struct Case {
    std::string_view text;
    std::optional<int64_t> value;
  };
  constexpr Case kCases[] = {
      {"0", 0},
      {"30000", 30000},
      {"-1", -1},
      {"+7", 7},
      {"0x1F", 31},
      {"0X1f", 31},
      {"0b101", 5},
      {"0o17", 15},
      {"017", 15},
      {"1_000", 1000},
      {"0x_ff", 255},
      {"", std::nullopt},
      {"-", std::nullopt},
      {"1_", std::nullopt},
      {"_1", std::nullopt},
      {"1__0", std::nullopt},
      {"08", std::nullopt},
      {"0x", std::nullopt},
      {"1.0", std::nullopt},
      {" 1", std::nullopt},
      {"1s", std::nullopt},
      {"--1", std::nullopt},
      {"9223372036854775807", INT64_MAX},
      {"9223372036854775808", std::nullopt},
      {"-9223372036854775808", INT64_MIN},
  };
  for (const Case& row : kCases) {
    EXPECT_EQ(ParseGoInt(row.text), row.value) << row.text;
  }
}

TEST(GoValues, ReadsBooleansInGosSpellingsOnly) {
  for (const std::string_view text : {"1", "t", "T", "true", "TRUE", "True"}) {
    EXPECT_EQ(ParseGoBool(text), true) << text;
  }
  for (const std::string_view text : {"0", "f", "F", "false", "FALSE", "False"}) {
    EXPECT_EQ(ParseGoBool(text), false) << text;
  }
  for (const std::string_view text : {"", "yes", "on", "tRUE", "2"}) {
    EXPECT_EQ(ParseGoBool(text), std::nullopt) << text;
  }
}

TEST(GoValues, ReadsDurations) {
  using std::chrono::nanoseconds;
  struct Case {
    std::string_view text;
    std::optional<nanoseconds> value;
  };
  const Case kCases[] = {
      {"0", nanoseconds(0)},
      {"5s", std::chrono::seconds(5)},
      {"1m30s", std::chrono::seconds(90)},
      {"1.5h", std::chrono::minutes(90)},
      {"500ms", std::chrono::milliseconds(500)},
      {"2us", std::chrono::microseconds(2)},
      {"-1s", std::chrono::seconds(-1)},
      {"3ns", nanoseconds(3)},
      {"", std::nullopt},
      {"5", std::nullopt},
      {"s", std::nullopt},
      {"5 s", std::nullopt},
      {"1d", std::nullopt},
      {"1.2.3s", std::nullopt},
      {"99999999999h", std::nullopt},
  };
  for (const Case& row : kCases) {
    EXPECT_EQ(ParseGoDuration(row.text), row.value) << row.text;
  }
}

}  // namespace
}  // namespace podgpu
