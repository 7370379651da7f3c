#include "topology/mig_profile.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(MigProfile, ReturnsTheSlicesOfAnInstance) {
  const std::pair<std::string_view, uint32_t> rows[] = {
      {"1g.10gb", 1}, {"3g.40gb", 3}, {"7g.80gb", 7}, {"1g.10gb+me", 1}, {"1c.3g.40gb", 1},
      {"", 1},        {"unknown", 1}, {"g.", 1},      {"-3g.1gb", 1},
  };
  for (const auto& [profile, slices] : rows) {
    EXPECT_EQ(ComputeSlicesOf(profile), slices) << profile;
  }
  EXPECT_EQ(ComputeSlicesOfBoard("NVIDIA A100-SXM4-40GB"), 7U);
  EXPECT_EQ(ComputeSlicesOfBoard("NVIDIA A30"), 4U);
  EXPECT_EQ(ComputeSlicesOfBoard("NVIDIA RTX PRO 6000 Blackwell Server Edition"), 4U);
  EXPECT_EQ(ComputeSlicesOfBoard("NVIDIA H100 80GB HBM3"), 7U);
}

}  // namespace
}  // namespace podgpu
