#include "sample/grid.h"

#include <set>

#include <gtest/gtest.h>

#include "fields/field_ids.h"

namespace podgpu {
namespace {

std::shared_ptr<const Topology> TwoGpus() {
  auto topology = std::make_shared<Topology>();
  topology->gpus.resize(2);
  topology->gpus[1].gpu_id = 1;
  topology->entities.resize(2);
  topology->entities[1].gpu = 1;
  return topology;
}

Grid TwoByTwo() { return Grid(TwoGpus(), {FindField(150), FindField(155)}); }

TEST(Grid, BeginsWithEveryCellNotRead) {
  const Grid grid = TwoByTwo();
  ASSERT_EQ(grid.cells().size(), 4U);
  for (const Value& value : grid.cells()) {
    EXPECT_FALSE(value.present());
    EXPECT_EQ(value.absence(), Absence::kNotRead);
  }
}

TEST(Grid, FindsRowsByFieldId) {
  const Grid grid = TwoByTwo();
  ASSERT_TRUE(grid.RowOf(155).has_value());
  EXPECT_EQ(grid.RowOf(155)->index, 1);
  for (const uint16_t id : std::initializer_list<uint16_t>{0, 151, 156}) {
    EXPECT_FALSE(grid.RowOf(id).has_value()) << id;
  }
}

TEST(Grid, StoresRowMajor) {
  Grid grid = TwoByTwo();
  grid.at(FieldRow{1}, EntityId{0}) = Value::OfDouble(72.5, 40);
  EXPECT_EQ(grid.CellIndex(FieldRow{1}, EntityId{0}), 2U);
  EXPECT_EQ(grid.cells()[2].real(), 72.5);
  EXPECT_EQ(grid.cells()[2].age_ms(), 40U);
}

TEST(Grid, HasCellsOnlyInColumnsOfTheField) {
  auto topology = std::make_shared<Topology>(*TwoGpus());
  topology->parts = {{.kind = PartKind::kNvSwitch, .id = 0},
                     {.kind = PartKind::kNvLink, .id = 0, .gpu = 0},
                     {.kind = PartKind::kNvLink, .id = 1, .gpu = 0},
                     {.kind = PartKind::kCpu, .id = 0},
                     {.kind = PartKind::kCpuCore, .id = 0}};
  const struct {
    uint16_t field;
    size_t first, count;
  } rows[] = {{1, 0, 2}, {150, 0, 2}, {780, 2, 3}, {858, 2, 1}, {1100, 5, 2}, {1110, 5, 1}};
  std::vector<const Field*> fields;
  for (const auto& row : rows) {
    fields.push_back(FindField(row.field));
  }
  Grid grid(topology, fields);
  size_t cells = 0;
  for (const auto& row : rows) {
    const ColumnRange columns = grid.ColumnsOf(*grid.RowOf(row.field));
    EXPECT_EQ(columns.first, row.first) << row.field;
    EXPECT_EQ(columns.count, row.count) << row.field;
    EXPECT_EQ(grid.CellIndex(*grid.RowOf(row.field), EntityId{static_cast<uint16_t>(row.first)}),
              cells);
    EXPECT_EQ(grid.CellsOf(*grid.RowOf(row.field)).size(), row.count);
    cells += row.count;
  }
  EXPECT_EQ(grid.cells().size(), cells);
  grid.at(*grid.RowOf(1110), EntityId{5}) = Value::OfDouble(40);
  EXPECT_TRUE(grid.HasFreshNumbers(EntityId{5}, std::chrono::seconds(1)));
  EXPECT_FALSE(grid.HasFreshNumbers(EntityId{0}, std::chrono::seconds(1)));
}

// The XID is an event: it stays on the page when its GPU is gone.
TEST(Grid, ANumberIsFreshUpToTheLimitAndTheXidIsNotCurrent) {
  using std::chrono::milliseconds;
  Grid grid(TwoGpus(), {FindField(150), FindField(230)});
  const FieldRow temperature{0};
  const FieldRow xid{1};
  const EntityId gpu{0};
  grid.at(temperature, gpu) = Value::OfInt64(40, 1'000);
  EXPECT_TRUE(grid.HasFreshNumbers(gpu, milliseconds(1'000)));
  EXPECT_FALSE(grid.HasFreshNumbers(gpu, milliseconds(999)));
  EXPECT_TRUE(grid.HasCurrentNumbers(gpu)) << "at any age";
  EXPECT_FALSE(grid.HasCurrentNumbers(EntityId{1}));
  grid.at(temperature, gpu) = Value::OfText(grid.InternText("40"));
  EXPECT_FALSE(grid.HasFreshNumbers(gpu, milliseconds(1'000)));
  EXPECT_FALSE(grid.HasCurrentNumbers(gpu)) << "a text is not a number";
  grid.at(xid, gpu) = Value::OfInt64(79, 10);
  EXPECT_TRUE(grid.HasFreshNumbers(gpu, milliseconds(1'000)));
  EXPECT_FALSE(grid.HasCurrentNumbers(gpu));
}

TEST(Grid, AFieldThatIsReadTooRarelyShowsNoLife) {
  Grid grid(TwoGpus(), {FindField(field_ids::kInforomValid)});
  grid.at(FieldRow{0}, EntityId{0}) = Value::OfInt64(1);
  EXPECT_FALSE(grid.HasFreshNumbers(EntityId{0}, std::chrono::seconds(1)));
  EXPECT_FALSE(grid.HasCurrentNumbers(EntityId{0}));
}

// A value of a slow collection may be from before a loss; but a device that has no other values is
// there for as long as they are not too old.
TEST(Grid, ASlowCollectionShowsLifeOnlyWhereThereIsNothingElse) {
  using std::chrono::seconds;
  const auto slow =
      std::make_shared<const FieldCollections>(FieldCollections{{"slow", seconds(60), {150}}});
  Grid both(TwoGpus(), {FindField(150), FindField(155)});
  Grid alone(TwoGpus(), {FindField(150)});
  for (Grid* grid : {&both, &alone}) {
    grid->SetCollections(slow, seconds(1));
    grid->at(FieldRow{0}, EntityId{0}) = Value::OfInt64(41, 100'000);
  }
  EXPECT_FALSE(both.HasFreshNumbers(EntityId{0}, seconds(5)));
  EXPECT_FALSE(both.HasCurrentNumbers(EntityId{0}));
  EXPECT_TRUE(alone.HasFreshNumbers(EntityId{0}, seconds(5)));
  EXPECT_TRUE(alone.HasCurrentNumbers(EntityId{0}));
  alone.at(FieldRow{0}, EntityId{0}) = Value::OfInt64(41, 181'000);
  EXPECT_FALSE(alone.HasFreshNumbers(EntityId{0}, seconds(5)));
  alone.SetCollections(
      std::make_shared<const FieldCollections>(FieldCollections{{"fast", seconds(1), {150}}}),
      seconds(30));
  EXPECT_FALSE(alone.HasFreshNumbers(EntityId{0}, seconds(90)));
}

// What a device cannot give, texts and events say nothing about it.
TEST(Grid, ASlowCollectionShowsLifeWhereNothingElseHasNumbers) {
  using std::chrono::seconds;
  const auto slow =
      std::make_shared<const FieldCollections>(FieldCollections{{"slow", seconds(60), {150}}});
  const struct {
    Value other;
    uint16_t field;
    bool lives;
  } rows[] = {{Value::OfAbsence(Absence::kNotSupported), 1002, true},
              {Value::OfAbsence(Absence::kNotWatched), 1002, true},
              {Value::OfAbsence(Absence::kCountersTaken), 1002, true},
              {Value::OfText(0), 1, true},
              {Value::OfAbsence(Absence::kNoData), field_ids::kXid, true},
              {Value::OfAbsence(Absence::kNoData), 155, false},
              {Value::OfAbsence(Absence::kBlank), 155, false},
              {Value::OfAbsence(Absence::kStale), 155, false}};
  for (const auto& row : rows) {
    std::vector<const Field*> fields = {FindField(150), FindField(row.field)};
    std::ranges::sort(fields, {}, &Field::id);
    Grid grid(TwoGpus(), fields);
    grid.SetCollections(slow, seconds(1));
    grid.at(*grid.RowOf(150), EntityId{0}) = Value::OfInt64(41, 50'000);
    grid.at(*grid.RowOf(row.field), EntityId{0}) = row.other;
    EXPECT_EQ(grid.HasFreshNumbers(EntityId{0}, seconds(5)), row.lives) << row.field;
    EXPECT_EQ(grid.HasCurrentNumbers(EntityId{0}), row.lives) << row.field;
  }
}

TEST(Grid, KeepsEachTextOnceUntilItIsCleared) {
  Grid grid = TwoByTwo();
  const uint32_t first = grid.InternText("580.95.05");
  EXPECT_EQ(grid.InternText("A100"), first + 1);
  EXPECT_EQ(grid.InternText("580.95.05"), first);
  EXPECT_EQ(grid.text(Value::OfText(first + 1)), "A100");
  grid.at(FieldRow{0}, EntityId{0}) = Value::OfText(first);
  grid.findings.asked.health = true;
  grid.Clear(Absence::kSourceDown);
  EXPECT_FALSE(grid.findings.asked.health);
  EXPECT_EQ(grid.at(FieldRow{0}, EntityId{0}).absence(), Absence::kSourceDown);
  EXPECT_EQ(grid.InternText("new"), 0U);
  EXPECT_EQ(grid.text(Value::OfText(0)), "new");
}

TEST(GridDeathTest, StopsOnBugs) {
  EXPECT_DEATH(Grid(TwoGpus(), {FindField(155), FindField(150)}), "Ascending");
  EXPECT_DEATH(Grid(TwoGpus(), {FindField(150), FindField(150)}), "Ascending");
  EXPECT_DEATH(Grid(nullptr, {}), "topology_");
  EXPECT_DEATH(TwoByTwo().at(FieldRow{2}, EntityId{0}), "rows_.size");
  EXPECT_DEATH(TwoByTwo().at(FieldRow{0}, EntityId{2}), "Contains");
  EXPECT_DEATH(TwoByTwo().text(Value::OfText(0)), "text_count_");
}

TEST(Value, CarriesEachKindUnchanged) {
  EXPECT_EQ(Value::OfInt64(-9007199254740993).int64(), -9007199254740993);
  EXPECT_EQ(Value::OfInt64(3).number(), 3.0);
  EXPECT_EQ(Value::OfDouble(0.25).number(), 0.25);
  EXPECT_EQ(Value::OfText(7).text(), 7U);
  EXPECT_FALSE(Value::OfAbsence(Absence::kBlank).present());
  EXPECT_EQ(Value::OfAbsence(Absence::kBlank).absence(), Absence::kBlank);
}

TEST(Absence, HasADistinctNameForEachReason) {
  std::set<std::string_view> words;
  for (int i = 0; i < kAbsenceCount; ++i) {
    words.insert(AbsenceName(static_cast<Absence>(i)));
  }
  EXPECT_EQ(words.size(), size_t{kAbsenceCount});
  EXPECT_EQ(kAbsenceCount, static_cast<int>(Absence::kOtherGpu) + 1) << "the last one";
  EXPECT_EQ(AbsenceName(Absence::kNotRead), "not_read");
  EXPECT_EQ(AbsenceName(Absence::kStale), "stale");
  EXPECT_EQ(AbsenceName(Absence::kWrongType), "wrong_type");
}

}  // namespace
}  // namespace podgpu
