#include "tests/e2e/sim_node.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <poll.h>

#include "base/status.h"
#include "base/text.h"

namespace podgpu {
namespace {

constexpr std::string_view kPrograms = PODGPU_BINARY_DIR "/bin/";

// A page is made once per interval at most, so the test pauses between two requests.
constexpr int kBetweenFetchesMs = 10;
constexpr int kMostFetches = 6'000;  // 1 min: long enough for a busy machine.

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (text.ends_with('\n')) {
    text.pop_back();
  }
  return text;
}

}  // namespace

SimNode::SimNode(const std::string& scenario, Pace pace, const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {std::string(kPrograms) + "podgpu-sim",
                                        "run",
                                        scenario,
                                        "--dir",
                                        folder_.path(),
                                        "--engine-tcp=127.0.0.1:0"};
  if (pace == Pace::kManual) {
    arguments.emplace_back("--manual");
  }
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  process_.emplace(arguments);
  ready_ = process_->AwaitLine("PODGPU_SIM_DIR=").has_value();
}

std::string SimNode::Shipped(std::string_view name) {
  return "sim/scenarios/" + std::string(name) + ".yaml";
}

std::string SimNode::engine_address() const { return ReadFile(directory() + "/engine.addr"); }

pid_t SimNode::engine_pid() const {
  return static_cast<pid_t>(
      std::strtol(ReadFile(directory() + "/engine.pid").c_str(), nullptr, 10));
}

std::vector<std::string> SimNode::LinesOf(const std::string& file) const {
  std::vector<std::string> lines;
  std::ifstream stream(folder_.path() + "/" + file);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

void SimNode::Command(std::vector<std::string> words) const {
  words.insert(words.begin(), std::string(kPrograms) + "podgpu-sim");
  words.insert(words.end(), {"--dir", directory()});
  std::string output;
  int exit_code = 0;
  do {  // On a slow machine the chosen time may be past when the node reads it.
    Child command(words);
    exit_code = command.Wait();
    output = command.output();
  } while (exit_code != 0 && output.find("is past or too soon") != std::string::npos);
  if (exit_code != 0) {
    std::fprintf(stderr, "%s", output.c_str());
  }
  PODGPU_CHECK(exit_code == 0);
}

std::vector<std::string> ExporterProcess::Arguments(const SimNode& node,
                                                    const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {std::string(kPrograms) + "podgpu",
                                        "-a=127.0.0.1:0",
                                        "-k",
                                        "-c=1000",
                                        "--pod-resources-kubelet-socket=" + node.kubelet_socket(),
                                        "--libdcgm=" + node.library("libdcgm.so.4"),
                                        "--libnvidia-ml=" + node.library("libnvidia-ml.so.1"),
                                        "--sysfs-root=" + node.directory() + "/sys"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return arguments;
}

ExporterProcess::ExporterProcess(const SimNode& node, const std::vector<std::string>& flags,
                                 const std::vector<std::string>& more_variables) {
  std::vector<std::string> variables = node.variables();
  const auto names_node = [](const std::string& one) { return one.starts_with("NODE_NAME="); };
  if (std::ranges::none_of(more_variables, names_node)) {
    variables.emplace_back("NODE_NAME=gpu-node-0");
  }
  variables.insert(variables.end(), more_variables.begin(), more_variables.end());
  process_.emplace(Arguments(node, flags), variables);
  port_ = ServedPort(*process_);
}

uint16_t ServedPort(Child& process) {
  const std::optional<std::string> line = process.AwaitLine("msg=\"serving\"");
  return line ? static_cast<uint16_t>(
                    ParseDecimal(std::string_view(*line).substr(line->find("port=") + 5))
                        .value_or(0))
              : uint16_t{0};
}

std::string ExporterProcess::root() const { return "http://127.0.0.1:" + std::to_string(port_); }

std::string ExporterProcess::Get(const std::string& path,
                                 const std::vector<std::string>& curl_flags) const {
  std::vector<std::string> arguments = {"curl", "-s", "--max-time", "30", root() + path};
  arguments.insert(arguments.end(), curl_flags.begin(), curl_flags.end());
  Child curl(arguments);
  curl.Wait();
  return curl.output();
}

LoopbackResponse ExporterProcess::Fetch(const std::string& path) const {
  LoopbackClient client(port_);
  return client.connected() ? client.Fetch(path) : LoopbackResponse();
}

bool ExporterProcess::AwaitPage(const std::string& path,
                                const std::function<bool(const std::string&)>& holds) const {
  for (int i = 0; i < kMostFetches; ++i) {
    if (holds(Get(path))) {
      return true;
    }
    if (!process_->IsRunning()) {
      return false;
    }
    ::poll(nullptr, 0, kBetweenFetchesMs);
  }
  return false;
}

bool ExporterProcess::Await(const std::string& path, std::string_view part) const {
  return AwaitPage(
      path, [part](const std::string& body) { return body.find(part) != std::string::npos; });
}

bool ExporterProcess::AwaitWithout(const std::string& path, std::string_view part) const {
  return AwaitPage(path, [part](const std::string& body) {
    return !body.empty() && body.find(part) == std::string::npos;
  });
}

}  // namespace podgpu
