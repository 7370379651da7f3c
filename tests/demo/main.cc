// podgpu_demo COMMAND BUILD_FOLDER RUN_FOLDER SCENARIO_FOLDER: steps 3 to 5 of ./dev demo, ./dev
// demo-cluster and of both with "-check".
//
// Starts podgpu-sim on a scenario and podgpu on that simulated node, compares the page with the
// scenario, and prints the addresses to open; the cluster demo does it with three nodes and the
// cluster role.  A demo stays in the foreground until a signal or DEMO_SECONDS; a "-check" ends
// after the comparison.  Exit code 0: as expected; 1: not as expected; 2: wrong use or a PORT in
// use.
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/demo/cluster.h"
#include "tests/demo/node.h"
#include "tests/demo/setting.h"

namespace podgpu::demo {
namespace {

constexpr uint16_t kDefaultPort = 9400;
constexpr std::chrono::seconds kPageTimeout{30};

// A new world has done no work yet; from this world time on its values are not all zero.
constexpr sim::TimeUs kShownFromUs = 3'000'000;

void PrintAddresses(const Setting& setting, const std::vector<std::string>& lines) {
  std::printf("These numbers come from the simulator. No GPU of this machine is read.\n");
  for (const std::string& line : lines) {
    std::printf("  %s\n", line.c_str());
  }
  if (setting.ends_after_check()) {
    return;
  }
  const std::string address = "http://localhost:" + std::to_string(setting.port);
  std::printf(
      "\n"
      "Look   %-36s GPUs, their owners, and why anything is missing\n"
      "       %-36s the page Prometheus reads\n"
      "       %-36s the same as the first, live, in a second terminal\n"
      "Logs   %s\n"
      "Stop   Ctrl-C stops both.\n",
      (address + "/").c_str(), (address + "/metrics").c_str(), ("./podgpu top " + address).c_str(),
      (setting.run / "*.log").c_str());
  std::fflush(stdout);
}

// Waits until the page agrees with the scenario.  The first page may be older than the kubelet's
// first answer, so only a lasting difference counts.
int CheckPage(const Setting& setting, const Expectation& expected, DemoNode& node) {
  std::vector<Sample> page;
  std::vector<std::string> wrong = {"no page yet"};
  const bool right = Await(node.exporter(), "the page", kPageTimeout, [&] {
    if (const std::optional<std::string> text = Fetch(setting.port, "/metrics")) {
      page = ParsePage(*text);
      wrong = Compare(expected, page);
    }
    return wrong.empty() && node.Now() >= kShownFromUs;
  });
  if (!right) {
    for (const std::string& line : wrong) {
      Complain("  " + line);
    }
    return kUnexpected;
  }
  Say(setting, 5, "check", Summary(expected));
  PrintAddresses(setting, ShownLines(expected, page));
  return kAsExpected;
}

int RunNode(Setting setting) {
  if (const std::optional<int> code = ChoosePort(kDefaultPort, setting)) {
    return *code;
  }
  const sigset_t signals = BlockSignals();
  const std::unique_ptr<DemoNode> node = DemoNode::Read(
      {setting.build, setting.run, setting.scenarios / "demo.yaml", setting.port, ""});
  if (node == nullptr || !node->StartSimulator()) {
    return kUnexpected;
  }
  const Expectation expected = node->Expected();
  const std::string gpus = std::to_string(expected.gpus);
  Say(setting, 3, "simulator",
      gpus + " x " + expected.model + ", scenario " + std::string(node->world().scenario_name()));

  const WaitLimit since_start(std::chrono::seconds(30));
  if (!node->StartExporter()) {
    return kUnexpected;
  }
  const std::string seconds = Elapsed(since_start);
  Say(setting, 4, "exporter",
      PortWords(setting) + "source dcgm, " + gpus + " GPUs, first page " + seconds +
          " s after start");

  int code = CheckPage(setting, expected, *node);
  if (code == kAsExpected && !setting.ends_after_check()) {
    const std::vector<NamedChild> children = {{"the exporter", &node->exporter()},
                                              {"the simulator", &node->simulator()}};
    code = Stay(signals, children);
  }
  node->Stop();
  return code;
}

}  // namespace
}  // namespace podgpu::demo

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<size_t>(argc));
  if (argc != 5) {
    std::fputs(
        "usage: podgpu_demo demo|demo-check|demo-cluster|demo-cluster-check BUILD_FOLDER "
        "RUN_FOLDER SCENARIO_FOLDER\n",
        stderr);
    return 2;
  }
  podgpu::demo::Setting setting;
  setting.command = words[1];
  setting.build = words[2];
  setting.run = words[3];
  setting.scenarios = words[4];
  const bool is_cluster = setting.command.starts_with("demo-cluster");
  return is_cluster ? podgpu::demo::RunCluster(std::move(setting))
                    : podgpu::demo::RunNode(std::move(setting));
}
