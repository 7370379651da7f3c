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

TEST(Gzip, WouldNotPassDamaged) {
  std::string compressed = Gzip("some text that is long enough to be damaged");
  compressed[compressed.size() / 2] ^= 1;
  EXPECT_EQ(Gunzip(compressed), std::nullopt);
}

}  // namespace
}  // namespace podgpu
