#include "sim/program/engine_process.h"

#include <csignal>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_format.h"

#include "sim/program/scenario_files.h"
#include "sim/program/spawn.h"

namespace podgpu::sim {
namespace {

constexpr int kPollMs = 5;
constexpr int kStartPolls = 2'000;  // 10 s: long enough for a loaded machine.
constexpr int kStopPolls = 1'000;   // 5 s to exit after SIGTERM.

void Pause() { poll(nullptr, 0, kPollMs); }

}  // namespace

StatusOr<EngineProcess> EngineProcess::Start(const RunWriter& node, const std::string& tcp) {
  PODGPU_ASSIGN_OR_RETURN(const pid_t pid,
                          Spawn(OwnPath(),
                                {"podgpu-sim", "engine", "--dir", node.directory(), "--tcp", tcp,
                                 "--parent", std::to_string(getpid())},
                                OwnVariables()));
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
