#include "tests/demo/program.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <poll.h>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "http/listen.h"
#include "http/testing/loopback_client.h"

namespace podgpu::demo {
namespace {

constexpr int kPollMs = 20;
constexpr int kStopPolls = 250;  // 5 s
constexpr std::chrono::seconds kPatience{30};

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The command of a child that writes to the file `log`, and that the kernel kills with this
// process.
std::vector<std::string> Logged(const std::string& log, std::vector<std::string> arguments) {
  std::filesystem::create_directories(std::filesystem::path(log).parent_path());
  std::filesystem::remove(log);  // It has lines of an earlier demo.
  arguments.insert(
      arguments.begin(),
      {"sh", "-c", "exec setpriv --pdeathsig KILL \"$@\" >\"$0\" 2>&1 </dev/null", log});
  return arguments;
}

}  // namespace

void Say(const Setting& setting, int step, const char* name, const std::string& text) {
  std::printf("%s %d/5 %-11s%s\n", setting.command.c_str(), step, name, text.c_str());
  std::fflush(stdout);
}

void Complain(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

bool IsTaken(uint16_t port) {
  const auto listener = Listen({.host = {}, .port = port, .path = {}}, SystemFiles());
  return !listener.ok() && listener.status().message().find(" is in use") != std::string_view::npos;
}

bool ChoosePort(uint16_t first, Setting& setting) {
  const std::string pinned = Variable("PORT");
  const std::optional<uint64_t> number = ParseDecimal(pinned);
  if (!pinned.empty() && (!number || *number == 0 || *number > UINT16_MAX)) {
    Complain("PORT=" + pinned + " is not a port; give a number from 1 to 65535");
    return false;
  }
  setting.port = static_cast<uint16_t>(number.value_or(first));
  if (!IsTaken(setting.port)) {
    return true;
  }
  const std::string taken =
      absl::StrFormat("port %d is taken by %s", setting.port,
                      FindPortOwner(SystemFiles(), setting.port).value_or("another program"));
  if (number) {
    Complain(taken);
    return false;
  }
  while (IsTaken(++setting.port)) {
  }
  setting.moved = absl::StrFormat("%s; %d is free; ", taken, setting.port);
  return true;
}

std::string Fetch(uint16_t port, std::string_view path) {
  const LoopbackResponse response = LoopbackClient(port).Fetch(path);
  return response.status == 200 ? response.body : "";
}

Program::Program(std::string name, std::string log, std::vector<std::string> arguments)
    : name_(std::move(name)), log_(std::move(log)), child_(Logged(log_, std::move(arguments))) {}

Program::~Program() {
  if (child_.IsRunning()) {
    child_.Signal(SIGTERM);
  }
  for (int i = 0; i < kStopPolls && child_.IsRunning(); ++i) {
    ::poll(nullptr, 0, kPollMs);
  }
}

bool Program::StillRuns() {
  if (child_.IsRunning()) {
    return true;
  }
  const int code = child_.Wait();
  Complain(absl::StrFormat("%s ended with %s %d%s", name_, code < 0 ? "signal" : "exit code",
                           std::abs(code), LastLines()));
  return false;
}

bool Program::Await(std::string_view what, const std::function<Complaints()>& wrong) {
  const Instant deadline = SystemClock().Now() + kPatience;
  Complaints complaints;
  while (!(complaints = wrong()).empty()) {
    if (!StillRuns()) {
      return false;
    }
    if (SystemClock().Now() > deadline) {
      Complain(absl::StrFormat("%s is not ready after 30 s (%s)%s", what, Listed(complaints),
                               LastLines()));
      return false;
    }
    ::poll(nullptr, 0, kPollMs);
  }
  return true;
}

bool Program::AwaitAnswer(std::string_view what, uint16_t port) {
  return Await(what, [port] {
    return Fetch(port, "/readyz").empty() ? Complaints{"it does not answer"} : Complaints();
  });
}

std::string Program::Output() const { return SystemFiles().Read(log_).value_or(""); }

std::string Program::LastLines() const {
  const std::string output = Output();
  const std::vector<std::string_view> lines = Split(Trim(output), '\n');
  std::string text = absl::StrFormat("; its last lines, from %s:", log_);
  constexpr size_t kShown = 10;
  for (size_t i = lines.size() - std::min(kShown, lines.size()); i < lines.size(); ++i) {
    text += absl::StrFormat("\n  %s", lines[i]);
  }
  return text;
}

int Stay(SignalQueue& signals, std::initializer_list<Program*> programs) {
  std::fflush(stdout);
  const std::optional<uint64_t> seconds = ParseDecimal(Variable("DEMO_SECONDS"));
  const Instant start = SystemClock().Now();
  constexpr int kTurnMs = 200;
  while (!seconds || SystemClock().Now() - start < std::chrono::seconds(*seconds)) {
    for (Program* program : programs) {
      if (!program->StillRuns()) {
        return kUnexpected;
      }
    }
    pollfd wait{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, kTurnMs) > 0) {
      break;
    }
  }
  return kAsExpected;
}

}  // namespace podgpu::demo
