#include "sim/program/engine_process.h"

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

#include "sim/program/scenario_files.h"

namespace podgpu::sim {
namespace {

constexpr int kPollMs = 5;
constexpr int kStartPolls = 2'000;  // 10 s: long enough for a loaded machine.
constexpr int kStopPolls = 200;     // 1 s to exit after SIGTERM.

void Pause() { poll(nullptr, 0, kPollMs); }

// Starts this program again as `podgpu-sim engine`, with no signal blocked.
StatusOr<pid_t> Spawn(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, OwnPath().c_str(), nullptr, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return absl::UnavailableError(absl::StrFormat("%s: the engine cannot be started: %s", OwnPath(),
                                                  std::generic_category().message(error)));
  }
  return pid;
}

}  // namespace

StatusOr<EngineProcess> EngineProcess::Start(const RunWriter& node, const std::string& tcp) {
  PODGPU_ASSIGN_OR_RETURN(const pid_t pid,
                          Spawn({"podgpu-sim", "engine", "--dir", node.directory(), "--tcp", tcp,
                                 "--parent", std::to_string(getpid())}));
  EngineProcess engine(pid);
  for (int i = 0; i < kStartPolls && !node.engine_up(); ++i) {
    if (const std::optional<std::string> ended = engine.Ended()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "the engine ended before it listened (%s); see its message above", *ended));
    }
    Pause();
  }
  if (!node.engine_up()) {
    return absl::DeadlineExceededError("the engine is not listening after 10 s");
  }
  return engine;
}

EngineProcess::EngineProcess(EngineProcess&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}

EngineProcess::~EngineProcess() {
  if (pid_ == 0) {
    return;
  }
  kill(pid_, SIGTERM);
  kill(pid_, SIGCONT);  // A stopped process does not handle SIGTERM.
  for (int i = 0; i < kStopPolls && !Ended(); ++i) {
    Pause();
  }
  Kill();
}

void EngineProcess::Kill() {
  if (pid_ != 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
}

std::optional<std::string> EngineProcess::Ended() {
  int how = 0;
  if (pid_ == 0 || waitpid(pid_, &how, WNOHANG) != pid_) {
    return std::nullopt;
  }
  pid_ = 0;
  return WIFSIGNALED(how) ? absl::StrFormat("signal %d", WTERMSIG(how))
                          : absl::StrFormat("exit code %d", WEXITSTATUS(how));
}

}  // namespace podgpu::sim
