#include "exposition/series_plan.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "base/text.h"
#include "exposition/text.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

std::shared_ptr<const Topology> Gpus(size_t count, uint64_t epoch = 1) {
  auto topology = std::make_shared<Topology>();
  topology->epoch = epoch;
  topology->gpus.resize(count);
  topology->entities.resize(count);
  return topology;
}

// Two GPUs, temperature and power.
Grid SmallGrid() {
  Grid grid(Gpus(2), {FindField(1), FindField(150), FindField(155)});
  grid.at(FieldRow{1}, EntityId{0}) = Value::OfInt64(34);
  grid.at(FieldRow{1}, EntityId{1}) = Value::OfInt64(41);
  grid.at(FieldRow{2}, EntityId{0}) = Value::OfDouble(72.5);
  return grid;
}

Family Named(std::string name, std::string type = "gauge") {
  return {.name = std::move(name), .help = "what it is", .type = std::move(type), .unit = ""};
}

std::string Text(const SeriesPlan& plan, const Grid* grid, const std::vector<Value>& slots = {}) {
  std::string out;
  const size_t count = RenderText(plan, grid, slots, out);
  const auto page = ParseTextStrictly(out);
  EXPECT_TRUE(page.ok()) << page.status().message();
  size_t samples = 0;
  for (const ParsedFamily& family : *page) {
    samples += family.samples.size();
  }
  EXPECT_EQ(count, samples);
  return out;
}

std::string OpenMetrics(const SeriesPlan& plan, const Grid* grid,
                        const std::vector<Value>& slots = {}) {
  std::string out;
  RenderOpenMetrics(plan, grid, slots, out);
  EXPECT_TRUE(ParseOpenMetricsStrictly(out).ok()) << ParseOpenMetricsStrictly(out).status();
  return out;
}

TEST(SeriesPlan, HasTheSortKeyOfDcgmExporter) {
  EXPECT_EQ(SortKeyOf({{"gpu", "0"}, {"UUID", "GPU-a"}, {"device", ""}, {"gpu", "1"}}),
            "4:UUID=5:GPU-a;6:device=0:;3:gpu=1:0;");
  EXPECT_EQ(SortKeyOf({}), "");
}

TEST(SeriesPlan, SortsFamiliesByNameAndLinesByLabels) {
  PlanBuilder builder;
  const uint32_t b = builder.AddLabels(R"(gpu="1")", SortKeyOf({{"gpu", "1"}}));
  const uint32_t a = builder.AddLabels(R"(gpu="0")", SortKeyOf({{"gpu", "0"}}));
  builder.BeginFamily(Named("z_first"));
  builder.AddSeries(b, NumberSource::One());
  const size_t first = builder.family_count();
  builder.BeginFamily(Named("d"));
  builder.AddSeries(b, NumberSource::Slot(0));
  builder.AddSeries(a, NumberSource::Slot(1));
  builder.BeginFamily(Named("c"));
  builder.AddSeries(b, NumberSource::Slot(2));
  builder.SortFamilies(first);
  builder.BeginFamily(Named("d"));  // Continues the family in its new place.
  builder.AddSeries(builder.AddLabels(R"(gpu="2")"), NumberSource::Slot(3));
  builder.BeginFamily(Named("b_last"));
  builder.AddSeries(a, NumberSource::One());
  const std::string text =
      Text(std::move(builder).Build(), nullptr,
           {Value::OfInt64(10), Value::OfInt64(11), Value::OfInt64(12), Value::OfInt64(13)});
  std::string lines;
  for (const std::string_view line : Split(text, '\n')) {
    lines += line.starts_with('#') ? "" : std::string(line) + "\n";
  }
  EXPECT_EQ(lines,
            "z_first{gpu=\"1\"} 1\nc{gpu=\"1\"} 12\nd{gpu=\"0\"} 11\nd{gpu=\"1\"} 10\n"
            "d{gpu=\"2\"} 13\nb_last{gpu=\"0\"} 1\n\n");
}

TEST(SeriesPlan, RendersCellsSlotsBitsAndOnes) {
  const Grid grid = SmallGrid();
  PlanBuilder builder;
  const uint32_t zero = builder.AddLabels(RenderLabels({{"gpu", "0"}}));
  const uint32_t one = builder.AddLabels(RenderLabels({{"gpu", "1"}}));
  const uint32_t none = builder.AddLabels("");
  builder.BeginFamily(Named("temp"));
  builder.AddSeries(zero, NumberSource::Cell(2));
  builder.AddSeries(one, NumberSource::Cell(3), 10);
  builder.BeginFamily(Named("hot"));
  builder.AddSeries(zero, NumberSource::Bit(2, 1));
  builder.AddSeries(one, NumberSource::Bit(3, 1));
  builder.BeginFamily(Named("is_41"));
  builder.AddSeries(zero, NumberSource::Word(2, 41));
  builder.AddSeries(one, NumberSource::Word(3, 41));
  builder.BeginFamily(Named("self", "counter"));
  builder.AddSeries(none, NumberSource::Slot(1));
  builder.BeginFamily(Named("facts"));
  builder.AddSeries(zero, NumberSource::One());
  const SeriesPlan plan = std::move(builder).Build();
  EXPECT_EQ(Text(plan, &grid, {Value(), Value::OfDouble(0.5)}),
            "# HELP temp what it is\n# TYPE temp gauge\ntemp{gpu=\"0\"} 34\ntemp{gpu=\"1\"} 410\n"
            "# HELP hot what it is\n# TYPE hot gauge\nhot{gpu=\"0\"} 1\nhot{gpu=\"1\"} 0\n"
            "# HELP is_41 what it is\n# TYPE is_41 gauge\nis_41{gpu=\"0\"} 0\nis_41{gpu=\"1\"} 1\n"
            "# HELP self what it is\n# TYPE self counter\nself 0.5\n"
            "# HELP facts what it is\n# TYPE facts gauge\nfacts{gpu=\"0\"} 1\n");
}

TEST(SeriesPlan, LeavesOutLinesWithoutANumber) {
  Grid grid = SmallGrid();
  grid.at(FieldRow{0}, EntityId{0}) = Value::OfText(grid.InternText("580"));
  PlanBuilder builder;
  const uint32_t labels = builder.AddLabels("");
  const uint32_t other = builder.AddLabels(RenderLabels({{"gpu", "1"}}));
  builder.BeginFamily(Named("driver"));
  builder.AddSeries(labels, NumberSource::Cell(0));  // A text.
  builder.AddSeries(other, NumberSource::Cell(1));   // Absent.
  builder.BeginFamily(Named("power"));
  builder.AddSeries(labels, NumberSource::Cell(4));
  builder.AddSeries(other, NumberSource::Cell(5));  // Absent.
  builder.BeginFamily(Named("bit"));
  builder.AddSeries(labels, NumberSource::Bit(4, 0));    // Not an integer.
  builder.AddSeries(labels, NumberSource::Word(4, 72));  // Likewise.
  builder.BeginFamily(Named("nothing"));
  const SeriesPlan plan = std::move(builder).Build();
  EXPECT_EQ(Text(plan, &grid), "# HELP power what it is\n# TYPE power gauge\npower 72.5\n");
  EXPECT_EQ(OpenMetrics(plan, &grid),
            "# TYPE power gauge\n# HELP power what it is\npower 72.5\n# EOF\n");
}

TEST(SeriesPlan, JoinsFamiliesOfOneNameUnderTheFirstHeader) {
  PlanBuilder builder;
  const uint32_t a = builder.AddLabels(RenderLabels({{"x", "a"}}));
  const uint32_t b = builder.AddLabels(RenderLabels({{"x", "b"}}));
  builder.BeginFamily(Named("first"));
  builder.AddSeries(a, NumberSource::One());
  builder.BeginFamily(Named("second"));
  builder.AddSeries(a, NumberSource::One());
  Family again = Named("first", "counter");
  again.scale = 0.5;
  builder.BeginFamily(again);
  builder.AddSeries(b, NumberSource::One());
  EXPECT_EQ(Text(std::move(builder).Build(), nullptr),
            "# HELP first what it is\n# TYPE first gauge\nfirst{x=\"a\"} 1\nfirst{x=\"b\"} 0.5\n"
            "# HELP second what it is\n# TYPE second gauge\nsecond{x=\"a\"} 1\n");
}

TEST(OpenMetricsFamilies, GetTheTypeNameAndUnitThatTheFormatAllows) {
  struct Case {
    std::vector<Family> families;
    std::string_view headers;
  };
  for (const Case& c : std::initializer_list<Case>{
           {{{"a_joules_total", "h", "counter", "joules"}},
            "# TYPE a_joules counter\n# UNIT a_joules joules\n# HELP a_joules h\n"
            "a_joules_total 1\n"},
           {{{"a_watts", "say \"x\"", "gauge", "watts"}},
            "# TYPE a_watts gauge\n# UNIT a_watts watts\n# HELP a_watts say \\\"x\\\"\na_watts "
            "1\n"},
           {{{"A_TOTAL", "", "counter", "watts"}}, "# TYPE A_TOTAL unknown\nA_TOTAL 1\n"},
           {{{"a", "", "untyped", ""}}, "# TYPE a unknown\na 1\n"},
           {{{"a_total", "", "gauge", ""}}, "# TYPE a_total gauge\na_total 1\n"},
           {{{"_total", "", "counter", ""}}, "# TYPE _total unknown\n_total 1\n"},
           {{{"e_joules", "", "counter", "joules"}, {"e_joules_total", "", "counter", "joules"}},
            "# TYPE e_joules unknown\n# UNIT e_joules joules\ne_joules 1\n"
            "# TYPE e_joules_total unknown\ne_joules_total 1\n"}}) {
    PlanBuilder builder;
    const uint32_t labels = builder.AddLabels("");
    for (const Family& family : c.families) {
      builder.BeginFamily(family);
      builder.AddSeries(labels, NumberSource::One());
    }
    EXPECT_EQ(OpenMetrics(std::move(builder).Build(), nullptr), std::string(c.headers) + "# EOF\n");
  }
}

TEST(OpenMetricsFamilies, MakeHistogramAndSummaryUnknown) {
  for (const char* type : {"histogram", "summary"}) {
    PlanBuilder builder;
    const uint32_t labels = builder.AddLabels("");
    builder.BeginFamily({.name = "a", .help = "", .type = type, .unit = ""});
    builder.AddSeries(labels, NumberSource::One());
    const SeriesPlan plan = std::move(builder).Build();
    EXPECT_EQ(OpenMetrics(plan, nullptr), "# TYPE a unknown\na 1\n# EOF\n");
    std::string text;
    RenderText(plan, nullptr, {}, text);
    EXPECT_EQ(text, "# HELP a \n# TYPE a " + std::string(type) + "\na 1\n");
  }
}

TEST(OpenMetrics, LeavesOutNegativeAndNanCounters) {
  PlanBuilder builder;
  const uint32_t a = builder.AddLabels(RenderLabels({{"x", "a"}}));
  const uint32_t b = builder.AddLabels(RenderLabels({{"x", "b"}}));
  const uint32_t c = builder.AddLabels(RenderLabels({{"x", "c"}}));
  builder.BeginFamily(Named("n_total", "counter"));
  builder.AddSeries(a, NumberSource::Slot(0));
  builder.AddSeries(b, NumberSource::Slot(1));
  builder.AddSeries(c, NumberSource::Slot(2));
  const SeriesPlan plan = std::move(builder).Build();
  const std::vector<Value> slots = {Value::OfInt64(-1), Value::OfDouble(std::nan("")),
                                    Value::OfInt64(0)};
  EXPECT_EQ(OpenMetrics(plan, nullptr, slots),
            "# TYPE n counter\n# HELP n what it is\nn_total{x=\"c\"} 0\n# EOF\n");
  EXPECT_NE(Text(plan, nullptr, slots).find("n_total{x=\"a\"} -1\n"), std::string::npos);
}

// Families in dcgm-exporter's format with 2, 1 and 3 series, and one of another format with 1.
PlanBuilder SevenSeries() {
  PlanBuilder builder;
  const auto add = [&](const char* name, NumberFormat format, int count) {
    Family family = Named(name);
    family.format = format;
    builder.BeginFamily(family);
    for (int i = 0; i < count; ++i) {
      builder.AddSeries(builder.AddLabels(RenderLabels({{"i", std::to_string(i)}})),
                        NumberSource::One());
    }
  };
  add("DCGM_A", NumberFormat::kDcgm, 2);
  add("DCGM_B", NumberFormat::kDcgm, 1);
  add("DCGM_C", NumberFormat::kDcgm, 3);
  add("podgpu_d", NumberFormat::kShortest, 1);
  return builder;
}

TEST(SeriesPlan, IsTrimmedByWholeFamiliesFromTheLast) {
  const struct {
    size_t budget, dropped;
    std::string families;  // Those that are left.
  } rows[] = {{8, 0, "ABCd"}, {7, 0, "ABCd"}, {6, 3, "ABd"}, {4, 3, "ABd"},
              {3, 4, "Ad"},   {2, 6, "d"},    {1, 6, "d"},   {0, 6, "d"}};
  for (const auto& row : rows) {
    PlanBuilder builder = SevenSeries();
    EXPECT_EQ(builder.TrimTo(row.budget), row.dropped) << row.budget;
    const std::string text = Text(std::move(builder).Build(), nullptr);
    std::string families;
    for (const char family : std::string("ABCd")) {
      if (text.find(std::string("_") + family + "{") != std::string::npos) {
        families += family;
      }
    }
    EXPECT_EQ(families, row.families) << row.budget;
  }
}

TEST(SeriesPlan, KnowsWhenItsLabelsAreOutOfDate) {
  Grid grid = SmallGrid();
  grid.at(FieldRow{0}, EntityId{0}) = Value::OfText(grid.InternText("580"));
  PlanBuilder builder;
  for (const uint32_t cell : {0U, 1U, 2U, 4U}) {
    builder.DependsOn(grid, cell);
  }
  const SeriesPlan plan = std::move(builder).Build();
  EXPECT_TRUE(plan.LabelsAreCurrent(grid));

  const auto changed = [&](FieldRow row, const Value& value) {
    Grid other = grid;
    other.at(row, EntityId{0}) = value;
    return !plan.LabelsAreCurrent(other);
  };
  Grid other = grid;
  EXPECT_TRUE(changed(FieldRow{1}, Value::OfInt64(35)));
  EXPECT_TRUE(changed(FieldRow{1}, Value::OfDouble(34)));
  EXPECT_TRUE(changed(FieldRow{2}, Value()));
  EXPECT_FALSE(changed(FieldRow{1}, Value::OfInt64(34, 5000)));
  // Texts are compared by their bytes; reasons of absence are not compared.
  other.Clear(Absence::kBlank);
  other.InternText("filler");
  other.at(FieldRow{0}, EntityId{0}) = Value::OfText(other.InternText("580"));
  other.at(FieldRow{1}, EntityId{0}) = Value::OfInt64(34);
  other.at(FieldRow{2}, EntityId{0}) = Value::OfDouble(72.5);
  EXPECT_TRUE(plan.LabelsAreCurrent(other));
  other.at(FieldRow{0}, EntityId{0}) = Value::OfText(other.InternText("590"));
  EXPECT_FALSE(plan.LabelsAreCurrent(other));
  EXPECT_FALSE(plan.LabelsAreCurrent(Grid(Gpus(1), {})));
}

TEST(SeriesPlan, FitsOnlyTheGridsAndSlotsItWasBuiltFor) {
  const Grid grid = SmallGrid();
  PlanBuilder builder;
  builder.CountCellsIn(grid);
  const uint32_t labels = builder.AddLabels("");
  builder.BeginFamily(Named("a"));
  builder.AddSeries(labels, NumberSource::Cell(5));
  builder.AddSeries(labels, NumberSource::Slot(0));
  const SeriesPlan plan = std::move(builder).Build();
  const std::vector<Value> slots(1);
  EXPECT_TRUE(plan.Fits(&grid, slots));
  EXPECT_FALSE(plan.Fits(&grid, {}));
  EXPECT_FALSE(plan.Fits(nullptr, slots));
  const Grid later(Gpus(2, 2), grid.fields());
  EXPECT_FALSE(plan.Fits(&later, slots));
  const Grid smaller(Gpus(2), {FindField(1)});
  EXPECT_FALSE(plan.Fits(&smaller, slots));
  std::string out;
  EXPECT_DEATH(RenderText(plan, &smaller, slots, out), "Fits");
}

TEST(SeriesPlanDeathTest, StopsOnASeriesWithoutAFamilyAndOnInvalidFamilies) {
  EXPECT_DEATH(PlanBuilder().AddSeries(0, NumberSource::One()), "current_");
  EXPECT_DEATH(PlanBuilder().BeginFamily(Named("a b")), "IsMetricName");
  EXPECT_DEATH(PlanBuilder().BeginFamily(Named("a", "info")), "kTypes");
}

TEST(Rendering, AllocatesNothingWhenThePageHasRoom) {
  const Grid grid = SmallGrid();
  PlanBuilder builder;
  const uint32_t labels =
      builder.AddLabels(RenderLabels({{"UUID", "GPU-11111111-1111-1111-1111-111111111111"}}));
  for (int i = 0; i < 50; ++i) {
    builder.BeginFamily(Named("podgpu_family_with_a_long_name_" + std::to_string(i)));
    builder.AddSeries(labels, NumberSource::Cell(4), i % 2 == 0 ? 1.0 : 0.001);
  }
  const SeriesPlan plan = std::move(builder).Build();
  std::string out;
  out.reserve(1 << 16);
  const Allocations before = AllocationsOfThisThread();
  EXPECT_EQ(RenderText(plan, &grid, {}, out), 50U);
  EXPECT_EQ(RenderOpenMetrics(plan, &grid, {}, out), 50U);
  EXPECT_EQ((AllocationsOfThisThread() - before).count, 0U);
}

TEST(SeriesPlan, Costs16BytesASeries) { EXPECT_EQ(sizeof(SeriesPlan::Series), 16U); }

}  // namespace
}  // namespace podgpu
