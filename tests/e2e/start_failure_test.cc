// Parts that are missing when podgpu starts and arrive later: podgpu waits, reports what it waits
// for, and serves when the part arrives.
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

class StartFailure : public FailureFixture {
 protected:
  StartFailure() : FailureFixture(kThreeGpus) {}

  void SetUp() override { ASSERT_TRUE(node_.ready()) << node_.output(); }

  // A fault is in force before podgpu starts: the clock jumps into it.
  void MakeFail(std::vector<std::string> fault) {
    fault.insert(fault.begin(), "fault");
    node_.Command(fault);
    node_.Command({"speed", "manual"});
    node_.Tick("+1s");
    node_.Command({"speed", "1/1"});
  }
  std::string late(std::string_view library) const {
    return files_.path() + "/driver/" + std::string(library);
  }
};

TEST_F(StartFailure, ADriverThatArrivesLaterIsUsedWithoutARestart) {
  exporter_.emplace(node_, std::vector<std::string>{"-c=200", "--libdcgm=" + late("libdcgm.so.4"),
                                                    "--libnvidia-ml=" + late("libnvidia-ml.so.1")});
  ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  ASSERT_TRUE(exporter_->Await("/readyz", late("libdcgm.so.4"))) << "the missing library is named";
  EXPECT_EQ(exporter_->Fetch("/readyz").status, 503);
  EXPECT_EQ(exporter_->Get("/healthz"), "ok\n");
  const MetricPage page = Page();
  EXPECT_EQ(page.Value("podgpu_ready"), 0);
  EXPECT_EQ(page.Value("podgpu_source_state", {R"(state="waiting")"}), 1);

  std::filesystem::create_directory(files_.path() + "/driver");
  for (const char* library : {"libnvidia-ml.so.1", "libdcgm.so.4"}) {
    std::filesystem::create_symlink(std::filesystem::read_symlink(node_.library(library)),
                                    late(library));
  }
  ASSERT_TRUE(exporter_->Await("/metrics", kReady)) << exporter_->Get("/readyz");
  EXPECT_TRUE(Page().Has("DCGM_FI_DEV_GPU_TEMP", {Gpu("1")}));
  EXPECT_EQ(exporter_->Fetch("/readyz").status, 200);
}

TEST_F(StartFailure, AnEngineThatArrivesLaterIsUsedWithoutARestart) {
  ::kill(node_.engine_pid(), SIGKILL);
  exporter_.emplace(node_,
                    std::vector<std::string>{"-c=200", "-r=unix://" + node_.engine_socket()});
  ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  ASSERT_TRUE(exporter_->Await("/readyz", node_.engine_socket()));
  Child engine({PODGPU_BINARY_DIR "/bin/podgpu-sim", "engine", "--dir", node_.directory(), "--tcp",
                "127.0.0.1:0"});
  const bool is_ready = exporter_->Await("/metrics", kReady);
  engine.ReadAvailable();
  EXPECT_TRUE(is_ready) << exporter_->Get("/readyz") << engine.output();
}

TEST_F(StartFailure, AKubeletThatArrivesLaterBringsTheOwners) {
  const std::filesystem::path socket = node_.kubelet_socket();
  const std::filesystem::path away = node_.kubelet_socket() + ".away";
  std::filesystem::rename(socket, away);
  exporter_.emplace(node_, std::vector<std::string>{"-c=200"});
  ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  ASSERT_TRUE(exporter_->Await("/metrics", kReady)) << exporter_->Get("/readyz");
  ASSERT_TRUE(exporter_->Await("/", socket.string() + " does not exist"));
  EXPECT_FALSE(Page().Has("podgpu_allocation_info"));
  EXPECT_EQ(Page().Value("podgpu_pod_resources_up"), 0);
  std::filesystem::rename(away, socket);
  EXPECT_TRUE(exporter_->Await("/metrics", "\npodgpu_pod_resources_up 1\n"));
  EXPECT_TRUE(exporter_->Await("/metrics", "pod=\"train-1\""));
}

// Otherwise PodGPUPodMappingDown would fire on each host that has no kubelet.
TEST_F(StartFailure, WithoutKubernetesAKubeletCountsOnceItHasAnswered) {
  const std::filesystem::path socket = node_.kubelet_socket();
  const std::filesystem::path away = node_.kubelet_socket() + ".away";
  std::filesystem::rename(socket, away);
  exporter_.emplace(node_, std::vector<std::string>{"-c=200", "--kubernetes=false"});
  ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  ASSERT_TRUE(exporter_->Await("/metrics", kReady)) << exporter_->Get("/readyz");
  ASSERT_TRUE(exporter_->Await("/", socket.string() + " does not exist"));
  EXPECT_FALSE(Page().Has("podgpu_pod_resources_up"));
  std::filesystem::rename(away, socket);
  EXPECT_TRUE(exporter_->Await("/metrics", "\npodgpu_pod_resources_up 1\n"));
  node_.Command({"fault", "kubelet_down"});
  EXPECT_TRUE(exporter_->Await("/metrics", "\npodgpu_pod_resources_up 0\n"));
}

TEST_F(StartFailure, WaitsForADriverThatMatchesItsLibrary) {
  MakeFail({"driver_mismatch"});
  exporter_.emplace(node_, std::vector<std::string>{"-c=200"});
  ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  ASSERT_TRUE(exporter_->Await("/readyz", "the embedded DCGM engine does not start"))
      << exporter_->Get("/readyz");
  EXPECT_EQ(exporter_->Fetch("/readyz").status, 503);
  EXPECT_EQ(exporter_->Get("/healthz"), "ok\n");
  node_.Command({"heal"});
  ASSERT_TRUE(exporter_->Await("/metrics", kReady)) << exporter_->Get("/readyz");
}

// The engine starts anyway and lists no GPU; that does not mean that the node has none.
TEST_F(StartFailure, WaitsForTheDriversLibraryOfTheEngine) {
  MakeFail({"no_nvml"});
  exporter_.emplace(node_, std::vector<std::string>{"-c=200", "--source=dcgm", kWholePage});
  ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  ASSERT_TRUE(exporter_->Await("/readyz", "runs without the driver's library, libnvidia-ml.so.1"))
      << exporter_->Get("/readyz");
  EXPECT_EQ(exporter_->Fetch("/readyz").status, 503);
  EXPECT_NE(exporter_->Get("/").find("(DCGM -56: "), std::string::npos) << exporter_->Get("/");
  EXPECT_EQ(Page().Value("podgpu_source_state", {R"(state="waiting")"}), 1);
  EXPECT_NE(AwaitLog({"level=WARN", "state=waiting", "runs without the driver's library"}), "");
  node_.Command({"heal"});
  EXPECT_TRUE(exporter_->Await("/metrics", kReady)) << exporter_->Get("/readyz");
}

TEST_F(StartFailure, AGpuThatTheDriverNeverFoundIsReportedFromTheBus) {
  MakeFail({"gpu_absent", "gpu=1"});
  exporter_.emplace(node_, std::vector<std::string>{"-c=200"});
  ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  ASSERT_TRUE(exporter_->Await("/metrics", kReady)) << exporter_->Get("/readyz");
  const MetricPage page = Page();
  EXPECT_EQ(page.Value("podgpu_gpus_expected"), 3);
  EXPECT_EQ(page.Value("podgpu_gpus_present"), 2);
  EXPECT_EQ(page.Lines("podgpu_gpu_info").size(), 2U);
}

}  // namespace
}  // namespace podgpu
