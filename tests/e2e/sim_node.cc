#include "tests/e2e/sim_node.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/status.h"

namespace podgpu {
namespace {

constexpr std::string_view kPrograms = PODGPU_BINARY_DIR "/bin/";

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (text.ends_with('\n')) {
    text.pop_back();
  }
  return text;
}

}  // namespace

SimNode::SimNode(const std::string& scenario, Pace pace) {
  std::vector<std::string> arguments = {std::string(kPrograms) + "podgpu-sim",
                                        "run",
                                        scenario,
                                        "--dir",
                                        folder_.path(),
                                        "--engine-tcp=127.0.0.1:0"};
  if (pace == Pace::kManual) {
    arguments.emplace_back("--manual");
  }
  process_.emplace(arguments);
  ready_ = process_->AwaitLine("PODGPU_SIM_DIR=").has_value();
}

std::string SimNode::Shipped(std::string_view name) {
  return PODGPU_SOURCE_DIR "/sim/scenarios/" + std::string(name) + ".yaml";
}

std::string SimNode::engine_address() const { return ReadFile(directory() + "/engine.addr"); }

pid_t SimNode::engine_pid() const {
  return static_cast<pid_t>(
      std::strtol(ReadFile(directory() + "/engine.pid").c_str(), nullptr, 10));
}

void SimNode::Tick(const std::string& step) const {
  Child tick({std::string(kPrograms) + "podgpu-sim", "tick", step, "--dir", directory()});
  PODGPU_CHECK(tick.Wait() == 0);
}

ExporterProcess::ExporterProcess(const SimNode& node, std::vector<std::string> flags) {
  std::vector<std::string> arguments = {std::string(kPrograms) + "podgpu",
                                        "-a=127.0.0.1:0",
                                        "-k",
                                        "-c=1000",
                                        "--pod-resources-kubelet-socket=" + node.kubelet_socket(),
                                        "--libdcgm=" + node.library("libdcgm.so.4"),
                                        "--libnvidia-ml=" + node.library("libnvidia-ml.so.1")};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::vector<std::string> variables = node.variables();
  variables.emplace_back("NODE_NAME=gpu-node-0");
  process_.emplace(arguments, variables);
  if (const std::optional<std::string> line = process_->AwaitLine("msg=\"serving\"")) {
    root_ = "http://127.0.0.1:" + line->substr(line->find("port=") + 5);
  }
}

std::string ExporterProcess::Get(const std::string& path,
                                 const std::vector<std::string>& curl_flags) const {
  std::vector<std::string> arguments = {"curl", "-s", "--max-time", "30", root_ + path};
  arguments.insert(arguments.end(), curl_flags.begin(), curl_flags.end());
  Child curl(arguments);
  curl.Wait();
  return curl.output();
}

bool ExporterProcess::Await(const std::string& path, std::string_view part) const {
  while (::kill(process_->pid(), 0) == 0) {
    if (Get(path).find(part) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace podgpu
