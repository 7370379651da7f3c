#include "sample/grid_pool.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/published.h"
#include "base/testing/allocations.h"

namespace podgpu {
namespace {

std::shared_ptr<const Topology> Gpus(size_t count) {
  auto topology = std::make_shared<Topology>();
  topology->gpus.resize(count);
  topology->entities.resize(count);
  return topology;
}

const std::vector<const Field*> kFields = {FindField(53), FindField(150)};

TEST(GridPool, ReusesAGridAfterItsRelease) {
  GridPool pool;
  const auto topology = Gpus(2);
  std::shared_ptr<Grid> first = pool.Take(topology, kFields);
  const Grid* const where = first.get();
  first->at(FieldRow{1}, EntityId{1}) = Value::OfInt64(7);
  first->at(FieldRow{0}, EntityId{0}) = Value::OfText(first->InternText("a serial number"));
  std::shared_ptr<Grid> second = pool.Take(topology, kFields);
  EXPECT_NE(second.get(), where) << "the first grid is still held";
  first.reset();
  const std::shared_ptr<Grid> third = pool.Take(topology, kFields);
  EXPECT_EQ(third.get(), where);
  for (const Value& value : third->cells()) {
    EXPECT_FALSE(value.present()) << "no value of an earlier reading remains";
    EXPECT_EQ(value.absence(), Absence::kNotRead);
  }
  EXPECT_EQ(pool.kept(), 2U);
}

TEST(GridPool, AllocatesNothingWhileAGridIsFree) {
  GridPool pool;
  const auto topology = Gpus(112);
  std::shared_ptr<Grid> published;
  std::shared_ptr<Grid> rendered;
  for (int i = 0; i < 10; ++i) {
    const Allocations before = AllocationsOfThisThread();
    std::shared_ptr<Grid> next = pool.Take(topology, kFields);
    next->InternText("a serial number that is longer than a small string");
    if (i >= 3) {
      EXPECT_EQ((AllocationsOfThisThread() - before).count, 0U) << i;
    }
    rendered = std::exchange(published, std::move(next));
  }
  EXPECT_EQ(pool.kept(), 3U);
}

TEST(GridPool, KeepsAtMostSevenGrids) {
  GridPool pool;
  const auto topology = Gpus(1);
  std::vector<std::shared_ptr<Grid>> held;
  for (int i = 0; i < 20; ++i) {
    held.push_back(pool.Take(topology, kFields));
  }
  EXPECT_EQ(pool.kept(), 7U);
  const std::weak_ptr<Grid> last = held.back();
  held.clear();
  EXPECT_TRUE(last.expired()) << "a grid that the pool does not keep is freed by its last holder";
}

TEST(GridPool, ForgetsGridsOfAnotherLayout) {
  GridPool pool;
  const auto topology = Gpus(1);
  const std::weak_ptr<Grid> old = pool.Take(topology, kFields);
  const std::shared_ptr<Grid> other_fields = pool.Take(topology, {FindField(150)});
  EXPECT_TRUE(old.expired());
  EXPECT_EQ(other_fields->fields().size(), 1U);
  const std::shared_ptr<Grid> other_devices = pool.Take(Gpus(3), {FindField(150)});
  EXPECT_EQ(other_devices->cells().size(), 3U);
  EXPECT_EQ(pool.kept(), 1U);
}

// A reader holds each grid while it reads every cell. If the pool reused a grid too early, the
// reader would see two readings at once, and the thread sanitizer would report it.
TEST(GridPool, AReaderNeverSeesItsGridFilledAgain) {
  constexpr int64_t kReadings = 2'000;
  GridPool pool;
  Published<Grid> published;
  const auto topology = Gpus(16);
  std::vector<std::jthread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&published] {
      for (int64_t seen = 0; seen < kReadings;) {
        const std::shared_ptr<const Grid> grid = published.Get();
        if (grid == nullptr) {
          std::this_thread::yield();
          continue;
        }
        seen = grid->cells().front().int64();
        for (const Value& value : grid->cells()) {
          ASSERT_EQ(value.int64(), seen);
        }
      }
    });
  }
  for (int64_t reading = 1; reading <= kReadings; ++reading) {
    std::shared_ptr<Grid> grid = pool.Take(topology, kFields);
    for (uint16_t row = 0; row < kFields.size(); ++row) {
      for (uint16_t column = 0; column < 16; ++column) {
        grid->at(FieldRow{row}, EntityId{column}) = Value::OfInt64(reading);
      }
    }
    published.Set(std::move(grid));
  }
}

}  // namespace
}  // namespace podgpu
