#include "exposition/page_builder.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "exposition/text.h"

namespace podgpu {
namespace {

// A family with one line for each of `names`, whose numbers are 10, 20, 30 and so on.
struct NamedNumbers {
  std::string family;
  std::vector<std::string> names;
  uint64_t generation = 0;
  bool appends_backwards = false;
  int64_t appended_too_many = 0;
  uint32_t slot_error = 0;  // Added to the slot of each line.
  NumberFormat format = NumberFormat::kShortest;

  Section AsSection(bool needs_grid = false) {
    return {.name = family,
            .needs_grid = needs_grid,
            .generation = [this] { return generation; },
            .slot_count = [this] { return static_cast<uint32_t>(names.size()); },
            .add_to = [this](uint32_t first_slot, PlanBuilder& plan) { AddTo(first_slot, plan); },
            .append_to = [this](std::vector<Value>& slots) { AppendTo(slots); }};
  }

  void AddTo(uint32_t first_slot, PlanBuilder& plan) const {
    plan.BeginFamily(
        {.name = family, .help = "Numbers.", .type = "gauge", .unit = "", .format = format});
    for (const std::string& name : names) {
      plan.AddSeries(plan.AddLabels(RenderLabels({{"name", name}})),
                     NumberSource::Slot(first_slot++ + slot_error));
    }
  }

  void AppendTo(std::vector<Value>& slots) const {
    const size_t first = slots.size();
    const auto count = static_cast<int64_t>(names.size());
    for (int64_t i = 0; i < count + appended_too_many; ++i) {
      const int64_t place = appends_backwards ? count - 1 - i : i;
      AppendAt(first + static_cast<size_t>(place), Value::OfInt64(10 * (place + 1)), slots);
    }
  }
};

std::string Write(const SeriesPlan& plan, const std::vector<Value>& slots,
                  const Grid* grid = nullptr) {
  std::string text;
  RenderText(plan, grid, slots, text);
  return text;
}

class PageBuilderTest : public ::testing::Test {
 protected:
  PageBuilder Page(size_t series_budget = 0) {
    return PageBuilder({fruits_.AsSection(), colours_.AsSection()}, series_budget);
  }
  // Makes and fills a page of these sections once; called by death tests.
  void MakeOnce() {
    PageBuilder page = Page();
    page.Refresh(nullptr, nullptr);
    FillFrom(page);
  }

  void FillFrom(const PageBuilder& page) {
    slots_.clear();
    page.AppendTo(slots_);
  }

  NamedNumbers fruits_{.family = "fruits", .names = {"apple", "pear"}};
  NamedNumbers colours_{.family = "colours", .names = {"red"}};
  std::vector<Value> slots_;
};

using PageBuilderDeathTest = PageBuilderTest;

TEST_F(PageBuilderTest, WritesEachNumberAfterItsOwnLabels) {
  PageBuilder page = Page();
  EXPECT_TRUE(page.Refresh(nullptr, nullptr));
  FillFrom(page);
  EXPECT_EQ(Write(*page.plan(), slots_),
            "# HELP fruits Numbers.\n# TYPE fruits gauge\n"
            "fruits{name=\"apple\"} 10\nfruits{name=\"pear\"} 20\n"
            "# HELP colours Numbers.\n# TYPE colours gauge\n"
            "colours{name=\"red\"} 10\n");
}

TEST_F(PageBuilderTest, KeepsThePlanWhileNoGenerationChanges) {
  PageBuilder page = Page();
  page.Refresh(nullptr, nullptr);
  const std::shared_ptr<const SeriesPlan> first = page.plan();
  EXPECT_FALSE(page.Refresh(nullptr, nullptr));
  EXPECT_EQ(page.plan(), first);

  fruits_.names.emplace_back("plum");
  ++fruits_.generation;
  EXPECT_TRUE(page.Refresh(nullptr, nullptr));
  FillFrom(page);
  EXPECT_NE(Write(*page.plan(), slots_).find("fruits{name=\"plum\"} 30\n"), std::string::npos);
  EXPECT_NE(Write(*page.plan(), slots_).find("colours{name=\"red\"} 10\n"), std::string::npos);
}

TEST_F(PageBuilderTest, MakesANewPlanForOtherDevicesFieldsAndOwners) {
  const auto devices = [](uint64_t epoch, const Field* field) {
    auto topology = std::make_shared<Topology>();
    topology->epoch = epoch;
    return Grid(topology, {field});
  };
  const auto owners = std::make_shared<const Owners>();
  auto named = std::make_shared<Owners>();
  named->by_entity.resize(1);
  const Grid grid = devices(1, FindField(150));
  PageBuilder page = Page();
  EXPECT_TRUE(page.Refresh(nullptr, nullptr));
  EXPECT_TRUE(page.Refresh(&grid, owners));
  EXPECT_FALSE(page.Refresh(&grid, owners));
  EXPECT_FALSE(page.Refresh(&grid, std::make_shared<const Owners>()));  // They are equal.
  EXPECT_TRUE(page.Refresh(&grid, named));
  const Grid next_epoch = devices(2, FindField(150));
  EXPECT_TRUE(page.Refresh(&next_epoch, named));
  const Grid other_field = devices(2, FindField(155));
  EXPECT_TRUE(page.Refresh(&other_field, named));
}

TEST_F(PageBuilderTest, LeavesOutDeviceSectionsBeforeTheFirstReading) {
  PageBuilder page({fruits_.AsSection(true), colours_.AsSection()});
  page.Refresh(nullptr, nullptr);
  FillFrom(page);
  EXPECT_EQ(slots_.size(), 1U);

  const Grid grid(std::make_shared<Topology>(), {FindField(150)});
  EXPECT_TRUE(page.Refresh(&grid, std::make_shared<const Owners>()));
  FillFrom(page);
  EXPECT_EQ(slots_.size(), 3U);
  EXPECT_NE(Write(*page.plan(), slots_, &grid).find("colours{name=\"red\"} 10\n"),
            std::string::npos);
}

TEST_F(PageBuilderTest, AllocatesNothingForASteadyPage) {
  PageBuilder page = Page();
  page.Refresh(nullptr, nullptr);
  FillFrom(page);
  const Allocations before = AllocationsOfThisThread();
  page.Refresh(nullptr, nullptr);
  FillFrom(page);
  EXPECT_EQ((AllocationsOfThisThread() - before).count, 0U);
}

// If the lines change but neither their count nor the generation does, the check at each tick
// cannot see it.  Only a comparison with a new plan can, and that is too expensive for each tick;
// tests do it.
TEST_F(PageBuilderTest, ComparingWithANewPlanFindsAGenerationThatDidNotChange) {
  PageBuilder page = Page();
  page.Refresh(nullptr, nullptr);
  FillFrom(page);
  EXPECT_EQ(Write(page.MakePlan(), slots_), Write(*page.plan(), slots_));

  fruits_.names = {"apple", "plum"};
  EXPECT_FALSE(page.Refresh(nullptr, nullptr));
  FillFrom(page);
  EXPECT_NE(Write(page.MakePlan(), slots_), Write(*page.plan(), slots_));
}

TEST_F(PageBuilderTest, ANewPlanForComparisonHasTheSameBudget) {
  fruits_.format = NumberFormat::kDcgm;
  for (const size_t budget : std::initializer_list<size_t>{0, 1, 2, 3}) {
    PageBuilder page = Page(budget);
    page.Refresh(nullptr, nullptr);
    FillFrom(page);
    const bool is_whole = budget == 0 || budget == 3;
    EXPECT_EQ(page.left_out(), is_whole ? 0U : 2U) << budget;
    const std::string text = Write(*page.plan(), slots_);
    EXPECT_EQ(text.find("apple") != std::string::npos, is_whole) << budget;
    EXPECT_NE(text.find("colours{name=\"red\"} 10"), std::string::npos) << budget;
    EXPECT_EQ(Write(page.MakePlan(), slots_), text) << budget;
  }
}

TEST_F(PageBuilderDeathTest, StopsWhenASectionAppendsMoreOrFewerThanItAnnounced) {
  fruits_.appended_too_many = 1;
  EXPECT_DEATH(MakeOnce(), "section fruits announced 2 numbers and appended 3");
  fruits_.appended_too_many = -1;
  EXPECT_DEATH(MakeOnce(), "section fruits announced 2 numbers and appended 1");
}

TEST_F(PageBuilderDeathTest, StopsWhenASectionAppendsInAnotherOrder) {
  fruits_.appends_backwards = true;
  EXPECT_DEATH(MakeOnce(), "slot == slots.size");
}

TEST_F(PageBuilderDeathTest, StopsWhenASectionHasMoreLinesButTheSameGeneration) {
  PageBuilder page = Page();
  page.Refresh(nullptr, nullptr);
  fruits_.names.emplace_back("plum");
  page.Refresh(nullptr, nullptr);
  EXPECT_DEATH(FillFrom(page), "section fruits announced 2 numbers and appended 3");
}

TEST_F(PageBuilderDeathTest, StopsWhenALineRefersToASlotOfAnotherSection) {
  fruits_.slot_error = 1;
  EXPECT_DEATH(MakeOnce(), "end_of_allowed_slots_");
  fruits_.slot_error = 0;
  colours_.slot_error = static_cast<uint32_t>(-1);
  EXPECT_DEATH(MakeOnce(), "first_allowed_slot_");
}

TEST_F(PageBuilderDeathTest, StopsWhenASectionAnnouncesNumbersButCannotAppend) {
  Section section = fruits_.AsSection();
  section.append_to = {};
  PageBuilder page({std::move(section)});
  page.Refresh(nullptr, nullptr);
  EXPECT_DEATH(FillFrom(page), "section fruits announced 2 numbers and appended 0");
}

}  // namespace
}  // namespace podgpu
