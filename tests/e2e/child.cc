#include "tests/e2e/child.h"

#include <arpa/inet.h>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/status.h"

extern char** environ;

namespace podgpu {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe MakePipe() {
  int ends[2];
  PODGPU_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  return {ends[0], ends[1]};
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments, const std::vector<std::string>& variables) {
  const Pipe output = MakePipe();
  const Pipe input = MakePipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.read_end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.write_end, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);

  std::vector<std::string> words = arguments;
  std::vector<std::string> environment = variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  const int error = ::posix_spawnp(&pid_, words.front().c_str(), &actions, &attributes,
                                   Pointers(words).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(output.write_end);
  ::close(input.read_end);
  output_pipe_ = output.read_end;
  input_pipe_ = input.write_end;
  if (error != 0) {
    pid_ = -1;
    exit_code_ = 127;
    output_ = "cannot start " + arguments.front() + "\n";
  }
}

Child::~Child() {
  if (pid_ > 0 && !exit_code_) {  // After wait() the pid may belong to another process.
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(output_pipe_);
  if (input_pipe_ >= 0) {
    ::close(input_pipe_);
  }
}

void Child::Signal(int signal) const { ::kill(pid_, signal); }

bool Child::IsRunning() const {
  siginfo_t facts{};
  return pid_ > 0 && !exit_code_ &&
         ::waitid(P_PID, static_cast<id_t>(pid_), &facts, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         facts.si_pid == 0;
}

bool Child::ReadMore() {
  char buffer[4096];
  const ssize_t count = ::read(output_pipe_, buffer, sizeof buffer);
  if (count <= 0) {
    return false;
  }
  output_.append(buffer, static_cast<size_t>(count));
  return true;
}

std::optional<std::string> Child::AwaitLine(std::string_view part) {
  while (true) {
    const size_t end = output_.find('\n', scanned_);
    if (end != std::string::npos) {
      std::string line = output_.substr(scanned_, end - scanned_);
      scanned_ = end + 1;
      if (line.find(part) != std::string::npos) {
        return line;
      }
    } else if (!ReadMore()) {
      return std::nullopt;
    }
  }
}

void Child::ReadAvailable() {
  pollfd pipe{.fd = output_pipe_, .events = POLLIN, .revents = 0};
  while (::poll(&pipe, 1, 0) == 1 && ReadMore()) {
  }
}

int Child::Wait() {
  while (ReadMore()) {
  }
  if (!exit_code_) {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  return *exit_code_;
}

void Child::Feed(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(input_pipe_, text.data(), text.size());
    if (count <= 0) {
      break;
    }
    text.remove_prefix(static_cast<size_t>(count));
  }
  ::close(input_pipe_);
  input_pipe_ = -1;
}

int FreePort() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  PODGPU_CHECK(::bind(listener, reinterpret_cast<const sockaddr*>(&address), size) == 0);
  PODGPU_CHECK(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(listener);
  return ntohs(address.sin_port);
}

bool IsFreePort(int port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool is_free =
      ::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(listener);
  return is_free;
}

}  // namespace podgpu
