// Events of GPUs: XIDs and clock event reasons, from the simulated driver to the page.
#include <csignal>

#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

constexpr char kOwnCounters[] =
    "DCGM_FI_DEV_GPU_TEMP, gauge, t\n"
    "DCGM_FI_DEV_FB_USED, gauge, m\n"
    "DCGM_FI_PROF_DRAM_ACTIVE, gauge, d\n"
    "DCGM_EXP_XID_ERRORS_COUNT, gauge, XIDs in the window\n"
    "DCGM_EXP_CLOCK_EVENTS_COUNT, gauge, Clock events in the window\n"
    "DCGM_EXP_GPU_HEALTH_STATUS, gauge, Health per watch\n"
    "DCGM_EXP_P2P_STATUS, gauge, State of each path\n";
constexpr char kXidCounts[] = "DCGM_EXP_XID_ERRORS_COUNT";
constexpr char kClockCounts[] = "DCGM_EXP_CLOCK_EVENTS_COUNT";

// Through a remote engine, since a test stops it.
class EventsOnAPage : public FailureFixture {
 protected:
  EventsOnAPage() : FailureFixture(kThreeGpus) {}

  void SetUp() override {
    StartExporter({"-r=unix://" + node_.engine_socket(),
                   "--collectors=" + files_.Write("counters.csv", kOwnCounters), "-x=600000",
                   "--clock-events-count-window-size=1000"});
  }
};

TEST_F(EventsOnAPage, EachXidIsCountedThoughAReadingReturnsOnlyTheLast) {
  for (const char* gpu : {"0", "1", "2"}) {
    EXPECT_EQ(Page().Value(kXidCounts, {Gpu(gpu), R"(window_size_in_ms="600000")"}), 0) << gpu;
  }
  for (const char* number : {"number=43", "number=43", "number=79", "number=43"}) {
    node_.Command({"fault", "xid", "gpu=2", number});
  }
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return page.Value(kXidCounts, {Gpu("2"), R"(xid="43")"}) == 3;
  })) << Page().text();
  const MetricPage page = Page();
  EXPECT_EQ(page.Value(kXidCounts, {Gpu("2"), R"(xid="79")"}), 1);
  EXPECT_EQ(page.Lines(kXidCounts, {Gpu("2")}).size(), 2U) << "there is no zero row beside them";
  EXPECT_FALSE(page.Has("DCGM_FI_DEV_XID_ERRORS")) << "the field behind the counts is not listed";
  EXPECT_TRUE(page.Lines(kXidCounts, {"GPU_I_ID"}).empty()) << "instances have no XID rows";
  EXPECT_EQ(page.Value(kXidCounts, {Gpu("0")}), 0) << "other GPUs have no XIDs";
  const std::string reboot = R"(xid="79",action="reboot_node")";
  EXPECT_EQ(page.Value("podgpu_gpu_xid_errors_total", {Gpu("2"), R"(xid="43")"}), 3);
  EXPECT_EQ(page.Value("podgpu_gpu_xid_errors_total", {Gpu("2"), reboot}), 1);
  EXPECT_LT(page.Value("podgpu_gpu_xid_last_timestamp_seconds", {Gpu("2"), reboot}),
            page.Value("podgpu_gpu_xid_last_timestamp_seconds", {Gpu("2"), R"(xid="43")"}));
}

TEST_F(EventsOnAPage, XidsAreCountedForTheAffectedPod) {
  for (const char* where : {"gpu=1", "gpu=1", "gpu=2"}) {
    node_.Command({"fault", "xid", where, "number=119"});
  }
  const std::string_view family = "podgpu_pod_gpu_xid_errors_total";
  const std::string fault = R"(shared="false",xid="119",action="reset_gpu")";
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return page.Value(family, {Gpu("1"), R"(namespace="research",pod="train-1")", fault}) == 2 &&
           page.Value(family, {Gpu("2"), R"(pod="slice-0",container="main")", fault}) == 1;
  })) << Page().text();
  EXPECT_EQ(Page().Lines(family).size(), 2U) << "no other container is counted";
  EXPECT_NE(AwaitLog({"level=WARN", "a GPU reports an XID\" xid=119 gpu=1 uuid=GPU-",
                      " pod=research/train-1 ", "action=reset_gpu",
                      "remedy=\"drain the GPU and reset it\""}),
            "");
  EXPECT_NE(AwaitLog({"xid=119 gpu=2", " pod=vision/slice-0 "}), "");
  EXPECT_EQ(CountLog("a GPU reports an XID"), 2) << "there is one line per GPU, not per event";
}

TEST_F(EventsOnAPage, ClockEventReasonsAppearAndDisappearWithTheWindow) {
  const std::string brake = R"(clock_event="hw_power_brake")";
  EXPECT_FALSE(Page().Has(kClockCounts, {Gpu("0"), brake}));
  node_.Command({"fault", "throttle", "gpu=0", "why=brake", "factor=0.5"});
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return page.Value(kClockCounts, {Gpu("0"), brake}) >= 2;
  })) << Page().text();
  EXPECT_FALSE(Page().Has(kClockCounts, {Gpu("1"), brake}));
  node_.Command({"heal"});
  EXPECT_TRUE(AwaitPage([&](const MetricPage& page) {
    return !page.Has(kClockCounts, {Gpu("0"), brake});
  }));
}

TEST_F(EventsOnAPage, AreRemovedWhileTheEngineHangsAndContinueAfterwards) {
  node_.Command({"fault", "xid", "gpu=1", "number=31"});
  const auto is_counted = [&](const MetricPage& page) {
    return page.Value(kXidCounts, {Gpu("1"), R"(xid="31")"}) == 1;
  };
  ASSERT_TRUE(AwaitPage(is_counted));
  ::kill(node_.engine_pid(), SIGSTOP);
  EXPECT_TRUE(AwaitPage([&](const MetricPage& page) { return !page.Has(kXidCounts, {}); }));
  ::kill(node_.engine_pid(), SIGCONT);
  EXPECT_TRUE(AwaitPage(is_counted))
      << "the event is counted once, though the engine reports it again";
}

TEST_F(EventsOnAPage, OnlyWholeGpusHaveHealthAndPaths) {
  const MetricPage page = Page();
  const std::string_view family = "DCGM_EXP_GPU_HEALTH_STATUS";
  for (const char* gpu : {"0", "1", "2"}) {
    EXPECT_EQ(page.Lines(family, {Gpu(gpu), R"(health_error_code="DCGM_FR_OK")"}).size(), 11U);
    EXPECT_EQ(page.Value(family, {Gpu(gpu), R"(health_watch="ALL")"}), 0);
  }
  EXPECT_TRUE(page.Lines(family, {"GPU_I_ID"}).empty());
  const std::string_view paths = "DCGM_EXP_P2P_STATUS";
  EXPECT_EQ(page.Value(paths, {Gpu("0"), R"(link_status="OK",peer_gpu="1")"}), 0);
  EXPECT_EQ(page.Value(paths, {Gpu("0"), R"(link_status="NotSupported",peer_gpu="2")"}), 5)
      << "a GPU in MIG mode has no links";
  EXPECT_EQ(page.Lines(paths).size(), 6U);
}

TEST_F(EventsOnAPage, AnIncidentIsOnThePageUntilItIsOver) {
  const std::string_view family = "DCGM_EXP_GPU_HEALTH_STATUS";
  const auto verdict = [&](const MetricPage& page, const char* gpu, const std::string& watch) {
    return page.Value(family, {Gpu(gpu), "health_watch=\"" + watch + "\""});
  };
  node_.Command({"fault", "nvlink", "gpu=0", "link=3", "down=true"});
  node_.Command({"fault", "ecc", "gpu=1", "error=dbe"});
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return verdict(page, "0", "NVLINK") == 20 && verdict(page, "1", "MEM") == 20;
  })) << Page().text();
  const MetricPage page = Page();
  EXPECT_TRUE(page.Has(family, {Gpu("0"), R"(health_error_code="DCGM_FR_NVLINK_DOWN")"}));
  EXPECT_TRUE(page.Has(family, {Gpu("1"), R"(health_error_code="DCGM_FR_VOLATILE_DBE_DETECTED")"}));
  EXPECT_EQ(page.Lines(family, {Gpu("0"), R"(health_error_code="DCGM_FR_OK")"}).size(), 10U);
  EXPECT_EQ(page.Lines(family, {Gpu("2"), R"(health_error_code="DCGM_FR_OK")"}).size(), 11U);
  node_.Command({"heal"});
  EXPECT_TRUE(AwaitPage([&](const MetricPage& healed) {
    return verdict(healed, "0", "NVLINK") == 0 && verdict(healed, "1", "MEM") == 20;
  })) << "the link is up again; a memory error lasts until the driver is reloaded";
  node_.Command({"fault", "driver_reload", "for=1s"});
  EXPECT_TRUE(AwaitPage([&](const MetricPage& reloaded) {
    return verdict(reloaded, "1", "MEM") == 0;
  })) << Page().text();
}

TEST_F(EventsOnAPage, TheStatusPageSaysWhyHealthIsMissing) {
  EXPECT_TRUE(exporter_->Await("/", "health and paths</th><td class=\"ok\">"));
  node_.Command({"fault", "error", "calls=dcgmHealthCheck", "code=-33"});
  ASSERT_TRUE(exporter_->Await("/", "health and paths</th><td class=\"degraded\">"));
  EXPECT_NE(exporter_->Get("/").find("Health and paths: health: "), std::string::npos)
      << exporter_->Get("/");
  EXPECT_FALSE(Page().Has("DCGM_EXP_GPU_HEALTH_STATUS"));
  EXPECT_TRUE(Page().Has("DCGM_EXP_P2P_STATUS"));
  node_.Command({"heal"});
  EXPECT_TRUE(exporter_->Await("/", "health and paths</th><td class=\"ok\">"));
}

}  // namespace
}  // namespace podgpu
