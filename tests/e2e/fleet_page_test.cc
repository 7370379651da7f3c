// The fleet page over three simulated nodes, in Chromium: fleet_page.py drives the browser and
// checks the page.  With PODGPU_UPDATE_GOLDEN it makes the pictures of docs/cluster.md again.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include <gtest/gtest.h>

#include "sim/kube/api_server.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

constexpr const char* kDriver = "/usr/bin/chromedriver";
constexpr uint64_t kMostPictureBytes = 150'000;

// podgpu on its own simulated node.
struct FleetNode {
  FleetNode(const std::string& scenario, const std::string& name)
      : simulator(SimNode::Shipped(scenario), SimNode::Pace::kReal),
        exporter(simulator, {}, {"NODE_NAME=" + name}) {}

  SimNode simulator;
  ExporterProcess exporter;
};

// Two nodes are of a pool, the third has no label.
void PutNodes(sim::FakeApi& api) {
  for (const auto& [name, pool] :
       {std::pair("gpu-node-1", "training"), std::pair("gpu-node-2", "inference")}) {
    api.Put("/api/v1/nodes", std::string("/") + name,
            std::string(R"("name":")") + name + R"(","labels":{"pool":")" + pool + "\"}");
  }
  api.Put("/api/v1/nodes", "/gpu-node-3", R"("name":"gpu-node-3")");
}

TEST(FleetPageInABrowser, IsReadFilteredAndMovedThrough) {
  if (!std::filesystem::exists(kDriver)) {
    FAIL() << kDriver << " is missing; `tools/setup \"\" check` installs it";
  }
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<FleetNode>> nodes;
  std::string list;
  for (const char* scenario : {"demo", "time-slicing", "mig-mixed"}) {
    const std::string name = "gpu-node-" + std::to_string(nodes.size() + 1);
    nodes.push_back(std::make_unique<FleetNode>(scenario, name));
    ASSERT_TRUE(nodes.back()->exporter.ready()) << nodes.back()->exporter.process().output();
    list += "127.0.0.1:" + std::to_string(nodes.back()->exporter.port()) + "\n";
  }
  sim::FakeApi api;
  ASSERT_TRUE(api.WriteCredentials(folder.path()));
  PutNodes(api);
  Child cluster(
      {PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0",
       "--nodes=file:" + folder.Write("nodes", list), "--node-interval=1s",
       "--node-url=http://{node}:9400/", "--group-labels=pool,rack",
       "--dashboard-url=https://grafana.example/d/"
       "gpu?var-node={node}&var-gpu={gpu}&var-uuid={uuid}"},
      {"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=" + std::to_string(api.port()),
       "PODGPU_SERVICE_ACCOUNT_DIR=" + folder.path()});
  const std::optional<std::string> serving = cluster.AwaitLine("msg=\"serving\"");
  ASSERT_TRUE(serving) << cluster.output();
  const std::string port = serving->substr(serving->find("port=") + 5);
  const std::string root = "http://127.0.0.1:" + port.substr(0, port.find_first_of(" \n")) + "/";

  const bool makes_pictures = std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr;
  std::vector<std::string> arguments = {"/usr/bin/python3", "tests/e2e/fleet_page.py", root};
  if (makes_pictures) {
    arguments.emplace_back("docs");
  }
  Child browser(arguments, {"PYTHONDONTWRITEBYTECODE=1"});
  EXPECT_EQ(browser.Wait(), 0) << browser.output();
  if (const std::optional<std::string> times = browser.AwaitLine("ms at 40,000 GPUs")) {
    std::printf("%s\n", times->c_str());
  }
  for (const char* picture : {"fleet-light.png", "fleet-dark.png"}) {
    const std::filesystem::path path = std::filesystem::path("docs") / picture;
    ASSERT_TRUE(std::filesystem::exists(path)) << path;
    EXPECT_LE(std::filesystem::file_size(path), kMostPictureBytes) << path;
  }
  cluster.Signal(SIGTERM);
  EXPECT_EQ(cluster.Wait(), 0);
}

}  // namespace
}  // namespace podgpu
