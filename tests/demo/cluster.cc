#include "tests/demo/cluster.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <set>
#include <vector>

#include "base/text.h"
#include "tests/demo/node.h"

namespace podgpu::demo {
namespace {

constexpr uint16_t kDefaultClusterPort = 9401;
constexpr std::chrono::seconds kMapTimeout{30};
constexpr std::chrono::seconds kClusterStopTimeout{5};
constexpr const char* kScenarios[] = {"demo", "time-slicing", "mig-mixed"};
constexpr std::string_view kMap = "pod_and_gpu_map_info";

using Nodes = std::vector<std::unique_ptr<DemoNode>>;

// "gpu-node-1 research/llama-train-0": a pod and its node.
using Residents = std::set<std::string>;

// The pods to which the scenarios give GPUs.
Residents ExpectedResidents(const Nodes& nodes) {
  Residents residents;
  for (const std::unique_ptr<DemoNode>& node : nodes) {
    for (const std::string& allocation : node->Expected().allocations) {
      // "gpu 4 instance 7: namespace/pod/container"
      const std::string owner = allocation.substr(allocation.find(": ") + 2);
      residents.insert(node->place().name + " " + owner.substr(0, owner.rfind('/')));
    }
  }
  return residents;
}

Residents ResidentsOf(const std::vector<Sample>& page) {
  Residents residents;
  for (const Sample& sample : page) {
    if (sample.family == kMap) {
      residents.insert(sample.Label("node") + " " + sample.Label("namespace") + "/" +
                       sample.Label("pod_name"));
    }
  }
  return residents;
}

// The started nodes of the demo; fewer than the scenarios after a complaint.
Nodes StartNodes(const Setting& setting) {
  Nodes nodes;
  auto port = static_cast<uint16_t>(setting.port + 1);
  for (const char* scenario : kScenarios) {
    while (!IsFree(port)) {
      ++port;
    }
    const std::string name = "gpu-node-" + std::to_string(nodes.size() + 1);
    std::unique_ptr<DemoNode> node =
        DemoNode::Read({setting.build, setting.run / name,
                        setting.scenarios / (std::string(scenario) + ".yaml"), port, name});
    if (node == nullptr || !node->StartSimulator() || !node->StartExporter()) {
      break;
    }
    const Expectation expected = node->Expected();
    Say(setting, 3, "node",
        name + ": " + std::to_string(expected.gpus) + " x " + expected.model + ", scenario " +
            scenario + ", port " + std::to_string(port));
    nodes.push_back(std::move(node));
    ++port;
  }
  return nodes;
}

std::vector<std::string> ClusterArguments(const Setting& setting, const Nodes& nodes) {
  const std::filesystem::path file = setting.run / "nodes";
  std::ofstream list(file);
  for (const std::unique_ptr<DemoNode>& node : nodes) {
    list << "127.0.0.1:" << node->place().port << "  # " << node->place().name << "\n";
  }
  return {setting.build / "bin/podgpu",
          "cluster",
          "-a",
          ":" + std::to_string(setting.port),
          "--nodes=file:" + file.string(),
          "--node-interval=2s"};
}

void PrintMapAddresses(const Setting& setting, const std::string& page) {
  std::printf("These numbers come from the simulator. No GPU of this machine is read.\n");
  constexpr int kShown = 4;
  int shown = 0;
  for (const std::string_view line : Split(page, '\n')) {
    if (line.starts_with(kMap) && shown++ < kShown) {
      std::printf("  %.*s\n", static_cast<int>(line.size()), line.data());
    }
  }
  if (setting.ends_after_check()) {
    return;
  }
  const std::string address = "http://localhost:" + std::to_string(setting.port);
  std::printf(
      "\n"
      "Look   %-36s the fleet page, in a browser\n"
      "       %-36s the map that Prometheus reads\n"
      "       %-36s all of it as JSON\n"
      "Logs   %s\n"
      "Stop   Ctrl-C stops all.\n",
      (address + "/").c_str(), (address + "/metrics").c_str(), (address + "/api/v1/fleet").c_str(),
      (setting.run / "*/*.log").c_str());
  std::fflush(stdout);
}

// Waits until the map shows the same pods on the same nodes as the scenarios.
int CheckMap(const Setting& setting, const Nodes& nodes, Child& cluster) {
  const Residents expected = ExpectedResidents(nodes);
  std::string page;
  Residents found;
  const bool right = Await(cluster, "the map", kMapTimeout, [&] {
    page = Fetch(setting.port, "/metrics").value_or("");
    found = ResidentsOf(ParsePage(page));
    return found == expected;
  });
  for (const std::string& resident : expected) {
    if (!found.contains(resident)) {
      Complain("  the map lacks " + resident);
    }
  }
  for (const std::string& resident : found) {
    if (!expected.contains(resident)) {
      Complain("  the map has " + resident);
    }
  }
  if (!right) {
    return kUnexpected;
  }
  Say(setting, 5, "check",
      std::to_string(expected.size()) + " pods on " + std::to_string(nodes.size()) +
          " nodes, as the scenarios say");
  PrintMapAddresses(setting, page);
  return kAsExpected;
}

}  // namespace

int RunCluster(Setting setting) {
  if (const std::optional<int> code = ChoosePort(kDefaultClusterPort, setting)) {
    return *code;
  }
  const sigset_t signals = BlockSignals();
  const Nodes nodes = StartNodes(setting);
  if (nodes.size() < std::size(kScenarios)) {
    return kUnexpected;
  }
  const WaitLimit since_start(kMapTimeout);
  Child cluster(ClusterArguments(setting, nodes), {}, setting.run / "podgpu-cluster.log");
  if (!Await(cluster, "the cluster role", kMapTimeout,
             [&] { return Fetch(setting.port, "/readyz").has_value(); })) {
    return kUnexpected;
  }
  Say(setting, 4, "cluster",
      PortWords(setting) + "every node was asked within " + Elapsed(since_start) +
          " s after start");
  int code = CheckMap(setting, nodes, cluster);
  if (code == kAsExpected && !setting.ends_after_check()) {
    std::vector<NamedChild> children = {{"the cluster role", &cluster}};
    for (const std::unique_ptr<DemoNode>& node : nodes) {
      children.push_back({"podgpu on " + node->place().name, &node->exporter()});
      children.push_back({"the simulator of " + node->place().name, &node->simulator()});
    }
    code = Stay(signals, children);
  }
  cluster.Stop(kClusterStopTimeout);
  for (const std::unique_ptr<DemoNode>& node : nodes) {
    node->Stop();
  }
  return code;
}

}  // namespace podgpu::demo
