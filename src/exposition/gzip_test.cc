#include "exposition/gzip.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/gunzip.h"

namespace podgpu {
namespace {

TEST(Gzip, IsUndoneByZlib) {
  std::mt19937_64 random(7);
  std::string noise(1 << 20, '\0');
  for (char& c : noise) {
    c = static_cast<char>(random());
  }
  std::string page;
  for (int i = 0; i < 5000; ++i) {
    page += "podgpu_gpu_power_watts{gpu=\"" + std::to_string(i) + "\"} 71.5\n";
  }
  for (const std::string& bytes : {std::string(), std::string("x"), page, noise}) {
    const std::string compressed = Gzip(bytes);
    EXPECT_EQ(Gunzip(compressed), bytes) << bytes.size();
    EXPECT_EQ(compressed.capacity() < compressed.size() + 64, true) << bytes.size();
  }
  EXPECT_LT(Gzip(page).size(), page.size() / 8);
}

TEST(Gzip, DamageIsDetected) {
  std::string compressed = Gzip("some text that is long enough to be damaged");
  compressed[compressed.size() / 2] ^= 1;
  EXPECT_EQ(Gunzip(compressed), std::nullopt);
}

TEST(Inflate, UndoesGzipWithinItsLimit) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += std::to_string(i * 7919);
  }
  for (const std::string& bytes : {std::string(), std::string("x"), text}) {
    EXPECT_EQ(Inflate(Gzip(bytes), bytes.size()).value(), bytes);
  }
  EXPECT_EQ(Inflate(Gzip(text), text.size() - 1).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Inflate(Gzip(std::string(1 << 24, 'x')), 1000).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(Inflate, RefusesDamagedOrTruncatedInput) {
  const std::string good = Gzip("some text that is long enough to be damaged");
  std::string damaged = good;
  damaged[damaged.size() - 6] ^= 1;  // The checksum.
  EXPECT_FALSE(Inflate(damaged, 1000).ok());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(Inflate(good.substr(0, size), 1000).ok()) << size;
  }
  EXPECT_FALSE(Inflate("no gzip at all, but text", 1000).ok());
}

}  // namespace
}  // namespace podgpu
