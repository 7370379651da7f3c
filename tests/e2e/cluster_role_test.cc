// The cluster role over two simulated nodes: the owner of each GPU, and the utilisation of GPUs in
// use.
#include <csignal>
#include <fstream>
#include <iterator>
#include <re2/re2.h>

#include <gtest/gtest.h>

#include "http/testing/loopback_client.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

// The scenario "one-gpu" with its own boards.
std::string ScenarioWith(const TemporaryFolder& folder, const std::string& seed) {
  std::ifstream file(SimNode::Shipped("one-gpu"));
  std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(RE2::Replace(&text, R"((?m)^seed: .*$)", "seed: " + seed));
  return folder.Write("node-" + seed + ".yaml", text);
}

bool NamesAPodOf(const std::string& page, const std::string& node) {
  return RE2::PartialMatch(page,
                           R"(\npod_and_gpu_map_info\{gpu_id="GPU-[^"]+",gpu_model="NVIDIA [^"]+",)"
                           R"(namespace="[^"]+",node=")" +
                               RE2::QuoteMeta(node) + R"(",pod_name="[^"]+"\} 1\.0\n)");
}

TEST(ClusterRole, ServesTheMapOfTwoSimulatedNodes) {
  const TemporaryFolder folder;
  const SimNode one(ScenarioWith(folder, "41"), SimNode::Pace::kReal);
  const SimNode two(ScenarioWith(folder, "42"), SimNode::Pace::kReal);
  ASSERT_TRUE(one.ready() && two.ready()) << one.output() << two.output();
  const ExporterProcess first(one, {}, {"NODE_NAME=gpu-node.1"});
  const ExporterProcess second(two, {}, {"NODE_NAME=gpu-node.2"});
  ASSERT_TRUE(first.ready() && second.ready());

  const std::string nodes =
      folder.Write("nodes", "127.0.0.1:" + std::to_string(first.port()) +
                                "\nlocalhost:" + std::to_string(second.port()) + "  # by name\n");
  Child cluster({PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0",
                 "--nodes=file:" + nodes, "--node-interval=1s"});
  const uint16_t port = ServedPort(cluster);
  ASSERT_NE(port, 0) << cluster.output();
  ASSERT_TRUE(cluster.AwaitLine("ready: 2 of 2 nodes answer, with 2 GPUs")) << cluster.output();
  // A node may have been read before it had its kubelet's first answer.
  LoopbackClient client(port);
  std::string page;
  do {
    const LoopbackResponse response = client.Fetch("/metrics");
    ASSERT_EQ(response.status, 200);
    page = response.body;
  } while (!NamesAPodOf(page, "gpu-node.1") || !NamesAPodOf(page, "gpu-node.2"));
  EXPECT_TRUE(RE2::PartialMatch(page, R"(\navg_GPU_utilization [0-9.]+\n)")) << page;
  cluster.Signal(SIGTERM);
  EXPECT_EQ(cluster.Wait(), 0);
}

}  // namespace
}  // namespace podgpu
