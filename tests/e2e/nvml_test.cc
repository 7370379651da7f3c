// podgpu on a node without DCGM: the same page from the driver's NVML alone.
#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

// Without a libdcgm, neither a named one nor one that could be found.
const std::vector<std::string> kWithoutDcgm = {"--libdcgm=", "--web-enable-control"};

class NvmlAlone : public FailureFixture {
 protected:
  NvmlAlone() : FailureFixture(kThreeGpus) {}

  // Status and body of a POST to `path`.
  std::string Post(const std::string& path) const { return exporter_->Get(path, {"-X", "POST"}); }
};

TEST_F(NvmlAlone, IsChosenAndServesThePage) {
  StartExporter(kWithoutDcgm);
  EXPECT_TRUE(exporter_->Await("/", "NVML of "));
  EXPECT_TRUE(exporter_->Await("/", "chosen: it has every requested metric"));
  ASSERT_TRUE(exporter_->Await("/metrics", kReady));
  const MetricPage page = Page();
  EXPECT_EQ(page.Lines("DCGM_FI_DEV_GPU_TEMP").size(), 4U) << "two GPUs and two instances";
  EXPECT_EQ(page.Lines("DCGM_FI_DEV_POWER_USAGE", {Gpu("0"), "pod=\"train-0\""}).size(), 1U);
  EXPECT_EQ(page.Lines("DCGM_FI_PROF_GR_ENGINE_ACTIVE", {"pod=\"slice-0\""}).size(), 1U);
  EXPECT_EQ(page.Lines("podgpu_gpu_energy_joules_total").size(), 3U);
}

TEST_F(NvmlAlone, IsReadInPlaceOfAHostEngineWithoutLibdcgm) {
  std::vector<std::string> flags = kWithoutDcgm;
  flags.push_back("-r=unix://" + node_.engine_socket());
  StartExporter(flags);
  ASSERT_TRUE(exporter_->Await("/metrics", kReady));
  EXPECT_EQ(Page().Lines("DCGM_FI_DEV_GPU_TEMP").size(), 4U) << "two GPUs and two instances";
  const std::string remedy = "nstall the package datacenter-gpu-manager-4-core";
  EXPECT_NE(exporter_->Get("/readyz").find(remedy), std::string::npos) << exporter_->Get("/readyz");
  EXPECT_NE(exporter_->Get("/").find("in place of the host engine unix://"), std::string::npos);
  EXPECT_NE(exporter_->Get("/").find(remedy), std::string::npos);
  EXPECT_TRUE(exporter_->Await("/metrics", "\npodgpu_source_state{state=\"degraded\"} 1"));
  EXPECT_NE(AwaitLog({"level=WARN", "device source state changed", "state=degraded",
                      "remedy=\"i" + remedy}),
            "");
}

TEST_F(NvmlAlone, ReportsAnXid) {
  StartExporter(kWithoutDcgm);
  node_.Command({"fault", "xid", "gpu=1", "number=79"});
  EXPECT_TRUE(exporter_->Await("/metrics", "xid=\"79\"")) << exporter_->Get("/");
  EXPECT_EQ(Page().Lines("podgpu_gpu_xid_errors_total", {Gpu("1"), "xid=\"79\""}).size(), 1U);
}

TEST_F(NvmlAlone, ReleasesTheDevicesAndTakesThemBack) {
  StartExporter(kWithoutDcgm);
  const std::set<std::string> before = DeviceSeries();
  EXPECT_EQ(Post("/api/v1/devices?state=released&for=1h"),
            "{\"state\":\"released\",\"for_seconds\":3600}\n");
  EXPECT_TRUE(exporter_->Await("/metrics", "\npodgpu_source_state{state=\"waiting\"} 1"));
  EXPECT_TRUE(AwaitDeviceSeries({})) << "stale values are removed";
  EXPECT_NE(exporter_->Get("/").find("the devices are released"), std::string::npos);
  Post("/api/v1/devices?state=held");
  EXPECT_TRUE(AwaitDeviceSeries(before));
}

TEST_F(NvmlAlone, PausesProfilingForAWhile) {
  StartExporter(kWithoutDcgm);
  Post("/api/v1/profiling?state=paused");
  EXPECT_TRUE(exporter_->AwaitWithout("/metrics", "\nDCGM_FI_PROF_"));
  EXPECT_NE(exporter_->Get("/metrics").find("reason=\"profiling_paused\""), std::string::npos);
  EXPECT_EQ(Page().Lines("DCGM_FI_DEV_GPU_TEMP").size(), 4U);
  Post("/api/v1/profiling?state=running");
  EXPECT_TRUE(exporter_->Await("/metrics", "\nDCGM_FI_PROF_DRAM_ACTIVE{"));
}

// A browser on a page of another site, and one that resolves another site's name to this address.
TEST_F(NvmlAlone, RefusesChangesByOtherSites) {
  StartExporter(kWithoutDcgm);
  const std::set<std::string> before = DeviceSeries();
  const std::string path = "/api/v1/devices?state=released&for=1h";
  for (const std::string header : {"Origin: http://evil.example", "Sec-Fetch-Site: cross-site"}) {
    EXPECT_NE(exporter_->Get(path, {"-i", "-X", "POST", "-H", header}).find("HTTP/1.1 403 "),
              std::string::npos)
        << header;
  }
  EXPECT_NE(exporter_->Get(path, {"-X", "POST", "-H", "Host: evil.example"})
                .find("refused: Host \"evil.example\" is not an address"),
            std::string::npos);
  EXPECT_TRUE(exporter_->Await("/metrics",
                               "\npodgpu_http_rejected_total{reason=\"cross_site\"} 2\n"
                               "podgpu_http_rejected_total{reason=\"foreign_host\"} 1\n"));
  EXPECT_EQ(DeviceSeries(), before);
  const std::string page = exporter_->Get("/");
  EXPECT_NE(page.find("2 from another site, 1 with a host name that is not allowed"),
            std::string::npos);
  EXPECT_NE(page.find("--web-enable-control without --web-config-file"), std::string::npos);
  EXPECT_TRUE(exporter_->Get("/readyz").starts_with("ready"));
  Child& process = exporter_->process();
  EXPECT_TRUE(process.AwaitLine("msg=\"refused a request from another site\"").has_value());
  EXPECT_TRUE(process.AwaitLine("msg=\"refused a request with a foreign Host\"").has_value());
}

// The same requests with DCGM.
TEST_F(NvmlAlone, DcgmAlsoReleasesTheDevices) {
  StartExporter({"--web-enable-control"});
  const std::set<std::string> before = DeviceSeries();
  Post("/api/v1/profiling?state=paused");
  EXPECT_TRUE(exporter_->AwaitWithout("/metrics", "\nDCGM_FI_PROF_"));
  Post("/api/v1/profiling?state=running");
  EXPECT_TRUE(AwaitDeviceSeries(before));
  Post("/api/v1/devices?state=released");
  EXPECT_TRUE(AwaitDeviceSeries({}));
  Post("/api/v1/devices?state=held");
  EXPECT_TRUE(AwaitDeviceSeries(before));
}

}  // namespace
}  // namespace podgpu
