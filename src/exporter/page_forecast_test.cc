#include "exporter/page_forecast.h"

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "kube/testing/fake_kubelet.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

class PageForecastTest : public ::testing::Test {
 protected:
  PageForecastTest() {
    options_.counters = ParseCounters(
                            "DCGM_FI_DEV_GPU_TEMP, gauge, t\n"
                            "DCGM_FI_DEV_POWER_USAGE, gauge, p\n"
                            "DCGM_FI_PROF_GR_ENGINE_ACTIVE, gauge, e\n",
                            "test.csv")
                            .value()
                            .counters;
    options_.views = {View::kDcgm};
  }

  PageForecast Forecast() {
    return ForecastPage(options_,
                        {.clock = clock_,
                         .open_source = [this]() -> StatusOr<std::unique_ptr<Source>> {
                           if (!library_present_) {
                             return absl::NotFoundError("no driver yet");
                           }
                           return std::make_unique<FakeSource>(driver_);
                         },
                         .kubelet = kubelet_,
                         .written_off = written_off_},
                        seconds(5));
  }

  static size_t CountOf(const std::vector<SeriesCount>& counts, std::string_view name) {
    const auto found = std::ranges::find(counts, name, &SeriesCount::name);
    return found == counts.end() ? 0 : found->series;
  }

  ManualClock clock_;
  FakeDriver driver_;
  FakeKubelet kubelet_;
  bool library_present_ = true;
  ExporterOptions options_;
  const ThreadTally written_off_ = NewThreadTally();
};

TEST_F(PageForecastTest, CountsTheSeriesOfTheDevicesThatTheDriverLists) {
  const PageForecast forecast = Forecast();
  EXPECT_EQ(forecast.why_assumed, "");
  EXPECT_EQ(forecast.devices, "2 GPUs, 0 MIG instances");
  EXPECT_EQ(forecast.series, 6U);
  EXPECT_EQ(CountOf(forecast.by_family, "DCGM_FI_DEV_GPU_TEMP"), 2U);
  EXPECT_EQ(CountOf(forecast.by_gpu, "0"), 3U);
  EXPECT_EQ(CountOf(forecast.by_gpu, "1"), 3U);
  EXPECT_GT(forecast.bytes, forecast.compressed_bytes);
  EXPECT_EQ(driver_.let_gos, 1) << "nothing stays open";
}

TEST_F(PageForecastTest, LeavesOutWhatTheDeviceDoesNotSupport) {
  driver_.SetValue(Value::OfAbsence(Absence::kNotSupported));
  EXPECT_EQ(Forecast().series, 0U);
  driver_.SetValue(Value::OfAbsence(Absence::kNoData));
  EXPECT_EQ(Forecast().series, 6U) << "a value without a sample yet will come";
}

TEST_F(PageForecastTest, AssumesANodeAndSaysWhyWhereThereIsNoDriver) {
  library_present_ = false;
  const PageForecast forecast = Forecast();
  EXPECT_EQ(forecast.why_assumed, "no driver yet");
  EXPECT_EQ(forecast.devices, "8 GPUs without MIG, one pod on each");
  EXPECT_EQ(forecast.series, 8U * 3U);
  EXPECT_EQ(ForecastText(forecast).find(
                "note: the page is that of an assumed node, because no driver yet\n"
                "/metrics, 8 GPUs without MIG, one pod on each: at most 24 series, no budget, "),
            0U)
      << ForecastText(forecast);
}

TEST_F(PageForecastTest, NamesTheFamiliesThatTheBudgetLeavesOut) {
  options_.series_budget = 4;
  const PageForecast forecast = Forecast();
  EXPECT_EQ(forecast.series, 6U);
  EXPECT_EQ(forecast.left_out, std::vector<std::string>{"DCGM_FI_PROF_GR_ENGINE_ACTIVE"});
  const std::string text = ForecastText(forecast);
  EXPECT_NE(text.find("warning: the page is above --series-budget=4; podgpu would leave out 1 "
                      "family: DCGM_FI_PROF_GR_ENGINE_ACTIVE. Raise the budget, or remove lines "
                      "from the list\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("at most 6 series of 4, "), std::string::npos) << text;
  options_.series_budget = 6;
  EXPECT_TRUE(Forecast().left_out.empty());
}

TEST_F(PageForecastTest, CountsALineWithoutTheLabelGpuForTheNode) {
  PageForecast forecast;
  CountSeries("# HELP a b\na{x=\"{gpu=\\\"9\",gpu=\"7\"} 1\na{agpu=\"3\"} 1\nb 2\n", forecast);
  EXPECT_EQ(forecast.series, 3U);
  EXPECT_EQ(CountOf(forecast.by_gpu, "7"), 1U);
  EXPECT_EQ(CountOf(forecast.by_gpu, ""), 2U);
  EXPECT_EQ(CountOf(forecast.by_family, "a"), 2U);
}

TEST_F(PageForecastTest, AbandonsADriverThatHangs) {
  driver_.BlockDiscover();
  Worker asking;
  PageForecast forecast;
  asking.Start([&](const std::stop_token&) { forecast = Forecast(); });
  driver_.AwaitBlockedDiscover();
  clock_.AwaitSleepers(1);
  clock_.Advance(seconds(5));
  ASSERT_TRUE(asking.JoinWithin(std::chrono::hours(1)));
  EXPECT_EQ(forecast.why_assumed, "the driver has not answered for 5 s");
  EXPECT_EQ(forecast.series, 24U);
  driver_.Release();
  while (*written_off_ != 0) {
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace podgpu
