#include "tests/e2e/doctor_node.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <re2/re2.h>
#include <utility>

namespace podgpu {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDoctor = PODGPU_BINARY_DIR "/bin/doctor_at";
constexpr int kDeviceFiles = 16;  // More than any scenario has GPUs.

// A pod's container without capabilities and with a read-only root.
void WriteKernel(const TemporaryFolder& folder) {
  for (const char* const name : {"proc/sys/kernel", "proc/self", "sys/fs/cgroup", "dev"}) {
    fs::create_directories(folder.path() + "/" + name);
  }
  folder.Write("proc/sys/kernel/osrelease", "6.8.0\n");
  folder.Write("proc/self/status", "Name:\tpodgpu\nCapEff:\t0000000000000000\n");
  folder.Write("proc/self/cgroup", "0::/kubepods.slice/kubepods-pod1.slice/cri-1.scope\n");
  folder.Write("proc/self/mounts", "overlay / overlay ro,relatime 0 0\n");
  folder.Write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  fs::create_directories(folder.path() + "/own-proc/1");  // A /proc with the pod's pids alone.
  folder.Write("own-proc/1/stat", "1 (podgpu) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n");
  folder.Write("own-proc/stat", "btime 1699990000\n");
  folder.Write("dev/nvidiactl", "");
  for (int i = 0; i < kDeviceFiles; ++i) {
    folder.Write("dev/nvidia" + std::to_string(i), "");
  }
}

}  // namespace

DoctorNode::DoctorNode(std::string_view scenario, const std::vector<std::string>& steps,
                       const std::vector<std::string>& sim_flags)
    : node_(SimNode::Shipped(scenario), SimNode::Pace::kManual, sim_flags) {
  WriteKernel(kernel_);
  for (const std::string& step : steps) {
    node_.Tick("+" + step);
  }
}

std::vector<std::string> DoctorNode::Flags() const {
  return {"-a=127.0.0.1:1",
          "-k",
          "--pod-resources-kubelet-socket=" + node_.kubelet_socket(),
          "--libnvidia-ml=" + node_.library("libnvidia-ml.so.1"),
          "--sysfs-root=" + node_.directory() + "/sys",
          "--proc-root=" + node_.directory() + "/proc"};
}

DoctorRun DoctorNode::Run(const std::vector<std::string>& more_flags,
                          const std::vector<std::string>& variables) const {
  std::vector<std::string> flags = Flags();
  flags.insert(flags.end(), more_flags.begin(), more_flags.end());
  return RunWith(flags, variables);
}

DoctorRun DoctorNode::RunWith(const std::vector<std::string>& flags,
                              const std::vector<std::string>& variables) const {
  std::vector<std::string> words = {std::string(kDoctor), kernel_.path()};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<std::string> environment = node_.variables();
  std::ifstream api(node_.directory() + "/api/env");  // Of a node with an API server.
  for (std::string line; std::getline(api, line);) {
    environment.push_back(line);
  }
  environment.insert(environment.end(), variables.begin(), variables.end());
  Child child(words, environment);
  DoctorRun run;
  run.exit_code = child.Wait();
  run.text = child.output();
  return run;
}

std::string WithoutVolatile(std::string text) {
  constexpr std::array<std::pair<const char*, const char*>, 9> kVolatile = {
      {{R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)", "TIME"},
       {R"(\d+ calls?, slowest [\d.]+ ms\s+\(\w+\))", "N calls, slowest N ms (CALL)"},
       {R"(\(CALL\),\s+driver\s+)", "(CALL), driver "},  // A long number wraps the line.
       {R"(in \d+ ms)", "in N ms"},
       {R"(in [\d.]+ s; exit)", "in N s; exit"},
       {"/tmp/podgpu-[A-Za-z0-9]{6}", "DIR"},
       {R"(127\.0\.0\.1:\d{4,})", "127.0.0.1:PORT"},
       {R"(podgpu \d[\w.-]* doctor)", "podgpu VERSION doctor"},
       {R"(\(pid \d+\))", "(pid N)"}}};
  for (const auto& [pattern, name] : kVolatile) {
    RE2::GlobalReplace(&text, pattern, name);
  }
  return text;
}

}  // namespace podgpu
