#include "exposition/text.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

// Three families of four slots each, in three number formats.
std::shared_ptr<const SeriesPlan> PlanOfSlots() {
  PlanBuilder builder;
  size_t slot = 0;
  for (const NumberFormat format : {NumberFormat::kDcgm, NumberFormat::kGo, NumberFormat::kFloat}) {
    builder.BeginFamily({.name = "family_" + std::to_string(slot),
                         .help = "x",
                         .type = "gauge",
                         .unit = "",
                         .format = format});
    for (int i = 0; i < 4; ++i) {
      builder.AddSeries(builder.AddLabels(RenderLabels({{"i", std::to_string(i)}})),
                        NumberSource::Slot(slot++));
    }
  }
  return std::make_shared<const SeriesPlan>(std::move(builder).Build());
}

class TextRendererTest : public ::testing::Test {
 protected:
  // Renders the next page, which must have the bytes of a page that is rendered whole; returns how
  // many numbers were written.
  size_t Next() {
    std::string page = renderer_.Render(plan_, nullptr, slots_, last_);
    std::string whole;
    const size_t count = RenderText(*plan_, nullptr, slots_, whole);
    EXPECT_EQ(page, whole);
    EXPECT_EQ(renderer_.series_count(), count);
    last_ = std::move(page);
    return renderer_.numbers_written();
  }

  std::shared_ptr<const SeriesPlan> plan_ = PlanOfSlots();
  std::vector<Value> slots_ = std::vector<Value>(12, Value::OfInt64(7));
  TextRenderer renderer_;
  std::string last_;
};

TEST_F(TextRendererTest, WritesOnlyNumbersThatHaveChanged) {
  EXPECT_EQ(Next(), 12U) << "the first page";
  EXPECT_EQ(Next(), 0U);
  slots_[5] = Value::OfInt64(8);
  EXPECT_EQ(Next(), 1U);
  slots_[5] = Value::OfInt64(8, /*age_ms=*/500);
  EXPECT_EQ(Next(), 0U) << "a younger sample of the same value";
  EXPECT_EQ(Next(), 0U);
}

TEST_F(TextRendererTest, NumbersMayChangeTheirWidthAndKind) {
  Next();
  const struct {
    size_t slot;
    Value value;
  } rows[] = {{0, Value::OfInt64(1234567)},
              {11, Value::OfInt64(-12)},
              {6, Value::OfDouble(0.25)},
              {0, Value::OfInt64(1)},
              {0, Value::OfDouble(1)},
              {1, Value::OfDouble(std::numeric_limits<double>::max())},
              {1, Value::OfDouble(std::numeric_limits<double>::quiet_NaN())},
              {11, Value::OfInt64(3)},
              {6, Value::OfInt64(std::numeric_limits<int64_t>::min())}};
  for (const auto& row : rows) {
    slots_[row.slot] = row.value;
    EXPECT_EQ(Next(), 1U);
    EXPECT_EQ(Next(), 0U);
  }
}

TEST_F(TextRendererTest, RendersTheWholePageWhenALineAppearsOrDisappears) {
  Next();
  slots_[5] = Value::OfAbsence(Absence::kStale);
  slots_[1] = Value::OfInt64(9);
  EXPECT_EQ(Next(), 11U);
  EXPECT_EQ(Next(), 0U);
  slots_[5] = Value::OfAbsence(Absence::kNoData);
  EXPECT_EQ(Next(), 0U) << "absent for another reason";
  slots_[5] = Value::OfInt64(1);
  EXPECT_EQ(Next(), 12U);
  for (size_t i = 4; i < 8; ++i) {
    slots_[i] = Value::OfAbsence(Absence::kNoData);
  }
  EXPECT_EQ(Next(), 8U) << "a family without lines has no header";
}

TEST_F(TextRendererTest, RendersTheWholePageForAnotherPlanOrAfterAnotherText) {
  Next();
  plan_ = PlanOfSlots();
  EXPECT_EQ(Next(), 12U);
  EXPECT_EQ(Next(), 0U);
  last_ = "a text of a different size";
  EXPECT_EQ(Next(), 12U);
}

TEST_F(TextRendererTest, ThousandsOfPagesEqualPagesThatAreRenderedWhole) {
  std::mt19937 random(18);  // NOLINT(bugprone-random-generator-seed): the same pages in each run.
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  for (int page = 0; page < 3'000; ++page) {
    for (uint32_t change = below(6); change > 0; --change) {
      Value& value = slots_[below(12)];
      switch (below(12)) {
        case 0:
          value = Value::OfAbsence(Absence::kNoData);
          break;
        case 1:
        case 2:
        case 3:
          value = Value::OfDouble(static_cast<double>(below(1'000'000)) / (1 + below(1'000)));
          break;
        default:
          value = Value::OfInt64(int64_t{below(1'000'000)} - 500'000);
      }
    }
    Next();
  }
}

}  // namespace
}  // namespace podgpu
