#include "exposition/number.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

std::string Written(const Value& value, NumberFormat format, double scale = 1.0) {
  std::string out;
  AppendNumber(value, format, scale, out);
  return out;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

TEST(Number, IsWrittenAsDcgmExporterWritesIt) {
  struct Case {
    Value value;
    std::string_view text;
  };
  for (const Case& c :
       std::initializer_list<Case>{{Value::OfInt64(0), "0"},
                                   {Value::OfInt64(-7), "-7"},
                                   {Value::OfInt64(kLargest), "9223372036854775807"},
                                   {Value::OfDouble(0), "0.000000"},
                                   {Value::OfDouble(72.123457), "72.123457"},
                                   {Value::OfDouble(1e6), "1000000.000000"},
                                   {Value::OfDouble(-0.0000004), "-0.000000"},
                                   {Value::OfDouble(0.0000005), "0.000000"},
                                   {Value::OfDouble(0.9999999), "1.000000"},
                                   {Value::OfDouble(std::nan("")), "NaN"},
                                   {Value::OfDouble(kInfinity), "+Inf"},
                                   {Value::OfDouble(-kInfinity), "-Inf"}}) {
    EXPECT_EQ(Written(c.value, NumberFormat::kDcgm), c.text);
  }
}

TEST(Number, IsWrittenAsPythonWritesFloats) {
  const std::pair<Value, std::string_view> rows[] = {
      {Value::OfInt64(1), "1.0"},       {Value::OfDouble(0), "0.0"},
      {Value::OfDouble(37.5), "37.5"},  {Value::OfDouble(100.0 / 3), "33.333333333333336"},
      {Value::OfDouble(1e22), "1e+22"}, {Value::OfDouble(std::nan("")), "NaN"}};
  for (const auto& [value, text] : rows) {
    EXPECT_EQ(Written(value, NumberFormat::kFloat), text);
  }
}

// As strconv.FormatFloat(x, 'g', -1, 64) writes an integer, and a double after it was written with
// six decimals.
TEST(Number, IsWrittenAsDcgmExporterWritesItSince483) {
  const std::pair<Value, std::string_view> rows[] = {
      {Value::OfInt64(0), "0"},
      {Value::OfInt64(-7), "-7"},
      {Value::OfInt64(999'999), "999999"},
      {Value::OfInt64(1'000'000), "1e+06"},
      {Value::OfInt64(1'234'567), "1.234567e+06"},
      {Value::OfInt64(kLargest), "9.223372036854776e+18"},
      {Value::OfDouble(-0.0), "0"},
      {Value::OfDouble(0.25), "0.25"},
      {Value::OfDouble(1.0 / 6), "0.166667"},
      {Value::OfDouble(0.16666599999999998), "0.166666"},
      {Value::OfDouble(0.0001), "0.0001"},
      {Value::OfDouble(0.00009), "9e-05"},
      {Value::OfDouble(0.0000004), "0"},
      {Value::OfDouble(-0.0000004), "0"},
      {Value::OfDouble(72.123457), "72.123457"},
      {Value::OfDouble(999999.9), "999999.9"},
      {Value::OfDouble(1.5e9), "1.5e+09"},
      {Value::OfDouble(1'234'567'890.1234567), "1.234567890123457e+09"},
      {Value::OfDouble(-1.7976931348623157e308), "-1.7976931348623157e+308"},
      {Value::OfDouble(5e-324), "0"},
      {Value::OfDouble(std::nan("")), "NaN"},
      {Value::OfDouble(kInfinity), "+Inf"}};
  for (const auto& [value, text] : rows) {
    EXPECT_EQ(Written(value, NumberFormat::kGo), text);
  }
}

TEST(Number, IsWrittenInTheShortestFormThatReadsBackEqual) {
  struct Case {
    Value value;
    double scale;
    std::string_view text;
  };
  for (const Case& c :
       std::initializer_list<Case>{{Value::OfInt64(kLargest), 1, "9223372036854775807"},
                                   {Value::OfDouble(1e6), 1, "1000000"},
                                   {Value::OfDouble(1e15), 1, "1e+15"},
                                   {Value::OfDouble(-3), 1, "-3"},
                                   {Value::OfDouble(0.1), 1, "0.1"},
                                   {Value::OfDouble(1e-7), 1, "1e-07"},
                                   {Value::OfDouble(72.123457), 1, "72.123457"},
                                   {Value::OfDouble(std::nan("")), 1, "NaN"},
                                   {Value::OfDouble(std::nan("")), 0.001, "NaN"},
                                   {Value::OfDouble(-kInfinity), 0.01, "-Inf"},
                                   {Value::OfInt64(123456), 0.001, "123.456"},
                                   {Value::OfInt64(123000), 0.001, "123"},
                                   {Value::OfInt64(97), 0.01, "0.97"},
                                   {Value::OfInt64(29), 0.01, "0.29"},
                                   {Value::OfInt64(1980), 1e6, "1980000000"},
                                   {Value::OfInt64(81559), 1048576, "85520809984"},
                                   {Value::OfInt64(5), 2.5, "12.5"},
                                   {Value::OfInt64(10), 0.3, "3"},
                                   {Value::OfInt64(10), -1, "-10"}}) {
    EXPECT_EQ(Written(c.value, NumberFormat::kShortest, c.scale), c.text);
  }
}

TEST(Number, KeepsSixDecimalsWhenDcgmFormatIsScaled) {
  EXPECT_EQ(Written(Value::OfInt64(1500), NumberFormat::kDcgm, 0.001), "1.500000");
}

TEST(Number, IsWrittenAsDmonWritesIt) {
  EXPECT_EQ(Written(Value::OfDouble(31.7369), NumberFormat::kMilli), "31.737");
  EXPECT_EQ(Written(Value::OfDouble(300), NumberFormat::kMilli), "300.000");
  EXPECT_EQ(Written(Value::OfInt64(300), NumberFormat::kMilli), "300");
  EXPECT_EQ(Written(Value::OfInt64(1'500'000), NumberFormat::kMilli, 1e-3), "1500");
  EXPECT_EQ(Written(Value::OfInt64(1'500'250), NumberFormat::kMilli, 1e-3), "1500.250");
}

TEST(Number, AgreesWithPrintfOnManyDoubles) {
  std::mt19937_64 random(20240611);
  for (int i = 0; i < 20000; ++i) {
    const auto magnitude = std::ldexp(1.0, static_cast<int>(random() % 80) - 30);
    const double number = magnitude * (static_cast<double>(random() % 2000001) / 1e6 - 1.0);
    char expected[512];
    std::snprintf(expected, sizeof expected, "%f", number);
    ASSERT_EQ(Written(Value::OfDouble(number), NumberFormat::kDcgm), expected);
    const std::string shortest = Written(Value::OfDouble(number), NumberFormat::kShortest);
    ASSERT_EQ(std::strtod(shortest.c_str(), nullptr), number) << shortest;
  }
}

TEST(NumberDeathTest, StopsOnAValueThatIsNotANumber) {
  EXPECT_DEATH(Written(Value(), NumberFormat::kDcgm), "kInt64");
  EXPECT_DEATH(Written(Value::OfText(0), NumberFormat::kShortest), "kInt64");
}

TEST(Number, WritesTheLargestDoubleWithSixDecimals) {
  char expected[512];
  std::snprintf(expected, sizeof expected, "%f", -std::numeric_limits<double>::max());
  EXPECT_EQ(Written(Value::OfDouble(-std::numeric_limits<double>::max()), NumberFormat::kDcgm),
            expected);
}

}  // namespace
}  // namespace podgpu
