#include "base/fact_and_remedy.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(Parted, SplitsAMessageFromItsRemedy) {
  const FactAndRemedy both =
      Parted(absl::NotFoundError("a.sock does not exist. Mount the directory"), "other");
  EXPECT_EQ(both.fact, "a.sock does not exist");
  EXPECT_EQ(both.remedy, "mount the directory");
  const FactAndRemedy alone = Parted(absl::NotFoundError("libx.so. is absent."), "other");
  EXPECT_EQ(alone.fact, "libx.so. is absent");
  EXPECT_EQ(alone.remedy, "other");
}

}  // namespace
}  // namespace podgpu
