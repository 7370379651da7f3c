#include "base/roff.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(Roff, KeepsDashesForCopying) { EXPECT_EQ(RoffText("--address :9400"), "\\-\\-address :9400"); }

TEST(Roff, PrintsWhatManWouldReadAsCommands) {
  EXPECT_EQ(RoffText(".TH x\n'so y\nz."), "\\&.TH x\n\\&'so y\nz.");
  EXPECT_EQ(RoffText("a\\fBb\"~^"), "a\\efBb\\(dq\\(ti\\(ha");
}

}  // namespace
}  // namespace podgpu
