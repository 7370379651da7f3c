#include "tests/guides/world.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <poll.h>
#include <re2/re2.h>
#include <utility>

#include <gtest/gtest.h>

#include "tests/guides/guide.h"

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

// "registry/podgpu:1.0" is podgpu's image, also with -dcgm behind the name.
bool IsImage(const std::string& image) {
  return RE2::FullMatch(image, R"((?:.*/)?podgpu(?:-dcgm)?(?:[:@].*)?)");
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  RE2::GlobalReplace(&text, RE2::QuoteMeta(from), to);
  return text;
}

}  // namespace

bool Program::Says(std::initializer_list<std::string_view> begins) const {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return std::ranges::any_of(begins, [&](auto begin) { return argument.starts_with(begin); });
  });
}

bool Program::EndsAtOnce() const {
  return Says({"--validate", "--version", "--help", "doctor", "top"});
}

std::vector<Program> ProgramsOf(const YamlNode& manifest) {
  std::vector<Program> programs;
  if (IsImage(At(manifest, "image").text)) {
    Program& program = programs.emplace_back();
    for (const char* key : {"command", "args"}) {
      for (const YamlNode& word : At(manifest, key).items) {
        program.arguments.push_back(word.text);
      }
    }
    if (!At(manifest, "command").items.empty()) {
      program.name = program.arguments.front();
      program.arguments.erase(program.arguments.begin());
    }
    for (const YamlNode& variable : At(manifest, "env").items) {
      program.variables.push_back(At(variable, "name").text + "=" + At(variable, "value").text);
    }
  }
  for (const YamlNode& item : manifest.items) {
    std::ranges::move(ProgramsOf(item), std::back_inserter(programs));
  }
  return programs;
}

std::optional<Program> ProgramOf(const std::vector<std::string>& words) {
  auto name = words.begin();
  if (words.size() > 2 && words[0] == "docker" && words[1] == "run") {
    name = std::ranges::find_if(words, IsImage);
  } else if (name != words.end() && std::ranges::find(kNames, *name) == kNames.end()) {
    name = words.end();
  }
  if (name == words.end()) {
    return std::nullopt;
  }
  return Program{IsImage(*name) ? "podgpu" : *name, {name + 1, words.end()}, {}};
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
}

// `text` with the simulated node's paths in place of a real node's.
std::string World::Here(std::string text) const {
  const std::array<std::pair<std::string, std::string>, 7> places = {{
      {"/var/lib/kubelet/pod-resources/kubelet.sock", node_.kubelet_socket()},
      {"/etc/dcgm-exporter/", "deploy/"},
      {"/host/proc", node_.directory() + "/proc"},
      {"build/run", node_.directory()},
      {"nvidia-dcgm:5555", node_.engine_address()},
      {"localhost:5555", node_.engine_address()},
      {"127.0.0.1:5555", node_.engine_address()},
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
      RE2::Replace(&text, R"(^(.*=)?(?:127\.0\.0\.1)?:940[01]$)", R"(\1127.0.0.1:0)");
    }
  }
  for (std::string& argument : adapted.arguments) {
    const std::string flag = argument.substr(0, argument.find('=') + 1);
    if (flag == "--nodes=") {
      argument = flag + "file:" +
                 folder_.Write("nodes", "127.0.0.1:" + std::to_string(RealPort(kNodePort)) + "\n");
    } else if (flag == "--in-use-listen=") {
      argument = flag + "127.0.0.1:" + Connect(kInUsePort, FreePort());
    } else if (flag == "--in-use-prometheus=") {
      const int port = FreePort();
      source_ = Scrape(OperatorConfig(), "source", port);
      argument = flag + "http://127.0.0.1:" + std::to_string(port);
    } else if (flag == "--query-addr=") {
      argument = flag + "127.0.0.1";
      adapted.variables.push_back("PODGPU_QUERY_PORT=" + Connect(kQueryPort, FreePort()));
    }
  }
  return adapted;
}

void World::Start(const Program& program) {
  if (program.IsCluster()) {
    StartFor("");
  }
  const Program adapted = Adapted(program);
  std::vector<std::string> words = {folder_.path() + "/bin/" + adapted.name};
  std::ranges::copy(adapted.arguments, std::back_inserter(words));
  std::vector<std::string> variables = adapted.variables;  // The first of a name is the one in use.
  std::ranges::copy(NodeVariables(), std::back_inserter(variables));
  variables.insert(variables.end(), {"NODE_NAME=gpu-node-0", "DCGM_EXPORTER_INTERVAL=1000",
                                     "PODGPU_NODE_INTERVAL=1s", "DCGM_EXPORTER_LISTEN=127.0.0.1:0",
                                     "PODGPU_CLUSTER_LISTEN=127.0.0.1:0"});
  std::unique_ptr<Child>& child = program.IsCluster() ? cluster_program_ : node_program_;
  child = std::make_unique<Child>(words, variables);
  const int port = ServedPort(*child);
  ASSERT_NE(port, 0) << child->output();
  Connect(program.IsCluster() ? kClusterPort : kNodePort, port);
}

void World::StartFor(const std::string& text) {
  if (node_program_ == nullptr) {
    Start({"podgpu", {"-k", "--web-enable-control"}, {}});
  }
  if (cluster_program_ == nullptr && text.find(":9401") != text.npos) {
    Start({"podgpu",
           {"cluster", "--nodes=gpu-node-0:9400",
            "--in-use-prometheus=http://prometheus.monitoring:9090"},
           {}});
  }
}

// Leads requests to `port` to the real port, and returns that.
std::string World::Connect(int port, int to) {
  ports_[port] = to;
  std::string lines;
  for (const auto& [named, real] : ports_) {
    lines +=
        "connect-to = \":" + std::to_string(named) + ":127.0.0.1:" + std::to_string(real) + "\"\n";
  }
  folder_.Write(".curlrc", lines);
  return std::to_string(to);
}

void World::Run(const std::string& text, const std::vector<std::string>& shown) {
  StartFor(text);
  const bool is_request = text.starts_with("curl ");
  std::vector<std::string> variables = NodeVariables();
  variables.push_back("CURL_HOME=" + folder_.path());
  std::string output;
  for (int tries = 0; tries < (is_request ? kMostTries : 1); ++tries) {
    Child shell({"sh", "-c", "PATH=" + folder_.path() + "/bin:$PATH; " + Here(text)}, variables);
    const int exit_code = shell.Wait();
    output = shell.output();
    if (shown.empty() ? exit_code == 0 : Shows(output, shown)) {
      return;
    }
    if (output.find(R"("status":"error")") != output.npos) {
      break;  // Prometheus cannot read the query.
    }
    ::poll(nullptr, 0, kBetweenTriesMs);
  }
  ADD_FAILURE() << text << "\ndoes not show what the document shows, but:\n"
                << output.substr(0, 4'000);
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
  std::string text = Replaced(config, "interval: 15s", "interval: 1s");
  for (const auto& [named, real] : ports_) {
    text = Replaced(std::move(text), "localhost:" + std::to_string(named),
                    "127.0.0.1:" + std::to_string(real));
  }
  auto prometheus = std::make_unique<Child>(std::vector<std::string>{
      std::string(kTools) + "prometheus", "--config.file=" + folder_.Write(name + ".yml", text),
      "--storage.tsdb.path=" + folder_.path() + "/" + name,
      "--web.listen-address=127.0.0.1:" + std::to_string(port)});
  EXPECT_TRUE(prometheus->AwaitLine("Server is ready").has_value()) << prometheus->output();
  return prometheus;
}

void World::StartPrometheus(const std::string& config) {
  StartFor("");
  const int port = FreePort();
  prometheus_ = Scrape(config.empty() ? OperatorConfig() : config, "prometheus", port);
  Connect(kPrometheusPort, port);
}

}  // namespace podgpu::guides
