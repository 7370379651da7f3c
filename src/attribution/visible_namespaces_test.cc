#include "attribution/visible_namespaces.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(VisibleNamespaces, AreAllOrTheChosenOnes) {
  EXPECT_TRUE(VisibleNamespaces{}.Shows("ml"));
  const VisibleNamespaces some{{"ml", "web"}};
  EXPECT_TRUE(some.Shows("ml"));
  EXPECT_TRUE(some.Shows("web"));
  EXPECT_FALSE(some.Shows("batch"));
  EXPECT_FALSE(some.Shows(""));
}

}  // namespace
}  // namespace podgpu
