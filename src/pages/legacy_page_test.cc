#include "pages/legacy_page.h"

#include <gtest/gtest.h>

#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

std::shared_ptr<const Snapshot> MainPage(uint64_t tick, int64_t temperature,
                                         std::shared_ptr<const Owners> owners) {
  auto grid = std::make_shared<Grid>(std::make_shared<Topology>(FakeDriver::Gpus(1)),
                                     std::vector<const Field*>{FindField(150)});
  grid->at(FieldRow{0}, EntityId{0}) = Value::OfInt64(temperature);
  return std::make_shared<const Snapshot>(SnapshotParts{
      std::make_shared<const SeriesPlan>(), std::move(grid), std::move(owners), {}, tick});
}

std::shared_ptr<const Owners> NoOwners() {
  auto owners = std::make_shared<Owners>();
  owners->by_entity.resize(1);
  return owners;
}

TEST(LegacyPage, ExistsFromTheFirstReadingOn) {
  LegacyPage page(true);
  EXPECT_EQ(page.Of(nullptr), nullptr);
  EXPECT_EQ(page.Of(std::make_shared<const Snapshot>(
                SnapshotParts{std::make_shared<const SeriesPlan>(), nullptr, nullptr, {}, 1})),
            nullptr);
  EXPECT_TRUE(page.Of(MainPage(2, 34, NoOwners()))->text().ends_with("} 34\n"));
}

TEST(LegacyPage, IsMadeOncePerReadingAndItsPlanOncePerEpoch) {
  LegacyPage page(true);
  const auto owners = NoOwners();
  const auto main = MainPage(1, 34, owners);
  const auto first = page.Of(main);
  EXPECT_EQ(page.Of(main), first);
  const auto second = page.Of(MainPage(2, 35, owners));
  EXPECT_NE(second, first);
  EXPECT_EQ(second->parts().plan, first->parts().plan);
  EXPECT_EQ(page.Of(MainPage(3, 35, NoOwners()))->parts().plan, first->parts().plan);  // Equal.
  auto owned = std::make_shared<Owners>(*NoOwners());
  owned->by_entity[0].resize(1);
  EXPECT_NE(page.Of(MainPage(4, 35, owned))->parts().plan, first->parts().plan);
}

// The reader reuses grids, so a page must not keep a grid alive that no page shows.
TEST(LegacyPage, KeepsOnlyTheReadingThatItShows) {
  LegacyPage page(true);
  const auto owners = NoOwners();
  const std::weak_ptr<const Grid> first = [&] {
    const auto main = MainPage(1, 34, owners);
    page.Of(main);
    return main->parts().grid;
  }();
  EXPECT_FALSE(first.expired());
  page.Of(MainPage(2, 35, owners));
  EXPECT_TRUE(first.expired());
}

}  // namespace
}  // namespace podgpu
