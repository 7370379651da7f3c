#include "tests/guides/world.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <poll.h>
#include <utility>

#include <gtest/gtest.h>

#include "base/text.h"

namespace podgpu::guides {
namespace {

constexpr std::string_view kTools = "build/tools/prometheus/usr/bin/";
constexpr std::array<std::string_view, 4> kNames = {"podgpu", "dcgm-exporter", "my-gpu-exporter",
                                                    "pod-gpu-metrics-exporter"};
constexpr int kNodePort = 9400;
constexpr int kClusterPort = 9401;
constexpr int kInUsePort = 8000;
constexpr int kQueryPort = 5678;
constexpr int kPrometheusPort = 9090;

// Far more than any machine needs; a test awaits pages and never a time.
constexpr int kMostTries = 1'000;
constexpr int kBetweenTriesMs = 50;

bool IsName(std::string_view word) { return std::ranges::find(kNames, word) != kNames.end(); }

std::string LastPart(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// "registry/podgpu:1.0" is podgpu's image, also with -dcgm behind the name.
bool IsImage(const std::string& image) {
  const std::string name = LastPart(image);
  const std::string_view base = std::string_view(name).substr(0, name.find_first_of(":@"));
  return base == "podgpu" || base == "podgpu-dcgm";
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

void AddProgram(const YamlNode& container, std::vector<Program>& programs) {
  if (!IsImage(At(container, "image").text)) {
    return;
  }
  Program program;
  for (const YamlNode& word : At(container, "command").items) {
    program.arguments.push_back(word.text);
  }
  if (!program.arguments.empty()) {
    program.name = LastPart(program.arguments.front());
    program.arguments.erase(program.arguments.begin());
  }
  for (const YamlNode& word : At(container, "args").items) {
    program.arguments.push_back(word.text);
  }
  for (const YamlNode& variable : At(container, "env").items) {
    const std::string value = At(variable, "value").text;
    if (!value.empty()) {
      program.variables.push_back(At(variable, "name").text + "=" + value);
    }
  }
  if (!program.EndsAtOnce()) {
    programs.push_back(std::move(program));
  }
}

void Collect(const YamlNode& node, std::vector<Program>& programs) {
  AddProgram(node, programs);
  for (const YamlNode& item : node.items) {
    Collect(item, programs);
  }
}

// The words of `docker run` behind its own options: the image and its arguments.
std::vector<std::string> BehindDockerOptions(const std::vector<std::string>& words,
                                             std::vector<std::string>& variables) {
  constexpr std::array<std::string_view, 8> kWithValue = {"--gpus", "-p", "-v",        "--name",
                                                          "--net",  "-e", "--cap-add", "--network"};
  size_t i = 2;
  for (; i < words.size() && words[i].starts_with('-'); ++i) {
    const bool takes_next = std::ranges::find(kWithValue, words[i]) != kWithValue.end();
    if (takes_next && i + 1 < words.size()) {
      if (words[i] == "-e") {
        variables.push_back(words[i + 1]);
      }
      ++i;
    }
  }
  return {words.begin() + static_cast<std::ptrdiff_t>(std::min(i, words.size())), words.end()};
}

int PortOf(Child& program) { return ServedPort(program); }

// The value of `flag` in `arguments`, in the form "--flag=value"; null without it.
std::string* ValueHolder(std::vector<std::string>& arguments, std::string_view flag) {
  const auto found = std::ranges::find_if(arguments, [&](const std::string& argument) {
    return argument.starts_with(std::string(flag) + "=");
  });
  return found == arguments.end() ? nullptr : &*found;
}

}  // namespace

bool Program::EndsAtOnce() const {
  constexpr std::array<std::string_view, 8> kAtOnce = {
      "--validate", "--version", "--help", "-h", "-v", "doctor", "completion", "top"};
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return std::ranges::find(kAtOnce, argument) != kAtOnce.end();
  });
}

bool Program::ServesAnApiServer() const {
  return std::ranges::any_of(arguments, [](const std::string& argument) {
    return argument.starts_with("--metrics-api-listen");
  });
}

std::vector<Program> ProgramsOf(const YamlNode& manifest) {
  std::vector<Program> programs;
  Collect(manifest, programs);
  return programs;
}

std::optional<Program> ProgramOf(const std::vector<std::string>& words) {
  Program program;
  std::vector<std::string> rest = words;
  if (words.size() > 2 && words[0] == "docker" && words[1] == "run") {
    rest = BehindDockerOptions(words, program.variables);
    if (rest.empty() || !IsImage(rest.front())) {
      return std::nullopt;
    }
  } else if (words.empty() || !IsName(words.front())) {
    return std::nullopt;
  } else {
    program.name = words.front();
  }
  program.arguments.assign(rest.begin() + 1, rest.end());
  return program;
}

World::World() : node_(SimNode::Shipped("demo"), SimNode::Pace::kReal) {
  EXPECT_TRUE(node_.ready()) << node_.output();
  namespace fs = std::filesystem;
  const fs::path programs = folder_.path() + "/bin";
  fs::create_directory(programs);
  for (const std::string_view name : kNames) {
    fs::create_symlink(fs::absolute(PODGPU_BINARY_DIR "/bin/podgpu"), programs / name);
  }
  fs::create_symlink(fs::absolute(PODGPU_BINARY_DIR "/bin/podgpu-sim"), programs / "podgpu-sim");
  for (const char* tool : {"promtool", "prometheus"}) {
    fs::create_symlink(fs::absolute(std::string(kTools) + tool), programs / tool);
  }
}

// `text` with the simulated node's paths in place of a real node's.
std::string World::Here(std::string text) const {
  const std::array<std::pair<std::string, std::string>, 5> places = {{
      {"/var/lib/kubelet/pod-resources/kubelet.sock", node_.kubelet_socket()},
      {"/etc/dcgm-exporter/", "deploy/"},
      {"/host/proc", node_.directory() + "/proc"},
      {"nvidia-dcgm:5555", node_.engine_address()},
      {"localhost:5555", node_.engine_address()},
  }};
  for (const auto& [real, simulated] : places) {
    text = Replaced(std::move(text), real, simulated);
  }
  return text;
}

// The environment by which programs find the node.
std::vector<std::string> World::NodeVariables() const {
  return {"PODGPU_SIM_DIR=" + node_.directory(), "LD_LIBRARY_PATH=" + node_.directory() + "/lib",
          "DCGM_POD_RESOURCES_KUBELET_SOCKET=" + node_.kubelet_socket(),
          "PODGPU_SYSFS_ROOT=" + node_.directory() + "/sys",
          "PODGPU_PROC_ROOT=" + node_.directory() + "/proc"};
}

// The same program with the node's paths and free ports.
Program World::Adapted(const Program& program) {
  Program adapted = program;
  for (std::vector<std::string>* texts : {&adapted.arguments, &adapted.variables}) {
    for (std::string& text : *texts) {
      text = Here(std::move(text));
      for (const std::string_view address :
           {":9400", ":9401", "127.0.0.1:9400", "127.0.0.1:9401"}) {
        if (text == address || text.ends_with("=" + std::string(address))) {
          text = text.substr(0, text.size() - address.size()) + "127.0.0.1:0";
          break;
        }
      }
    }
  }
  if (std::string* nodes = ValueHolder(adapted.arguments, "--nodes")) {
    *nodes = "--nodes=file:" +
             folder_.Write("nodes", "127.0.0.1:" + std::to_string(ports_[kNodePort]) + "\n");
  }
  if (std::string* listen = ValueHolder(adapted.arguments, "--in-use-listen")) {
    Connect(kInUsePort, FreePort());
    *listen = "--in-use-listen=127.0.0.1:" + std::to_string(ports_[kInUsePort]);
  }
  if (std::string* source = ValueHolder(adapted.arguments, "--in-use-prometheus")) {
    const int port = FreePort();
    source_ = Scrape(OperatorConfig(), "source", port);
    *source = "--in-use-prometheus=http://127.0.0.1:" + std::to_string(port);
  }
  if (std::string* address = ValueHolder(adapted.arguments, "--query-addr")) {
    Connect(kQueryPort, FreePort());
    *address = "--query-addr=127.0.0.1";
    adapted.arguments.push_back("--query-port=" + std::to_string(ports_[kQueryPort]));
  }
  if (std::string* port = ValueHolder(adapted.variables, "PODGPU_QUERY_PORT")) {
    Connect(kQueryPort, FreePort());
    *port = "PODGPU_QUERY_PORT=" + std::to_string(ports_[kQueryPort]);
  }
  return adapted;
}

void World::Start(const Program& program) {
  if (program.IsCluster() && !is_running()) {
    StartDefault();
  }
  const Program adapted = Adapted(program);
  std::vector<std::string> words = {"env",
                                    "NODE_NAME=gpu-node-0",
                                    "DCGM_EXPORTER_INTERVAL=1000",
                                    "PODGPU_NODE_INTERVAL=1s",
                                    "DCGM_EXPORTER_LISTEN=127.0.0.1:0",
                                    "PODGPU_CLUSTER_LISTEN=127.0.0.1:0"};
  std::ranges::copy(NodeVariables(), std::back_inserter(words));
  words.insert(words.end(), adapted.variables.begin(), adapted.variables.end());
  words.push_back(folder_.path() + "/bin/" + adapted.name);
  words.insert(words.end(), adapted.arguments.begin(), adapted.arguments.end());
  std::unique_ptr<Child>& child = program.IsCluster() ? cluster_program_ : node_program_;
  child = std::make_unique<Child>(words);
  const int port = PortOf(*child);
  ASSERT_NE(port, 0) << child->output();
  Connect(program.IsCluster() ? kClusterPort : kNodePort, port);
}

void World::StartDefault() { Start({"podgpu", {}, {"DCGM_EXPORTER_KUBERNETES=true"}}); }

void World::Connect(int port, int to) {
  ports_[port] = to;
  std::string lines;
  for (const auto& [named, real] : ports_) {
    lines +=
        "connect-to = \":" + std::to_string(named) + ":127.0.0.1:" + std::to_string(real) + "\"\n";
  }
  folder_.Write(".curlrc", lines);
}

std::string World::Shell(const std::string& text) const {
  const char* path = std::getenv("PATH");
  std::vector<std::string> words = {
      "env", "CURL_HOME=" + folder_.path(),
      "PATH=" + folder_.path() + "/bin:" + (path == nullptr ? "/usr/bin:/bin" : path)};
  std::ranges::copy(NodeVariables(), std::back_inserter(words));
  words.insert(words.end(), {"sh", "-c", text});
  Child shell(words);
  const int exit_code = shell.Wait();
  return exit_code == 0 ? shell.output()
                        : "exit code " + std::to_string(exit_code) + "\n" + shell.output();
}

std::string World::Run(const std::string& guide, const Command& command) {
  const std::vector<std::string> words = Words(command.text);
  if (words.front() == "curl" && !is_running()) {
    StartDefault();
  }
  const std::string text = Here(command.text);
  std::string output;
  for (int tries = 0; tries < kMostTries; ++tries) {
    output = Shell(text);
    const bool is_done =
        command.shown.empty() ? !output.starts_with("exit code ") : Shows(output, command.shown);
    if (is_done) {
      return output;
    }
    if (words.front() != "curl") {
      break;
    }
    ::poll(nullptr, 0, kBetweenTriesMs);
  }
  ADD_FAILURE() << guide << ":" << command.line << ": " << command.text
                << "\ndoes not show what the guide shows, but:\n"
                << output.substr(0, 4'000);
  return output;
}

// A configuration with the labels that the Prometheus Operator gives to targets.
std::string World::OperatorConfig() const {
  std::string text = "global: {scrape_interval: 15s}\nscrape_configs:\n";
  const std::array<std::pair<int, std::string>, 3> jobs = {
      {{kNodePort, "podgpu"}, {kClusterPort, "podgpu-cluster"}, {kInUsePort, "in-use"}}};
  for (const auto& [port, job] : jobs) {
    if (ports_.contains(port)) {
      text += "  - job_name: " + job +
              "\n    honor_labels: " + (port == kNodePort ? "false" : "true") +
              "\n    static_configs:\n      - targets: [localhost:" + std::to_string(port) +
              "]\n        labels: {namespace: gpu-monitoring, pod: podgpu-x7k2p, "
              "container: podgpu, service: podgpu}\n";
    }
  }
  return text;
}

// A Prometheus at `port` that reads the running programs each second.
std::unique_ptr<Child> World::Scrape(const std::string& config, const std::string& name,
                                     int port) const {
  std::string text = config;
  for (const auto& [named, real] : ports_) {
    text = Replaced(std::move(text), "localhost:" + std::to_string(named),
                    "127.0.0.1:" + std::to_string(real));
  }
  text = Replaced(std::move(text), "interval: 15s", "interval: 1s");
  auto prometheus = std::make_unique<Child>(std::vector<std::string>{
      std::string(kTools) + "prometheus", "--config.file=" + folder_.Write(name + ".yml", text),
      "--storage.tsdb.path=" + folder_.path() + "/" + name,
      "--web.listen-address=127.0.0.1:" + std::to_string(port)});
  EXPECT_TRUE(prometheus->AwaitLine("Server is ready").has_value()) << prometheus->output();
  return prometheus;
}

void World::StartPrometheus(const std::string& config) {
  const int port = FreePort();
  prometheus_ = Scrape(config.empty() ? OperatorConfig() : config, "prometheus", port);
  Connect(kPrometheusPort, port);
}

std::string World::Query(const std::string& query) const {
  std::string answer;
  const auto port = ports_.find(kPrometheusPort);
  for (int tries = 0; port != ports_.end() && tries < kMostTries; ++tries) {
    Child curl({"curl", "-s", "-G",
                "http://127.0.0.1:" + std::to_string(port->second) + "/api/v1/query",
                "--data-urlencode", "query=" + query});
    curl.Wait();
    answer = curl.output();
    if (answer.find("\"value\":[") != std::string::npos ||
        answer.find("\"status\":\"error\"") != std::string::npos) {
      break;
    }
    ::poll(nullptr, 0, kBetweenTriesMs);
  }
  return answer;
}

std::string World::Pages() const {
  std::string pages;
  for (const auto& [named, real] : ports_) {
    for (const char* path : {"/metrics", "/gpu/metrics", "/metric", "/metrics/nodes"}) {
      if (named != kPrometheusPort) {
        pages += Shell("curl -s http://localhost:" + std::to_string(named) + path) + "\n";
      }
    }
  }
  return pages;
}

}  // namespace podgpu::guides
