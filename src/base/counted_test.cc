#include "base/counted.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(Counted, HasTheNounInItsNumber) {
  EXPECT_EQ(Counted(0, "pod"), "0 pods");
  EXPECT_EQ(Counted(1, "pod"), "1 pod");
  EXPECT_EQ(Counted(2, "bus"), "2 buses");
}

}  // namespace
}  // namespace podgpu
