#include "process/apportion.h"

#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();

TEST(Apportioner, SharesByLargestRemainder) {
  const struct {
    const char* label;
    uint64_t total;
    std::vector<uint64_t> weights;
    std::vector<uint64_t> shares;
  } rows[] = {
      {"3:1", 1000, {3, 1}, {750, 250}},
      {"a rest goes to the largest remainder", 10, {2, 1, 1}, {5, 3, 2}},
      {"of equal remainders to the first", 11, {1, 1, 1}, {4, 4, 3}},
      {"less than there are parts", 2, {5, 5, 5, 1}, {1, 1, 0, 0}},
      {"nothing to share", 0, {1, 2}, {0, 0}},
      {"no weight, no share", 7, {0, 1, 0}, {0, 7, 0}},
      {"the largest numbers", kLargest, {kLargest, kLargest}, {kLargest / 2 + 1, kLargest / 2}},
      {"a giant and a dwarf", 1'000'000, {kLargest, 1}, {1'000'000, 0}},
      {"all weights are zero", 7, {0, 0}, {}},
      {"no receiver", 7, {}, {}},
  };
  Apportioner apportioner;
  for (const auto& row : rows) {
    const auto shares = apportioner.ByWeight(row.total, row.weights);
    EXPECT_EQ(std::vector<uint64_t>(shares.begin(), shares.end()), row.shares) << row.label;
  }
}

TEST(Apportioner, SharesEqually) {
  Apportioner apportioner;
  const auto shares = apportioner.Equally(11, 3);
  EXPECT_EQ(std::vector<uint64_t>(shares.begin(), shares.end()), (std::vector<uint64_t>{4, 4, 3}));
  EXPECT_TRUE(apportioner.Equally(11, 0).empty());
}

// For any numbers, the shares add up to the total, and each is less than one unit from the exact
// share.
TEST(Apportioner, KeepsTheTotalAndStaysWithinOneUnitOfTheExactShare) {
  Apportioner apportioner;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    const auto any = [&] { return random() >> (random() % 64); };
    std::vector<uint64_t> weights(random() % 12);
    long double sum = 0;
    for (uint64_t& weight : weights) {
      weight = random() % 4 == 0 ? 0 : any();
      sum += static_cast<long double>(weight);
    }
    const uint64_t total = any();
    const auto shares = apportioner.ByWeight(total, weights);
    if (sum == 0) {
      EXPECT_TRUE(shares.empty());
      continue;
    }
    ASSERT_EQ(shares.size(), weights.size());
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), uint64_t{0}), total) << seed;
    for (size_t i = 0; i < shares.size(); ++i) {
      const long double exact =
          static_cast<long double>(total) * static_cast<long double>(weights[i]) / sum;
      // A long double has a mantissa of 64 bits: its own error is a few units of the largest
      // numbers.
      EXPECT_LT(std::abs(static_cast<long double>(shares[i]) - exact), 1 + exact * 1e-18L) << seed;
    }
  }
}

}  // namespace
}  // namespace podgpu
