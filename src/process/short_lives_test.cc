#include "process/short_lives.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

constexpr DeviceNumber kFirst{0};
constexpr DeviceNumber kSecond{1};

DeviceReading Told(DeviceNumber device, Accounting accounting, size_t ended) {
  return {.device = device, .accounting = accounting, .ended = std::vector<EndedProcess>(ended)};
}

TEST(ShortLives, AreAddedUpPerDevice) {
  ShortLives lives;
  EXPECT_EQ(lives.Of(kFirst), nullptr);
  lives.Take({.devices = {Told(kFirst, Accounting::kOn, 2), Told(kSecond, Accounting::kOff, 0)}});
  lives.Take({.devices = {Told(kFirst, Accounting::kOn, 3), Told(kSecond, Accounting::kOff, 0)}});
  ASSERT_NE(lives.Of(kFirst), nullptr);
  EXPECT_EQ(lives.Of(kFirst)->count, 5U);
  EXPECT_TRUE(lives.Of(kFirst)->was_told);
  EXPECT_EQ(lives.Of(kSecond)->count, 0U);
  EXPECT_FALSE(lives.Of(kSecond)->was_told);
}

TEST(ShortLives, ADeviceThatIsGoneKeepsItsCountButNotItsAccounting) {
  ShortLives lives;
  lives.Take({.devices = {Told(kFirst, Accounting::kOn, 2)}});
  EXPECT_EQ(lives.Of(kFirst)->accounting, Accounting::kOn);
  lives.Take({.devices = {Told(kSecond, Accounting::kOff, 0)}});
  EXPECT_EQ(lives.Of(kFirst)->accounting, Accounting::kNotRead);
  EXPECT_EQ(lives.Of(kFirst)->count, 2U);
  EXPECT_TRUE(lives.Of(kFirst)->was_told) << "the count is still meaningful";
  EXPECT_EQ(lives.Of(kSecond)->accounting, Accounting::kOff);
}

}  // namespace
}  // namespace podgpu
