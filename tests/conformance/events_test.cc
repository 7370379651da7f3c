// The assertions of dcgm-exporter's own tests about counts of XIDs and clock events, checked on the
// real program on a simulated node whose driver reports them.  conformance_lines.cc gives the test
// of each line.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

constexpr const char* kXids = "DCGM_EXP_XID_ERRORS_COUNT";
constexpr const char* kClocks = "DCGM_EXP_CLOCK_EVENTS_COUNT";

class UpstreamEvents : public FailureFixture {
 protected:
  UpstreamEvents() : FailureFixture(kThreeGpus) {}

  // Starts podgpu with a counters file, and waits for the rows of `family`.
  void StartWith(const std::string& counters, const char* family) {
    const std::string path = files_.Write("counters.csv", counters);
    exporter_.emplace(node_, std::vector<std::string>{"-c=200", "--stale-after=2s", "-f", path,
                                                      "--metrics-views=dcgm"});
    ASSERT_TRUE(AwaitPage([family](const MetricPage& page) { return page.Has(family); }))
        << exporter_->Get("/");
  }
};

TEST_F(UpstreamEvents, XidsAreCountedByCode) {
  StartWith("DCGM_EXP_XID_ERRORS_COUNT, gauge, XIDs\n", kXids);
  const MetricPage quiet = Page();
  EXPECT_EQ(quiet.Value(kXids, {Gpu("0")}), 0) << "one zero row per GPU";
  EXPECT_EQ(MetricPage::Label(quiet.Lines(kXids, {Gpu("0")}).at(0), "window_size_in_ms"), "300000");
  EXPECT_EQ(MetricPage::Label(quiet.Lines(kXids, {Gpu("0")}).at(0), "xid"), "");
  node_.Command({"fault", "xid", "gpu=0", "number=43"});
  EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Value(kXids, {Gpu("0"), R"(xid="43")"}) == 1;
  }));
  node_.Command({"fault", "xid", "gpu=0", "number=31"});
  EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Value(kXids, {Gpu("0"), R"(xid="31")"}) == 1 &&
           page.Value(kXids, {Gpu("0"), R"(xid="43")"}) == 1;
  }));
  EXPECT_EQ(Page().Value(kXids, {Gpu("1")}), 0) << "the XID of another GPU does not count";
}

TEST_F(UpstreamEvents, BlankXidsAreNotCounted) {
  node_.Command({"fault", "blank", "gpu=0", "fields=230"});
  StartWith("DCGM_EXP_XID_ERRORS_COUNT, gauge, XIDs\nDCGM_FI_DEV_GPU_TEMP, gauge, t\n", kXids);
  EXPECT_EQ(Page().Sum(kXids), 0);
}

TEST_F(UpstreamEvents, ClockEventsAreCountedByReason) {
  StartWith("DCGM_EXP_CLOCK_EVENTS_COUNT, gauge, clocks\n", kClocks);
  node_.Command({"fault", "throttle", "gpu=1", "why=thermal", "factor=0.6"});
  EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Value(kClocks, {Gpu("1"), R"(clock_event="sw_thermal")"}) > 1;
  })) << Page().text();
  EXPECT_FALSE(Page().Has(kClocks, {Gpu("0"), R"(clock_event="sw_thermal")"}));
}

TEST_F(UpstreamEvents, HiddenFieldsAreReadAndNotShown) {
  StartWith("DCGM_EXP_XID_ERRORS_COUNT, gauge, XIDs\n", kXids);
  node_.Command({"fault", "xid", "gpu=0", "number=43"});
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Has(kXids, {Gpu("0"), R"(xid="43")"});
  }));
  EXPECT_FALSE(Page().Has("DCGM_FI_DEV_XID_ERRORS"));
  exporter_.reset();
  StartWith(
      "DCGM_FI_DEV_XID_ERRORS, gauge, x\nDCGM_EXP_XID_ERRORS_COUNT, gauge, XIDs\n"
      "DCGM_EXP_XID_ERRORS_COUNT, gauge, again\n",
      kXids);
  node_.Command(
      {"fault", "xid", "gpu=0", "number=31"});  // An engine reports only events during its life.
  EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Lines("DCGM_FI_DEV_XID_ERRORS", {Gpu("0")}).size() == 1 &&
           page.Lines(kXids, {Gpu("0")}).size() == 1;
  })) << Page().text();
}

TEST_F(UpstreamEvents, EngineFailuresAffectOnlyTheirOwnRows) {
  StartWith("DCGM_EXP_XID_ERRORS_COUNT, gauge, XIDs\nDCGM_FI_DEV_GPU_TEMP, gauge, t\n", kXids);
  node_.Command({"fault", "error", "calls=dcgmGetValuesSince_v2,dcgmUpdateAllFields", "code=-3"});
  node_.Command({"fault", "xid", "gpu=0", "number=43"});
  EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
    EXPECT_TRUE(page.Has("DCGM_FI_DEV_GPU_TEMP", {Gpu("0")})) << "values are on every page";
    return page.Has(kXids, {Gpu("0"), R"(xid="43")"});
  })) << Page().text();
  EXPECT_EQ(exporter_->Fetch("/metrics").status, 200);
}

TEST_F(UpstreamEvents, UnreadableHealthAffectsOnlyItsOwnRows) {
  const char* const health = "DCGM_EXP_GPU_HEALTH_STATUS";
  StartWith("DCGM_EXP_GPU_HEALTH_STATUS, gauge, h\nDCGM_FI_DEV_GPU_TEMP, gauge, t\n", health);
  node_.Command({"fault", "error", "calls=dcgmHealthCheck", "code=-3"});
  EXPECT_TRUE(AwaitPage([&](const MetricPage& page) {
    EXPECT_TRUE(page.Has("DCGM_FI_DEV_GPU_TEMP", {Gpu("0")})) << "values are on every page";
    return !page.Has(health);
  }));
  EXPECT_EQ(exporter_->Fetch("/metrics").status, 200);
  node_.Command({"heal"});
  EXPECT_TRUE(AwaitPage(
      [&](const MetricPage& page) { return page.Lines(health, {Gpu("0")}).size() == 11; }));
}

}  // namespace
}  // namespace podgpu
