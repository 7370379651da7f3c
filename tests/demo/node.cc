#include "tests/demo/node.h"

#include <fstream>
#include <iterator>

#include "sim/scenario/compile.h"
#include "tests/demo/setting.h"

namespace podgpu::demo {
namespace {

constexpr std::chrono::seconds kStartTimeout{30};
constexpr std::chrono::seconds kStopTimeout{5};

std::vector<std::string> ExporterArguments(const DemoNode::Place& place) {
  const std::string run = place.run.string();
  return {place.build / "bin/podgpu",
          "node",
          "-a",
          ":" + std::to_string(place.port),
          "-c",
          "1000",
          "-k",
          "--pod-resources-kubelet-socket",
          run + "/kubelet/kubelet.sock",
          "--libdcgm",
          run + "/lib/libdcgm.so.4",
          "--libnvidia-ml",
          run + "/lib/libnvidia-ml.so.1",
          "--process-metrics=on",
          "--proc-root",
          run + "/proc"};
}

// The addresses of the simulated node and its API server.
std::vector<std::string> ExporterVariables(const DemoNode::Place& place) {
  std::vector<std::string> variables = {"PODGPU_SIM_DIR=" + place.run.string()};
  std::ifstream file(place.run / "api/env");
  for (std::string line; std::getline(file, line);) {
    variables.push_back(line);
  }
  if (!place.name.empty()) {
    variables.push_back("NODE_NAME=" + place.name);
  }
  return variables;
}

}  // namespace

std::unique_ptr<DemoNode> DemoNode::Read(Place place) {
  std::unique_ptr<DemoNode> node(new DemoNode(std::move(place)));
  const std::string& path = node->place_.scenario;
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  sim::CompileResult compiled = sim::CompileScenario(text, path);
  for (const std::string& error : compiled.errors) {
    Complain(error);
  }
  node->image_ = std::move(compiled.image);
  std::string error;
  node->world_ = sim::World::Open(node->image_, error);
  if (node->world_ == nullptr) {
    Complain(path + ": " + error);
    return nullptr;
  }
  return node;
}

bool DemoNode::StartSimulator() {
  std::filesystem::create_directories(place_.run);
  simulator_.emplace(
      std::vector<std::string>{place_.build / "bin/podgpu-sim", "run", place_.scenario, "--dir",
                               place_.run, "--engine-tcp", "127.0.0.1:0", "--api-server"},
      std::vector<std::string>{}, place_.run / "podgpu-sim.log");
  return Await(*simulator_, "the simulator", kStartTimeout, [this] {
    std::string error;
    directory_ = sim::RunDirectory::Open(place_.run, error);
    return directory_ != nullptr && std::filesystem::exists(place_.run / "kubelet/kubelet.sock") &&
           std::filesystem::exists(place_.run / "api/env");
  });
}

bool DemoNode::StartExporter() {
  exporter_.emplace(ExporterArguments(place_), ExporterVariables(place_),
                    place_.run / "podgpu.log");
  return Await(*exporter_, "the exporter", kStartTimeout,
               [this] { return Fetch(place_.port, "/readyz").has_value(); });
}

void DemoNode::Stop() {
  if (exporter_) {
    exporter_->Stop(kStopTimeout);
  }
  if (simulator_) {
    simulator_->Stop(kStopTimeout);
  }
}

}  // namespace podgpu::demo
