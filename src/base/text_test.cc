#include "base/text.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/status.h"

namespace podgpu {
namespace {

TEST(Text, TrimsTheGivenBytesAtBothEnds) {
  EXPECT_EQ(Trim("  a b \n"), "a b");
  EXPECT_EQ(Trim("\ta ", " "), "\ta");
  EXPECT_EQ(Trim("   "), "");
  EXPECT_EQ(Trim(""), "");
}

TEST(Text, SplitsIntoAtLeastOnePart) {
  EXPECT_EQ(Split("a,b,,c", ','), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_EQ(Split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(Split("a,", ','), (std::vector<std::string_view>{"a", ""}));
}

TEST(Text, ListsTheFirstParts) {
  const std::vector<std::string> parts = {"a", "b", "c"};
  EXPECT_EQ(ListedFirst(parts, 3), "a, b, c");
  EXPECT_EQ(ListedFirst(parts, 1), "a and 2 more");
}

TEST(Text, RangesJoinNeighbours) {
  EXPECT_EQ(NumberRanges({}), "");
  EXPECT_EQ(NumberRanges(std::vector<uint32_t>{3}), "3");
  EXPECT_EQ(NumberRanges(std::vector<uint32_t>{0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

TEST(Text, BreaksIntoLinesThatFit) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(Wrapped("", 8, 2), (Lines{""}));
  EXPECT_EQ(Wrapped("one two three", 8, 2), (Lines{"one two", "three"}));
  EXPECT_EQ(Wrapped("  one  two", 10, 0), (Lines{"  one  two"}));
  EXPECT_EQ(Wrapped("one 123456789 two", 8, 2), (Lines{"one", "123456", "789", "two"}));
  EXPECT_EQ(Wrapped("123456789 a", 4, 1), (Lines{"1234", "567", "89", "a"}));
  EXPECT_EQ(Wrapped("\xC3\xA9\xC3\xA9\xC3\xA9 \xC3\xA9", 2, 0),
            (Lines{"\xC3\xA9\xC3\xA9", "\xC3\xA9", "\xC3\xA9"}));
}

TEST(Text, ReadsWholeDecimalNumbersOnly) {
  EXPECT_EQ(ParseDecimal("0"), 0U);
  EXPECT_EQ(ParseDecimal("18446744073709551615"), ~uint64_t{0});
  for (const std::string_view bad :
       {"", "-1", "+1", " 1", "1 ", "0x1", "1.0", "18446744073709551616"}) {
    EXPECT_EQ(ParseDecimal(bad), std::nullopt) << bad;
  }
}

TEST(Text, FindsTheNearestName) {
  constexpr std::string_view kNames[] = {"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL"};
  EXPECT_EQ(Nearest("DCGM_FI_DEV_GPU_TMP", kNames), "DCGM_FI_DEV_GPU_TEMP");
  EXPECT_EQ(Nearest("nothing_alike", kNames), std::nullopt);
}

TEST(Text, ReplacesBytesThatAreNotUtf8) {
  struct Case {
    std::string_view in, out;
  };
  constexpr Case kCases[] = {
      {"plain", "plain"},
      {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
      {"a\xFFz", "a\xEF\xBF\xBDz"},
      {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},                                  // Overlong.
      {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},                  // A surrogate.
      {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},  // Past U+10FFFF.
      {"cut\xE2\x82", "cut\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xE0\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xF0\x80\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
  };
  for (const Case& row : kCases) {
    EXPECT_EQ(CleanUtf8(row.in), row.out) << row.in;
    EXPECT_EQ(CleanUtf8(row.out), row.out) << "cleaning twice changes nothing";
  }
}

TEST(Log, EscapesAttributesInTextLines) {
  EXPECT_EQ(
      FormatLogLine(LogForm::kText, LogLevel::kInfo, 1'778'591'568'123, "waiting for the kubelet",
                    {{"socket", "/run/a b"}, {"next_look_s", "5"}, {"empty", ""}}),
      "time=2026-05-12T13:12:48.123Z level=INFO msg=\"waiting for the kubelet\" socket=\"/run/a "
      "b\" "
      "next_look_s=5 empty=\"\"\n");
  EXPECT_EQ(FormatLogLine(LogForm::kText, LogLevel::kError, 0, "x", {{"k", "a\nb\"c\\d"}}),
            "time=1970-01-01T00:00:00.000Z level=ERROR msg=\"x\" k=\"a\\nb\\\"c\\\\d\"\n");
}

TEST(Log, WritesJsonLines) {
  EXPECT_EQ(FormatLogLine(LogForm::kJson, LogLevel::kWarn, 1500, "m", {{"k", "v\t"}}),
            "{\"time\":\"1970-01-01T00:00:01.500Z\",\"level\":\"WARN\",\"msg\":\"m\",\"k\":"
            "\"v\\u0009\"}\n");
}

StatusOr<int> Half(int number) {
  if (number % 2 != 0) {
    return absl::InvalidArgumentError("odd");
  }
  return number / 2;
}

StatusOr<int> Quarter(int number) {
  PODGPU_ASSIGN_OR_RETURN(const int half, Half(number));
  PODGPU_RETURN_IF_ERROR(Half(half).status());
  return half / 2;
}

TEST(Status, MacrosReturnTheFirstFailure) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(3).status().message(), "odd");
  EXPECT_EQ(Quarter(6).status().message(), "odd");
}

TEST(StatusDeathTest, ABrokenInvariantNamesItselfAndAborts) {
  EXPECT_DEATH(PODGPU_CHECK(1 == 2), "broken invariant \"1 == 2\" at text_test.cc:[0-9]+\\.");
}

TEST(Log, WritesValidUtf8WhateverTheAttributes) {
  EXPECT_EQ(FormatLogLine(LogForm::kJson, LogLevel::kWarn, 1500, "a\xFF", {{"k", "\x7F"}}),
            "{\"time\":\"1970-01-01T00:00:01.500Z\",\"level\":\"WARN\",\"msg\":\"a\xEF\xBF\xBD\","
            "\"k\":\"\\u007f\"}\n");
  EXPECT_EQ(
      FormatLogLine(LogForm::kText, LogLevel::kWarn, 1500, "m", {{"k", "\xFF"}, {"d", "\x7F"}}),
      "time=1970-01-01T00:00:01.500Z level=WARN msg=\"m\" k=\xEF\xBF\xBD d=\"\\u007f\"\n");
}

TEST(Quoted, ReturnsOneShortLineOfValidUtf8) {
  EXPECT_EQ(Quoted("a b"), "\"a b\"");
  EXPECT_EQ(Quoted(""), "\"\"");
  EXPECT_EQ(Quoted("a\nb\x7F\xFF"), "\"a b \xEF\xBF\xBD\"");
  EXPECT_EQ(Quoted(std::string(100, 'x')), "\"" + std::string(80, 'x') + "...\"");
}

}  // namespace
}  // namespace podgpu
