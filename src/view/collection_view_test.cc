#include "view/collection_view.h"

#include <gtest/gtest.h>

#include "exposition/text.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(CollectionView, TellsTheIntervalAndTheOldestValueOfEachCollection) {
  auto topology = std::make_shared<Topology>();
  topology->gpus.resize(1);
  topology->entities.resize(1);
  Grid grid(topology, {FindField(150), FindField(155), FindField(230)});
  grid.at(FieldRow{0}, EntityId{0}) = Value::OfInt64(41, 2'000);
  grid.at(FieldRow{1}, EntityId{0}) = Value::OfDouble(300, 31'000);
  grid.at(FieldRow{2}, EntityId{0}) = Value::OfInt64(79, 3'600'000);
  const FieldCollections collections = {{"slow \"1\"", seconds(60), {150, 155, 230, 1001}},
                                        {"fast", milliseconds(500), {1002}}};
  PlanBuilder builder;
  builder.CountCellsIn(grid);
  AddCollections(collections, 0, builder);
  std::vector<Value> slots;
  AppendCollections(collections, grid, milliseconds(1'500), slots);
  ASSERT_EQ(slots.size(), CollectionSlotCount(collections));
  std::string text;
  RenderText(std::move(builder).Build(), &grid, slots, text);
  EXPECT_TRUE(ParseTextStrictly(text).ok());
  EXPECT_EQ(text,
            "# HELP podgpu_collection_interval_seconds How often the fields of a collection of "
            "--config-file are sampled.\n"
            "# TYPE podgpu_collection_interval_seconds gauge\n"
            "podgpu_collection_interval_seconds{collection=\"slow \\\"1\\\"\"} 60\n"
            "podgpu_collection_interval_seconds{collection=\"fast\"} 0.5\n"
            "# HELP podgpu_collection_age_seconds Age of the oldest value on the page of a "
            "collection of --config-file; absent while it has no value.\n"
            "# TYPE podgpu_collection_age_seconds gauge\n"
            "podgpu_collection_age_seconds{collection=\"slow \\\"1\\\"\"} 32.5\n")
      << "the time stamp of the XID is that of the event";
}

}  // namespace
}  // namespace podgpu
