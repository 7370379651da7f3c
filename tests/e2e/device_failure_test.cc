// One device fails, changes or gives wrong values; the others continue, and the page is correct.
#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

class DeviceFailure : public FailureFixture {
 protected:
  DeviceFailure() : FailureFixture(kThreeGpus) {}

  void SetUp() override { StartExporter(); }
};

// The profiles of GPU 2's instances on a page, with repetitions.
std::multiset<std::string> ProfilesOn(const MetricPage& page) {
  std::multiset<std::string> profiles;
  for (const std::string_view line : page.Lines("podgpu_gpu_instance_info", {R"(gpu="2")"})) {
    profiles.insert(MetricPage::Label(line, "profile"));
  }
  return profiles;
}

// The ids of the instances that have rows of a family.
std::multiset<std::string> InstancesOf(const MetricPage& page, std::string_view family) {
  std::multiset<std::string> ids;
  for (const std::string_view line : page.Lines(family, {R"(gpu="2")", "GPU_I_ID="})) {
    ids.insert(MetricPage::Label(line, "GPU_I_ID"));
  }
  return ids;
}

// Whether the instances' memory fits on their GPU, with the layout on this page.
bool FitsOnItsGpu(const MetricPage& page) {
  const double whole =
      page.Sum("podgpu_gpu_memory_total_bytes", {R"(gpu="2")", R"(scope="device")"});
  const double parts =
      page.Sum("podgpu_gpu_memory_total_bytes", {R"(gpu="2")", R"(scope="instance")"});
  return whole == 0 || parts <= whole;
}

TEST_F(DeviceFailure, AChangedMigLayoutIsOnThePage) {
  const std::vector<std::vector<std::string>> layouts = {
      {"1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb"}, {"7g.80gb"}, {"3g.40gb", "3g.40gb"}};
  for (const std::vector<std::string>& layout : layouts) {
    std::vector<std::string> words = {"mig", "--gpu=2"};
    words.insert(words.end(), layout.begin(), layout.end());
    node_.Command(words);
    const std::multiset<std::string> wanted(layout.begin(), layout.end());
    ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
      EXPECT_TRUE(FitsOnItsGpu(page)) << page.text();
      EXPECT_TRUE(page.Has("DCGM_FI_DEV_GPU_TEMP", {Gpu("0")}))
          << "the other GPUs keep their values";
      return ProfilesOn(page) == wanted && page.Has("DCGM_FI_PROF_DRAM_ACTIVE", {Gpu("2")});
    })) << layout.front();
    const MetricPage page = Page();
    const std::multiset<std::string> ids = InstancesOf(page, "podgpu_gpu_instance_info");
    EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), layout.size());
    for (const char* family : {"DCGM_FI_DEV_FB_USED", "podgpu_gpu_memory_used_bytes"}) {
      EXPECT_EQ(InstancesOf(page, family), ids) << family;
    }
  }
}

TEST_F(DeviceFailure, AGpuThatLeavesMigModeHasItsOwnValuesAgain) {
  node_.Command({"mig", "--gpu=2", "off"});
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return ProfilesOn(page).empty() && page.Has("DCGM_FI_DEV_GPU_UTIL", {Gpu("2")});
  }));
  EXPECT_TRUE(Page().Has("podgpu_gpu_info", {Gpu("2"), R"(mig="false")"}));
}

// The GPU's own values on a page, under both kinds of name.
bool HasValuesOf(const MetricPage& page, const std::string& gpu) {
  return page.Has("DCGM_FI_DEV_GPU_TEMP", {gpu}) && page.Has("podgpu_gpu_power_watts", {gpu});
}

TEST_F(DeviceFailure, AGpuWithStaleSamplesIsUnresponsiveAndOthersContinue) {
  const std::set<std::string> before = DeviceSeries();
  node_.Command({"fault", "watch_stale", "gpu=1"});
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    EXPECT_TRUE(HasValuesOf(page, Gpu("0"))) << "GPU 0 has values on every page";
    return !HasValuesOf(page, Gpu("1"));
  }));
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return page.Value("podgpu_gpu_state", {Gpu("1"), kStateUnresponsive}) == 1;
  }));
  std::set<std::string> left = before;
  std::erase_if(left, [](const std::string& series) {
    return series.find(R"(gpu="1")") != std::string::npos;
  });
  EXPECT_TRUE(AwaitDeviceSeries(left)) << "only GPU 1's values are removed, and all of them";
  const MetricPage page = Page();
  EXPECT_EQ(page.Value("podgpu_gpu_state", {Gpu("0"), kStateOk}), 1);
  EXPECT_TRUE(page.Has("podgpu_gpu_info", {Gpu("1")})) << "its identity stays on the page";
  ExpectReadiness(false, "not ready: GPU 1 without a fresh value, since its samples are older");
  const LoopbackResponse probe = exporter_->Fetch("/readyz?exclude=devices");
  EXPECT_EQ(probe.status, 200) << "a roll-out goes on";
  EXPECT_TRUE(probe.body.starts_with("ready, devices excluded (not ready: GPU 1 ")) << probe.body;
  EXPECT_NE(AwaitLog({"level=WARN", "GPU state changed\" state=unresponsive gpu=1 uuid=GPU-",
                      " pod=research/train-1 ", "cause=\"its samples are older than 4.0 s\"",
                      "remedy=\"run nvidia-smi on the node"}),
            "");
  node_.Command({"heal"});
  ASSERT_TRUE(AwaitDeviceSeries(before));
  EXPECT_TRUE(AwaitPage([&](const MetricPage& after) {
    return after.Value("podgpu_gpu_state", {Gpu("1"), kStateOk}) == 1;
  }));
  ExpectReadiness(true, "ready: 3 GPUs have fresh samples");
  EXPECT_NE(AwaitLog({"GPU state changed\" state=ok gpu=1"}), "");
  EXPECT_EQ(CountLog("GPU state changed"), 2) << exporter_->process().output();
}

// As dcgmPauseTelemetryForDiag does: samples stop with status 0, and a new watch gets none.
TEST_F(DeviceFailure, PausedTelemetryEndsReadinessThoughTheEngineAnswers) {
  const std::set<std::string> before = DeviceSeries();
  const double connections = Page().Value("podgpu_source_connections_total").value_or(-1);
  node_.Command({"fault", "watch_stale"});
  ExpectReadiness(false, "not ready: no GPU gives a fresh value: telemetry is paused");
  EXPECT_EQ(Page().Value("podgpu_source_state", {kStateUnresponsive}), 1);
  EXPECT_NE(AwaitLog({"level=WARN", "device source state changed\" state=unresponsive",
                      "remedy=\"wait for the end of the diagnosis"}),
            "");
  const double ticks = Page().Value("podgpu_ticks_total").value_or(0);
  constexpr double kMoreThanTheStaleLimit = 30;
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    EXPECT_EQ(page.Value("podgpu_ready"), 0) << "podgpu is not ready on any page";
    EXPECT_EQ(page.Value("podgpu_source_state", {kStateOk}), 0);
    return page.Value("podgpu_ticks_total") > ticks + kMoreThanTheStaleLimit;
  })) << exporter_->Get("/");
  EXPECT_EQ(Page().Value("podgpu_source_connections_total"), connections)
      << "a new connection would get no samples either";
  node_.Command({"heal"});
  ASSERT_TRUE(AwaitDeviceSeries(before));
  ExpectReadiness(true, "ready: 3 GPUs have fresh samples");
  EXPECT_NE(AwaitLog({"device source state changed\" state=ok", "ready=yes"}), "");
  EXPECT_EQ(CountLog("device source state changed\" state=unresponsive"), 1)
      << exporter_->process().output();
  EXPECT_EQ(CountLog("device source state changed\" state=ok"), 2);
  EXPECT_EQ(CountLog("GPU state changed"), 0) << "only the source's line reports it";
}

TEST_F(DeviceFailure, ADriverThatReleasesAllGpusEndsReadiness) {
  node_.Command({"fault", "bind_unbind"});
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return page.Value("podgpu_gpus_present") == 0 && page.Value("podgpu_gpus_expected") == 3;
  }));
  ASSERT_TRUE(exporter_->Await("/readyz", "not ready: ")) << exporter_->Get("/readyz");
  EXPECT_EQ(exporter_->Fetch("/readyz").status, 503);
  EXPECT_EQ(Page().Value("podgpu_ready"), 0);
  EXPECT_NE(AwaitLog({"level=WARN", "device source state changed\" state=unresponsive"}), "");
  node_.Command({"heal"});
  EXPECT_TRUE(exporter_->Await("/readyz", "ready: 3 GPUs have fresh samples"))
      << exporter_->Get("/");
}

TEST_F(DeviceFailure, AnUnreadableFieldIsAbsentWithItsReasonAndOthersStay) {
  const std::set<std::string> before = DeviceSeries();
  const double blanks =
      Page().Value("podgpu_absent_samples", {R"(reason="not_permitted")"}).value_or(-1);
  node_.Command({"fault", "blank", "gpu=0", "fields=150", "reason=not_permitted"});
  std::set<std::string> left = before;
  std::erase_if(left, [](const std::string& series) {
    return series.find(R"(gpu="0")") != std::string::npos &&
           (series.starts_with("DCGM_FI_DEV_GPU_TEMP{") ||
            series.starts_with("podgpu_gpu_temperature_celsius{"));
  });
  ASSERT_LT(left.size(), before.size());
  ASSERT_TRUE(AwaitDeviceSeries(left));
  EXPECT_GT(Page().Value("podgpu_absent_samples", {R"(reason="not_permitted")"}), blanks);
  EXPECT_EQ(exporter_->Fetch("/readyz").status, 200);
  node_.Command({"heal"});
  EXPECT_TRUE(AwaitDeviceSeries(before));
}

TEST_F(DeviceFailure, AGpuThatFallsOffTheBusKeepsItsIdentityAndReturns) {
  const std::set<std::string> before = DeviceSeries();
  const std::set<std::string> identity = Page().Series({"podgpu_gpu_info"});
  node_.Command({"fault", "gpu_lost", "gpu=1"});
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    EXPECT_TRUE(HasValuesOf(page, Gpu("0"))) << "GPU 0 has values on every page";
    return page.Value("podgpu_gpu_state", {Gpu("1"), kStateLost}) == 1;
  })) << exporter_->Get("/");
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) { return !HasValuesOf(page, Gpu("1")); }));
  const MetricPage page = Page();
  EXPECT_EQ(page.Series({"podgpu_gpu_info"}), identity);
  EXPECT_EQ(page.Value("podgpu_gpus_expected"), 3);
  EXPECT_EQ(page.Value("podgpu_gpus_present"), 2);
  EXPECT_TRUE(HasValuesOf(page, Gpu("0")));
  EXPECT_EQ(page.Value("podgpu_gpu_state", {Gpu("0"), kStateOk}), 1);
  ExpectReadiness(true, "ready: 2 of 3 GPUs served, 1 lost");
  EXPECT_NE(AwaitLog({"level=WARN", "GPU state changed\" state=lost gpu=1 uuid=GPU-",
                      " pod=research/train-1 ", "remedy=\"read the kernel log for NVRM: Xid"}),
            "");
  node_.Command({"heal"});
  ASSERT_TRUE(AwaitPage([&](const MetricPage& after) {
    return after.Value("podgpu_gpu_state", {Gpu("1"), kStateOk}) == 1 &&
           after.Value("podgpu_gpus_present") == 3;
  })) << exporter_->Get("/");
  EXPECT_TRUE(AwaitPage([&](const MetricPage& after) { return HasValuesOf(after, Gpu("1")); }));
  // Its XID stays on the page, so there may be more series than before; none is missing.
  EXPECT_TRUE(AwaitPage([&](const MetricPage& after) {
    const std::set<std::string> now = after.Series(kDeviceFamilies);
    return std::ranges::includes(now, before);
  }));
  EXPECT_NE(AwaitLog({"GPU state changed\" state=ok gpu=1"}), "");
  EXPECT_NE(AwaitLog({"level=WARN", "a GPU reports an XID\" xid=79 gpu=1 uuid=GPU-",
                      " pod=research/train-1 ", "remedy=\"drain the node and reboot it\""}),
            "");
  EXPECT_EQ(CountLog("GPU state changed\" state=lost"), 1) << exporter_->process().output();
  EXPECT_EQ(CountLog("GPU state changed\" state=ok"), 1);
  EXPECT_EQ(CountLog("a GPU reports an XID"), 1) << exporter_->process().output();
}

TEST_F(DeviceFailure, AHungCallRemovesOnlyTheValues) {
  node_.Command({"fault", "hang", "calls=dcgmEntitiesGetLatestValues"});
  ASSERT_TRUE(exporter_->Await("/metrics", kNotReady)) << exporter_->Get("/");
  // One reading takes several calls, so the values of one GPU may be a little younger.
  ASSERT_TRUE(AwaitPage([](const MetricPage& next) {
    return !next.Has("DCGM_FI_DEV_GPU_TEMP") &&
           next.Lines("podgpu_gpu_state", {kStateUnresponsive, "} 1"}).size() == 3;
  })) << "old values are removed, not repeated: "
      << Page().text();
  const MetricPage page = Page();
  for (const char* gpu : {"0", "1", "2"}) {
    EXPECT_TRUE(page.Has("podgpu_gpu_info", {Gpu(gpu)})) << "its identity stays on the page";
  }
  EXPECT_TRUE(page.Has("podgpu_allocation_info")) << "owners are known without the driver";
  EXPECT_GT(page.Value("podgpu_source_running_call_seconds"), 0);
  const double ticks = page.Value("podgpu_ticks_total").value_or(-1);
  EXPECT_TRUE(AwaitPage([&](const MetricPage& next) {
    return next.Value("podgpu_ticks_total") > ticks + 2;
  })) << "new pages still appear";
  EXPECT_EQ(exporter_->Get("/healthz"), "ok\n");
  // After the deadline the call is named, and stays so: an embedded engine cannot be interrupted.
  ASSERT_TRUE(exporter_->Await("/", "the call &quot;read&quot; has not returned"))
      << exporter_->Get("/");
  EXPECT_EQ(Page().Value("podgpu_source_state", {kStateUnresponsive}), 1);
  const LoopbackResponse readiness = exporter_->Fetch("/readyz");
  EXPECT_EQ(readiness.status, 503);
  EXPECT_EQ(readiness.body.find("not ready: "), 0U) << readiness.body;
  EXPECT_NE(AwaitLog({"level=WARN", "device source state changed\" state=unresponsive",
                      "the call \\\"read\\\" has not returned", "ready=no verdict=\"not ready: ",
                      "remedy=\"the driver or the engine hangs: read the kernel log"}),
            "");
  EXPECT_EQ(CountLog("device source state changed"), 2)
      << "that it works, and that it hangs: " << exporter_->process().output();
}

TEST_F(DeviceFailure, AReloadedDriverIsUsedWithoutARestart) {
  const std::set<std::string> before = DeviceSeries();
  node_.Command({"fault", "driver_reload", "for=6s"});
  ASSERT_TRUE(exporter_->AwaitWithout("/metrics", "\nDCGM_FI_DEV_GPU_TEMP{"));
  EXPECT_EQ(exporter_->Get("/healthz"), "ok\n");
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return std::ranges::includes(page.Series(kDeviceFamilies), before) &&
           page.Value("podgpu_ready") == 1;
  })) << exporter_->Get("/");
  EXPECT_TRUE(exporter_->process().IsRunning());
}

// A node whose flags select missing devices.
class DeviceSelectionFailure : public FailureFixture {
 protected:
  DeviceSelectionFailure() : FailureFixture(kThreeGpus) {}
};

TEST_F(DeviceSelectionFailure, AMissingSelectedGpuIsAWarningAndTheNodeIsReady) {
  ASSERT_TRUE(node_.ready()) << node_.output();
  exporter_.emplace(node_, std::vector<std::string>{"-c=200", "--stale-after=4s", "-d=g:5"});
  ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  ExpectReadiness(true, "ready: 0 of 3 GPUs served, 3 not selected");
  const std::string_view warning = "couldn&#39;t find requested GPU ID &#39;5&#39;";
  EXPECT_NE(exporter_->Get("/").find(warning), std::string::npos) << exporter_->Get("/");
  EXPECT_EQ(Page().Value("podgpu_config_warnings"), 1);
  EXPECT_FALSE(Page().Has("DCGM_FI_DEV_GPU_TEMP"));
  EXPECT_NE(AwaitLog({"level=WARN", "configuration entry has no effect",
                      "couldn't find requested GPU ID '5'", "Correct --devices (-d)"}),
            "");
  EXPECT_EQ(CountLog("requested GPU ID '5'"), 1) << exporter_->process().output();
}

TEST_F(DeviceSelectionFailure, ValidateAsksTheDriver) {
  ASSERT_TRUE(node_.ready()) << node_.output();
  std::vector<std::string> arguments = ExporterProcess::Arguments(node_, {"--validate", "-d=g:5"});
  Child bad(arguments, node_.variables());
  EXPECT_EQ(bad.Wait(), 0) << bad.output();
  EXPECT_NE(bad.output().find("warning: Not collecting GPU metrics; couldn't find requested GPU ID "
                              "'5'. The GPUs of this node: 0, 1, 2. Correct --devices (-d)\n"),
            std::string::npos)
      << bad.output();
  arguments.back() = "-d=g:1";
  Child good(arguments, node_.variables());
  EXPECT_EQ(good.Wait(), 0) << good.output();
  EXPECT_EQ(good.output().find("warning: "), std::string::npos) << good.output();
  arguments.back() = "-d=g:5";
  arguments.push_back("--libdcgm=/nowhere/libdcgm.so.4");
  arguments.push_back("--source=dcgm");
  Child unknown(arguments, node_.variables());
  EXPECT_EQ(unknown.Wait(), 0) << unknown.output();
  EXPECT_NE(unknown.output().find("note: the devices in --devices (-d) could not be checked: "),
            std::string::npos)
      << unknown.output();
}

}  // namespace
}  // namespace podgpu
