// Real processes that stop, die and come back: the engine, the kubelet, the exporter itself.
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

class HangTest : public ::testing::Test {
 protected:
  HangTest() : node_(SimNode::Shipped("one-gpu"), SimNode::Pace::kReal) {}

  std::vector<std::string> RemoteFlags() const {
    return {"-r=unix://" + node_.engine_socket(), "--stale-after=2s"};
  }

  const SimNode node_;
};

constexpr std::string_view kReady = "\npodgpu_ready 1\n";
constexpr std::string_view kNotReady = "\npodgpu_ready 0\n";

TEST_F(HangTest, AStoppedEngineLeavesPagesComingAndTakesItsValuesOffThem) {
  ASSERT_TRUE(node_.ready()) << node_.output();
  ExporterProcess exporter(node_, RemoteFlags());
  ASSERT_TRUE(exporter.Await("/metrics", kReady)) << exporter.process().output();
  ::kill(node_.engine_pid(), SIGSTOP);
  ASSERT_TRUE(exporter.Await("/metrics", kNotReady));
  const std::string page = exporter.Get("/metrics");
  EXPECT_EQ(page.find("DCGM_FI_DEV_GPU_TEMP{"), std::string::npos) << "withdrawn, not repeated";
  EXPECT_NE(page.find("podgpu_gpu_state{"), std::string::npos) << "the device stays visible";
  EXPECT_EQ(exporter.Get("/healthz"), "ok\n");
  // The watchdog frees the call after its deadline; when the engine runs again, data is back.
  ASSERT_TRUE(exporter.Await("/metrics", "\npodgpu_source_interrupted_calls_total 1\n"));
  ::kill(node_.engine_pid(), SIGCONT);
  ASSERT_TRUE(exporter.Await("/metrics", kReady));
  EXPECT_NE(exporter.Get("/metrics").find("DCGM_FI_DEV_GPU_TEMP{"), std::string::npos);
}

TEST_F(HangTest, StopsWhileTheEngineHangs) {
  ASSERT_TRUE(node_.ready()) << node_.output();
  ExporterProcess exporter(node_, RemoteFlags());
  ASSERT_TRUE(exporter.Await("/metrics", kReady)) << exporter.process().output();
  ::kill(node_.engine_pid(), SIGSTOP);
  ASSERT_TRUE(exporter.Await("/metrics", kNotReady));
  exporter.process().Signal(SIGTERM);
  EXPECT_EQ(exporter.process().Wait(), 0) << exporter.process().output();
  ::kill(node_.engine_pid(), SIGCONT);
}

TEST_F(HangTest, AKilledEngineIsSaidInPlainWords) {
  ASSERT_TRUE(node_.ready()) << node_.output();
  ExporterProcess exporter(node_, RemoteFlags());
  ASSERT_TRUE(exporter.Await("/metrics", kReady)) << exporter.process().output();
  ::kill(node_.engine_pid(), SIGKILL);
  ASSERT_TRUE(exporter.Await("/metrics", kNotReady));
  EXPECT_NE(exporter.Get("/").find(node_.engine_socket()), std::string::npos) << exporter.Get("/");
}

TEST_F(HangTest, AMissingKubeletSocketTakesOnlyTheOwners) {
  ASSERT_TRUE(node_.ready()) << node_.output();
  ExporterProcess exporter(node_);
  ASSERT_TRUE(exporter.Await("/metrics", "\npodgpu_pod_resources_up 1\n"));
  std::filesystem::rename(node_.kubelet_socket(), node_.kubelet_socket() + ".away");
  ASSERT_TRUE(exporter.Await("/metrics", "\npodgpu_pod_resources_up 0\n"));
  EXPECT_NE(exporter.Get("/metrics").find("DCGM_FI_DEV_GPU_TEMP{"), std::string::npos);
  EXPECT_NE(exporter.Get("/").find(node_.kubelet_socket()), std::string::npos);
  std::filesystem::rename(node_.kubelet_socket() + ".away", node_.kubelet_socket());
  EXPECT_TRUE(exporter.Await("/metrics", "\npodgpu_pod_resources_up 1\n"));
}

}  // namespace
}  // namespace podgpu
