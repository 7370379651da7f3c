// podgpu_demo COMMAND BUILD_FOLDER RUN_FOLDER SCENARIO_FOLDER: steps 3 to 5 of ./dev demo, ./dev
// demo-cluster and of both with "-check".
//
// Starts podgpu-sim on a scenario and podgpu on that simulated node, compares the page with the
// scenario, and prints the addresses to open; the cluster demo does it with three nodes and the
// cluster role.  A demo stays in the foreground until a signal or DEMO_SECONDS; a "-check" ends
// after the comparison.  Exit code 0: as expected; 1: not as expected; 2: wrong use or a PORT in
// use.
#include <deque>
#include <fstream>
#include <memory>
#include <span>

#include "absl/strings/str_format.h"

#include "base/clock.h"
#include "sim/world/run_directory.h"
#include "tests/demo/page.h"
#include "tests/demo/program.h"

namespace podgpu::demo {
namespace {

// A new world has done no work yet; from this world time on its values are not all zero.
constexpr sim::TimeUs kShownFromUs = 3'000'000;

// A simulated node with podgpu on it, which podgpu-sim starts and ends.
struct DemoNode {
  DemoNode(const Setting& setting, const char* scenario, const std::string& folder,
           const std::string& node, uint16_t free_port)
      : name(node),
        run(folder),
        port(free_port),
        program("node " + node, run + "/node.log",
                {setting.build + "/bin/podgpu-sim", "run",
                 absl::StrFormat("%s/%s.yaml", setting.scenarios, scenario), "--dir", run,
                 "--engine-tcp=127.0.0.1:0", "--api-server", "--", "setpriv", "--pdeathsig=KILL",
                 "env", "NODE_NAME=" + node, setting.build + "/bin/podgpu", "node",
                 absl::StrFormat("-a=:%d", port), "-c=1000", "-k", "--source=dcgm",
                 "--process-metrics=on"}) {}

  // Both return false after a complaint.
  bool AwaitSimulator() {
    return program.Await("the simulator", [this] {
      std::string error = "it has not started";
      if (program.Output().find("PODGPU_SIM_DIR=") != std::string::npos) {
        directory = sim::RunDirectory::Open(run, error);
      }
      return directory == nullptr ? Complaints{error} : Complaints();
    });
  }
  bool AwaitExporter() { return program.AwaitAnswer("the exporter", port); }

  Expectation Expected() const { return ExpectationOf(directory->world(), directory->Now()); }
  // "8 x NVIDIA H100 80GB HBM3, scenario demo"
  std::string Title() const {
    const sim::World& world = directory->world();
    return absl::StrFormat("%d x %s, scenario %s", world.gpu_count(), world.gpu(0).model,
                           world.scenario_name());
  }

  const std::string name, run;
  const uint16_t port;
  Program program;
  std::unique_ptr<sim::RunDirectory> directory;  // Null before AwaitSimulator.
};

void ShowPage(const std::vector<std::string>& lines) {
  absl::PrintF("These numbers come from the simulator. No GPU of this machine is read.\n");
  for (const std::string& line : lines) {
    absl::PrintF("  %s\n", line);
  }
}

int RunNode(const Setting& setting) {
  SignalQueue signals({SIGINT, SIGTERM, SIGHUP});
  DemoNode node(setting, "demo", setting.run, "gpu-node-0", setting.port);
  if (!node.AwaitSimulator()) {
    return kUnexpected;
  }
  Say(setting, 3, "simulator", node.Title());
  if (!node.AwaitExporter()) {
    return kUnexpected;
  }
  Say(setting, 4, "exporter",
      absl::StrFormat("%ssource dcgm, %d GPUs", setting.moved,
                      node.directory->world().gpu_count()));
  Expectation expected;
  std::vector<std::string> lines;
  if (!node.program.Await("the page", [&] {
        const MetricPage page(Fetch(setting.port, "/metrics"));
        expected = node.Expected();
        lines = ShownLines(expected, page);
        return node.directory->Now() < kShownFromUs ? Complaints{"the node has just begun"}
                                                    : Differences(expected.page, FactsOfNode(page));
      })) {
    return kUnexpected;
  }
  Say(setting, 5, "check", Summary(expected));
  ShowPage(lines);
  if (setting.ends_after_check()) {
    return kAsExpected;
  }
  const std::string address = absl::StrFormat("http://localhost:%d", setting.port);
  absl::PrintF(
      "\n"
      "Look   %-36s GPUs, their owners, and why anything is missing\n"
      "       %-36s the page Prometheus reads\n"
      "       %-36s the same as the first, live, in a second terminal\n"
      "Logs   %s/*.log\n"
      "Stop   Ctrl-C stops both.\n",
      address + "/", address + "/metrics", "./podgpu top " + address, setting.run);
  return Stay(signals, {&node.program});
}

// Starts a node for each scenario on the ports after the setting's; false after a complaint.
bool StartNodes(const Setting& setting, std::deque<DemoNode>& nodes) {
  uint16_t port = setting.port;
  for (const char* scenario : {"demo", "time-slicing", "mig-mixed"}) {
    while (IsTaken(++port)) {
    }
    const std::string name = absl::StrFormat("gpu-node-%d", nodes.size() + 1);
    DemoNode& node = nodes.emplace_back(setting, scenario, setting.run + "/" + name, name, port);
    if (!node.AwaitSimulator() || !node.AwaitExporter()) {
      return false;
    }
    Say(setting, 3, "node", absl::StrFormat("%s: %s, port %d", name, node.Title(), port));
  }
  return true;
}

int RunCluster(const Setting& setting) {
  SignalQueue signals({SIGINT, SIGTERM, SIGHUP});
  std::deque<DemoNode> nodes;
  if (!StartNodes(setting, nodes)) {
    return kUnexpected;
  }
  std::ofstream list(setting.run + "/nodes");
  for (const DemoNode& node : nodes) {
    list << absl::StrFormat("127.0.0.1:%d  # %s\n", node.port, node.name);
  }
  list.close();
  const Instant start = SystemClock().Now();
  Program cluster(
      "the cluster role", setting.run + "/podgpu-cluster.log",
      {setting.build + "/bin/podgpu", "cluster", absl::StrFormat("-a=:%d", setting.port),
       absl::StrFormat("--nodes=file:%s/nodes", setting.run), "--node-interval=2s"});
  if (!cluster.AwaitAnswer("the cluster role", setting.port)) {
    return kUnexpected;
  }
  Say(setting, 4, "cluster",
      absl::StrFormat("%severy node was asked within %.1f s after start", setting.moved,
                      std::chrono::duration<double>(SystemClock().Now() - start).count()));
  Facts expected;
  std::vector<std::string> lines;
  if (!cluster.Await("the map", [&] {
        const MetricPage page(Fetch(setting.port, "/metrics"));
        expected.clear();
        for (const DemoNode& node : nodes) {
          for (const std::string& pod : node.Expected().pods) {
            expected.insert(absl::StrFormat("%s has %s", node.name, pod));
          }
        }
        const std::vector<std::string_view> map = page.Lines(kMap);
        lines.assign(map.begin(), map.begin() + std::min<ptrdiff_t>(std::ssize(map), 4));
        return Differences(expected, FactsOfMap(page));
      })) {
    return kUnexpected;
  }
  Say(setting, 5, "check",
      absl::StrFormat("%d pods on %d nodes, as the scenarios say", expected.size(), nodes.size()));
  ShowPage(lines);
  if (setting.ends_after_check()) {
    return kAsExpected;
  }
  const std::string address = absl::StrFormat("http://localhost:%d", setting.port);
  absl::PrintF(
      "\n"
      "Look   %-36s the fleet page, in a browser\n"
      "       %-36s the map that Prometheus reads\n"
      "       %-36s all of it as JSON\n"
      "Logs   %s/*/*.log\n"
      "Stop   Ctrl-C stops all.\n",
      address + "/", address + "/metrics", address + "/api/v1/fleet", setting.run);
  return Stay(signals, {&cluster, &nodes[0].program, &nodes[1].program, &nodes[2].program});
}

int Run(std::span<char*> words) {
  if (words.size() != 5) {
    Complain(
        "usage: podgpu_demo demo|demo-check|demo-cluster|demo-cluster-check BUILD_FOLDER "
        "RUN_FOLDER SCENARIO_FOLDER");
    return kWrongUse;
  }
  Setting setting{words[1], words[2], words[3], words[4], 0, ""};
  const bool is_cluster = setting.command.starts_with("demo-cluster");
  if (!ChoosePort(is_cluster ? 9401 : 9400, setting)) {
    return kWrongUse;
  }
  return is_cluster ? RunCluster(setting) : RunNode(setting);
}

}  // namespace
}  // namespace podgpu::demo

int main(int argc, char** argv) {
  return podgpu::demo::Run(std::span(argv, static_cast<size_t>(argc)));
}
