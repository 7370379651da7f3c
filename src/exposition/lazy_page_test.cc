#include "exposition/lazy_page.h"

#include <string>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(LazyPage, IsMadeOnceForEachKeyAndGetsThePreviousPage) {
  LazyPage<int, std::string> pages;
  int made = 0;
  const auto make = [&](const std::string* last) {
    ++made;
    return std::make_shared<const std::string>(last == nullptr ? "first" : "after " + *last);
  };
  const std::shared_ptr<const std::string> first = pages.Of(0, make);
  EXPECT_EQ(*first, "first");
  EXPECT_EQ(pages.Of(0, make), first);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(*pages.Of(7, make), "after first");
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace podgpu
