#include "tests/demo/process.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <poll.h>
#include <sstream>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "base/clock.h"
#include "base/text.h"

namespace podgpu::demo {
namespace {

constexpr std::chrono::milliseconds kPollStep{20};
constexpr std::chrono::seconds kFetchDeadline{5};

// Runs in the child between fork and exec.
[[noreturn]] void Become(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& variables, const std::string& log) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = open("/dev/null", O_RDONLY);
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(input, 0);
  dup2(output, 1);
  dup2(output, 2);
  for (const std::string& variable : variables) {
    const size_t equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
  }
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  execv(pointers[0], pointers.data());
  std::fprintf(stderr, "%s: %s\n", pointers[0], std::strerror(errno));
  _exit(127);
}

// Inodes of sockets that listen on `port`, from /proc/net/tcp and tcp6.
std::vector<std::string> ListeningInodes(uint16_t port) {
  std::array<char, 8> hex{};
  std::snprintf(hex.data(), hex.size(), ":%04X", port);
  std::vector<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      const std::vector<std::string> columns{std::istream_iterator<std::string>(words), {}};
      constexpr size_t kAddress = 1, kState = 3, kInode = 9;
      if (columns.size() > kInode && columns[kAddress].ends_with(hex.data()) &&
          columns[kState] == "0A") {
        inodes.push_back("socket:[" + columns[kInode] + "]");
      }
    }
  }
  return inodes;
}

bool HoldsOneOf(const std::filesystem::path& process, const std::vector<std::string>& inodes) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(process / "fd", error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (std::find(inodes.begin(), inodes.end(), target) != inodes.end()) {
      return true;
    }
  }
  return false;
}

bool Send(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string ReceiveAll(int socket) {
  std::string text;
  std::array<char, 65536> buffer{};
  ssize_t received = 0;
  while ((received = recv(socket, buffer.data(), buffer.size(), 0)) > 0) {
    text.append(buffer.data(), static_cast<size_t>(received));
  }
  return text;
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments, const std::vector<std::string>& variables,
             std::string log)
    : log_(std::move(log)) {
  pid_ = fork();
  if (pid_ == 0) {
    Become(arguments, variables, log_);
  }
  setpgid(pid_, pid_);
}

Child::~Child() { Stop(std::chrono::seconds(5)); }

std::optional<std::string> Child::Ended() {
  if (!status_) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) {
      return std::nullopt;
    }
    status_ = status;
  }
  return WIFEXITED(*status_) ? "exit code " + std::to_string(WEXITSTATUS(*status_))
                             : "signal " + std::to_string(WTERMSIG(*status_));
}

void Child::Stop(std::chrono::milliseconds timeout) {
  if (!Ended()) {
    kill(-pid_, SIGTERM);
    const WaitLimit wait(timeout);
    while (!Ended() && wait.WaitABit()) {
    }
  }
  kill(-pid_, SIGKILL);  // The rest of the group; normally it is empty.
  while (!Ended()) {
    poll(nullptr, 0, static_cast<int>(kPollStep.count()));
  }
}

std::string Child::LastLines() const {
  std::ifstream file(log_);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back("  " + line + "\n");
  }
  std::string text;
  constexpr size_t kShown = 10;
  for (size_t i = lines.size() > kShown ? lines.size() - kShown : 0; i < lines.size(); ++i) {
    text += lines[i];
  }
  return text;
}

bool IsFree(uint16_t port) {
  for (const int family : {AF_INET6, AF_INET}) {
    const int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
      continue;  // A kernel without that family.
    }
    const int on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in6 any6{};
    any6.sin6_family = AF_INET6;
    any6.sin6_port = htons(port);
    sockaddr_in any4{};
    any4.sin_family = AF_INET;
    any4.sin_port = htons(port);
    const bool v6 = family == AF_INET6;
    const int bound = bind(
        descriptor, v6 ? reinterpret_cast<sockaddr*>(&any6) : reinterpret_cast<sockaddr*>(&any4),
        v6 ? sizeof any6 : sizeof any4);
    const bool taken = bound != 0 && errno == EADDRINUSE;
    const bool listens = bound == 0 && listen(descriptor, 1) != 0 && errno == EADDRINUSE;
    close(descriptor);
    if (taken || listens) {
      return false;
    }
  }
  return true;
}

std::string ListenerOf(uint16_t port) {
  const std::vector<std::string> inodes = ListeningInodes(port);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string pid = entry.path().filename().string();
    if (ParseDecimal(pid) && HoldsOneOf(entry.path(), inodes)) {
      std::ifstream file(entry.path() / "comm");
      std::string name;
      std::getline(file, name);
      return name + " (pid " + pid + ")";
    }
  }
  return "another program";
}

std::optional<std::string> Fetch(uint16_t port, const std::string& path) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval deadline{.tv_sec = kFetchDeadline.count(), .tv_usec = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      Send(descriptor, "GET " + path +
                           " HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n"
                           "Connection: close\r\n\r\n")) {
    answer = ReceiveAll(descriptor);
  }
  close(descriptor);
  const size_t end = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.1 200") || end == std::string::npos) {
    return std::nullopt;
  }
  return answer.substr(end + 4);
}

WaitLimit::WaitLimit(std::chrono::milliseconds length)
    : start_(SystemClock().Now()), length_(length) {}

bool WaitLimit::WaitABit() const {
  poll(nullptr, 0, static_cast<int>(kPollStep.count()));
  return SystemClock().Now() - start_ < length_;
}

double WaitLimit::ElapsedSeconds() const {
  return std::chrono::duration<double>(SystemClock().Now() - start_).count();
}

}  // namespace podgpu::demo
