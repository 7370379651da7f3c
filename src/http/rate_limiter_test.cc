#include "http/rate_limiter.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

constexpr Instant kStart = Instant(std::chrono::hours(1));

TEST(RateLimiter, AllowsEverythingWithoutAnInterval) {
  RateLimiter limiter({});
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_TRUE(limiter.Allow(kStart));
  }
}

TEST(RateLimiter, AllowsABurstAndThenOnePerInterval) {
  RateLimiter limiter({.interval = std::chrono::seconds(1), .burst = 3});
  Instant now = kStart;
  EXPECT_TRUE(limiter.Allow(now));
  EXPECT_TRUE(limiter.Allow(now));
  EXPECT_TRUE(limiter.Allow(now));
  EXPECT_FALSE(limiter.Allow(now));
  now += std::chrono::milliseconds(900);
  EXPECT_FALSE(limiter.Allow(now));
  now += std::chrono::milliseconds(200);
  EXPECT_TRUE(limiter.Allow(now));
  EXPECT_FALSE(limiter.Allow(now));
}

TEST(RateLimiter, KeepsAtMostABurst) {
  RateLimiter limiter({.interval = std::chrono::seconds(1), .burst = 2});
  EXPECT_TRUE(limiter.Allow(kStart));
  const Instant later = kStart + std::chrono::hours(24);
  EXPECT_TRUE(limiter.Allow(later));
  EXPECT_TRUE(limiter.Allow(later));
  EXPECT_FALSE(limiter.Allow(later));
}

}  // namespace
}  // namespace podgpu
