#include "tests/demo/setting.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/text.h"

namespace podgpu::demo {

void Say(const Setting& setting, int step, const char* name, const std::string& text) {
  std::printf("%s %d/5 %-11s%s\n", setting.command.c_str(), step, name, text.c_str());
  std::fflush(stdout);
}

int Complain(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return kUnexpected;
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<int> ChoosePort(uint16_t first, Setting& setting) {
  const std::string pinned = Variable("PORT");
  const std::optional<uint64_t> number = ParseDecimal(pinned);
  if (!pinned.empty() && (!number || *number == 0 || *number > 65535)) {
    Complain("PORT=" + pinned + " is not a port; give a number from 1 to 65535");
    return kWrongUse;
  }
  setting.port = pinned.empty() ? first : static_cast<uint16_t>(*number);
  while (!IsFree(setting.port)) {
    const std::string taken =
        "port " + std::to_string(setting.port) + " is taken by " + ListenerOf(setting.port);
    if (!pinned.empty()) {
      Complain(taken);
      return kWrongUse;
    }
    if (setting.moved.empty()) {
      setting.moved = taken;
    }
    ++setting.port;
  }
  return std::nullopt;
}

std::string PortWords(const Setting& setting) {
  return setting.moved.empty() ? ""
                               : setting.moved + "; " + std::to_string(setting.port) + " is free; ";
}

std::string Elapsed(const WaitLimit& start) {
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.1f", start.ElapsedSeconds());
  return seconds.data();
}

sigset_t BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
    sigaddset(&set, signal);
  }
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return set;
}

int Stay(const sigset_t& signals, std::span<const NamedChild> children) {
  const std::optional<uint64_t> seconds = ParseDecimal(Variable("DEMO_SECONDS"));
  const WaitLimit wait(std::chrono::seconds(seconds.value_or(0)));
  while (true) {
    for (const NamedChild& one : children) {
      if (const auto end = one.child->Ended()) {
        return Complain(one.name + " ended with " + *end + ":\n" + one.child->LastLines());
      }
    }
    constexpr timespec kTurn{.tv_sec = 0, .tv_nsec = 200'000'000};
    const int signal = sigtimedwait(&signals, nullptr, &kTurn);
    if ((signal > 0 && signal != SIGCHLD) ||
        (seconds && wait.ElapsedSeconds() >= static_cast<double>(*seconds))) {
      return kAsExpected;
    }
  }
}

}  // namespace podgpu::demo
