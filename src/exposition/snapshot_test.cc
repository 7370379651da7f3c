#include "exposition/snapshot.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/gunzip.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

Snapshot SlotsOnly(size_t count) {
  PlanBuilder builder;
  builder.BeginFamily({.name = "podgpu_ready", .help = "x", .type = "gauge", .unit = ""});
  for (size_t i = 0; i < count; ++i) {
    builder.AddSeries(builder.AddLabels(RenderLabels({{"i", std::to_string(i)}})),
                      NumberSource::Slot(i));
  }
  return Snapshot({.plan = std::make_shared<const SeriesPlan>(std::move(builder).Build()),
                   .grid = nullptr,
                   .owners = nullptr,
                   .slots = std::vector<Value>(count, Value::OfInt64(7)),
                   .tick = 3});
}

TEST(Snapshot, HoldsOnePageInFourForms) {
  const Snapshot snapshot = SlotsOnly(100);
  EXPECT_EQ(snapshot.series_count(), 100U);
  EXPECT_EQ(snapshot.parts().tick, 3U);
  EXPECT_TRUE(ParseTextStrictly(snapshot.text()).ok());
  EXPECT_TRUE(ParseOpenMetricsStrictly(snapshot.openmetrics()).ok());
  EXPECT_EQ(Gunzip(snapshot.text_gzip()), snapshot.text());
  EXPECT_EQ(Gunzip(snapshot.openmetrics_gzip()), snapshot.openmetrics());
}

TEST(Snapshot, MakesEachFormOnceForAllThreads) {
  const Snapshot snapshot = SlotsOnly(1000);
  std::vector<const char*> seen(8);
  {
    std::vector<std::jthread> threads;
    for (const char*& bytes : seen) {
      threads.emplace_back([&] { bytes = snapshot.openmetrics_gzip().data(); });
    }
  }
  for (const char* bytes : seen) {
    EXPECT_EQ(bytes, snapshot.openmetrics_gzip().data());
  }
}

TEST(Snapshot, AnswersInTheFormThatWasChosen) {
  const Snapshot snapshot = SlotsOnly(100);
  struct Case {
    PageForm form;
    std::string_view bytes, content_type;
  };
  for (const Case& c : std::initializer_list<Case>{
           {{false, false}, snapshot.text(), "text/plain; version=0.0.4; charset=utf-8"},
           {{false, true}, snapshot.text_gzip(), "text/plain; version=0.0.4; charset=utf-8"},
           {{true, false},
            snapshot.openmetrics(),
            "application/openmetrics-text; version=1.0.0; charset=utf-8"},
           {{true, true},
            snapshot.openmetrics_gzip(),
            "application/openmetrics-text; version=1.0.0; charset=utf-8"}}) {
    const Page page = snapshot.PageIn(c.form);
    EXPECT_EQ(page.bytes, c.bytes);
    EXPECT_EQ(page.content_type, c.content_type);
    EXPECT_EQ(page.gzip, c.form.gzip);
  }
}

TEST(Snapshot, DoesNotCompressSmallPages) {
  const Snapshot snapshot = SlotsOnly(3);
  const Page page = snapshot.PageIn({.openmetrics = false, .gzip = true});
  EXPECT_FALSE(page.gzip);
  EXPECT_EQ(page.bytes, snapshot.text());
}

}  // namespace
}  // namespace podgpu
