// The node page in Chromium: a simulated node for each state of the page; node_page.py drives the
// browser and checks the page.  With PODGPU_UPDATE_GOLDEN it makes the pictures of
// docs/node-page.md again.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "tests/e2e/sim_node.h"
#include "tests/surfaces/surfaces.h"

namespace podgpu {
namespace {

constexpr const char* kNodeDriver = "/usr/bin/chromedriver";
constexpr uint64_t kMostNodePictureBytes = 220'000;

using Words = std::vector<std::string>;

struct NodeInAState {
  std::string name;      // As in node_page.py.
  std::string scenario;  // The name of a shipped one, or a path.
  Words flags = {};
  Words fault = {};        // Of podgpu-sim, after the first page.
  std::string proof = {};  // The state is on the page when it has these words.
};

std::vector<NodeInAState> NodesInStates() {
  const Words processes = {"--process-metrics=on"};
  return {
      {"demo", "demo", processes},
      {"lost", "demo", {"--source=nvml"}, {"fault", "gpu_lost", "gpu=1", "xid=79"}, "XID 79"},
      // Without an API server, podgpu cannot say which pod of a shared GPU has a process.
      {"degraded", "time-slicing", processes, {}, "have no namespace, pod and container"},
      {"folded",
       "tests/e2e/many-rows.yaml",
       {"--source=nvml"},
       {"fault", "gpu_lost", "gpu=3", "xid=79"},
       "XID 79"},
      {"unresponsive", "one-gpu", {}, {"fault", "hang"}, "unresponsive"},
      {"kubelet", "demo", {}, {"fault", "kubelet_down"}, "not known: the kubelet"},
      {"waiting", "one-gpu", {"--source=nvml", "--libnvidia-ml=/nowhere/libnvidia-ml.so.1"}},
      {"empty", "no-gpu"},
      {"laptop", "tests/e2e/laptop.yaml", {"--source=nvml"}},
  };
}

// States that pass by themselves within seconds: what the exporter answered in one of them.
struct PassingState {
  std::string name;  // As in node_page.py.
  std::string scenario;
  std::string second;
};

std::vector<PassingState> PassingStates() {
  return {
      {"starting", ScenarioText("one-gpu") + "faults: [{at: 0s, kind: blank, gpu: 0, for: 60s}]\n",
       "2"},
      {"recovering", ScenarioText("fault-driver-reload"), "30"},
  };
}

// Writes these answers to a folder, which node_page.py serves.
void Freeze(const PassingState& state, const std::filesystem::path& folder) {
  std::filesystem::create_directory(folder);
  const auto sections = SectionsOf({state.scenario, state.second, {"show=page_html,page,status"}});
  ASSERT_EQ(sections.size(), 3U);
  const std::array<const char*, 3> names = {"page.html", "page.txt", "status.json"};
  for (size_t i = 0; i < names.size(); ++i) {
    std::ofstream(folder / names[i], std::ios::binary) << sections[i].second;
  }
}

// podgpu on its own simulated node.
class PagedNode {
 public:
  // The node "demo" has an API server, which names the pods of processes.
  explicit PagedNode(const NodeInAState& state)
      : simulator_(
            state.scenario.ends_with(".yaml") ? state.scenario : SimNode::Shipped(state.scenario),
            SimNode::Pace::kReal, state.name == "demo" ? Words{"--api-server"} : Words()) {
    Words flags = state.flags;
    flags.push_back("--proc-root=" + simulator_.directory() + "/proc");
    Words variables;
    std::ifstream file(simulator_.directory() + "/api/env");
    for (std::string line; std::getline(file, line);) {
      variables.push_back(line);
    }
    exporter_.emplace(simulator_, flags, variables);
  }

  const SimNode& simulator() const { return simulator_; }
  const ExporterProcess& exporter() const { return *exporter_; }

 private:
  SimNode simulator_;
  std::optional<ExporterProcess> exporter_;
};

TEST(NodePageInABrowser, IsCompleteLiveAndReadableInEveryState) {
  if (!std::filesystem::exists(kNodeDriver)) {
    FAIL() << kNodeDriver << " is missing; `tools/setup \"\" check` installs it";
  }
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<PagedNode>> nodes;
  Words arguments = {"/usr/bin/python3", "tests/e2e/node_page.py", folder.path()};
  for (const NodeInAState& state : NodesInStates()) {
    nodes.push_back(std::make_unique<PagedNode>(state));
    const PagedNode& node = *nodes.back();
    ASSERT_TRUE(node.exporter().ready()) << state.name;
    if (!state.fault.empty()) {
      ASSERT_TRUE(node.exporter().Await("/readyz", " fresh sample")) << state.name;
      ASSERT_TRUE(node.exporter().Await("/api/v1/status", "\"owners_known\":true")) << state.name;
      node.simulator().Command(state.fault);
    }
    ASSERT_TRUE(node.exporter().Await("/", state.proof)) << node.exporter().Get("/");
    arguments.push_back(state.name + "=" + node.exporter().root() + "/");
  }
  for (const PassingState& state : PassingStates()) {
    const std::filesystem::path frozen = std::filesystem::path(folder.path()) / state.name;
    Freeze(state, frozen);
    arguments.push_back(state.name + "=" + frozen.string());
  }
  Child browser(arguments, {"PYTHONDONTWRITEBYTECODE=1"});
  EXPECT_EQ(browser.Wait(), 0) << browser.output();
  const std::pair<const char*, const char*> pictures[] = {
      {"node-demo-light.png", "node-light.png"},
      {"node-demo-dark.png", "node-dark.png"},
      {"node-demo-phone.png", "node-phone.png"}};
  for (const auto& [made, kept] : pictures) {
    const std::filesystem::path path = std::filesystem::path("docs") / kept;
    if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {
      std::filesystem::copy_file(folder.path() + "/" + made, path,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    ASSERT_TRUE(std::filesystem::exists(path)) << path;
    EXPECT_LE(std::filesystem::file_size(path), kMostNodePictureBytes) << path;
  }
}

}  // namespace
}  // namespace podgpu
