#include "sim/program/node_program.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <utility>

#include "absl/strings/str_format.h"

#include "sim/program/spawn.h"

namespace podgpu::sim {
namespace {

constexpr int kSignalled = 128;  // As a shell counts.

// Sets NAME=VALUE in `variables`; the last one of a name counts for most programs, but not for all.
void Set(std::vector<std::string>& variables, const std::string& variable) {
  const std::string name = variable.substr(0, variable.find('=') + 1);
  std::erase_if(variables, [&](const std::string& other) { return other.starts_with(name); });
  variables.push_back(variable);
}

std::string LibraryPath(const std::vector<std::string>& variables, const std::string& folder) {
  constexpr std::string_view kName = "LD_LIBRARY_PATH=";
  for (const std::string& variable : variables) {
    if (variable.starts_with(kName) && variable.size() > kName.size()) {
      return absl::StrFormat("%s%s:%s", kName, folder, variable.substr(kName.size()));
    }
  }
  return absl::StrFormat("%s%s", kName, folder);
}

std::vector<std::string> VariablesOf(const std::string& node) {
  std::vector<std::string> variables = OwnVariables();
  Set(variables, "PODGPU_SIM_DIR=" + node);
  Set(variables, LibraryPath(variables, node + "/lib"));
  Set(variables, "DCGM_POD_RESOURCES_KUBELET_SOCKET=" + node + "/kubelet/kubelet.sock");
  Set(variables, "PODGPU_SYSFS_ROOT=" + node + "/sys");
  Set(variables, "PODGPU_PROC_ROOT=" + node + "/proc");
  for (const char* face : {"/api/env", "/kubelet/https/env"}) {
    std::ifstream file(node + face);
    for (std::string line; std::getline(file, line);) {
      Set(variables, line);
    }
  }
  return variables;
}

}  // namespace

StatusOr<NodeProgram> NodeProgram::Start(const std::vector<std::string>& words,
                                         const std::string& directory) {
  const std::string node = std::filesystem::absolute(directory).lexically_normal().string();
  PODGPU_ASSIGN_OR_RETURN(const pid_t pid, Spawn(words.front(), words, VariablesOf(node)));
  return NodeProgram(pid);
}

NodeProgram::NodeProgram(NodeProgram&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), is_asked_to_end_(other.is_asked_to_end_) {}

NodeProgram::~NodeProgram() {
  if (pid_ != 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

std::optional<int> NodeProgram::Ended() {
  int how = 0;
  if (pid_ == 0 || waitpid(pid_, &how, WNOHANG) != pid_) {
    return std::nullopt;
  }
  pid_ = 0;
  return WIFSIGNALED(how) ? kSignalled + WTERMSIG(how) : WEXITSTATUS(how);
}

void NodeProgram::Stop() {
  if (pid_ != 0) {
    kill(pid_, std::exchange(is_asked_to_end_, true) ? SIGKILL : SIGTERM);
  }
}

}  // namespace podgpu::sim
