// Shared parts of the demos: their settings, their output, and how they wait and end.
//
// Messages are lines "demo 3/5 ..."; ./dev prints steps 1 and 2.  One thread.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tests/demo/process.h"

namespace podgpu::demo {

enum ExitCode { kAsExpected = 0, kUnexpected = 1, kWrongUse = 2 };

struct Setting {
  std::string command;  // "demo", "demo-check", "demo-cluster" or "demo-cluster-check"
  std::filesystem::path build, run;
  std::filesystem::path scenarios;  // The folder.
  uint16_t port = 0;
  std::string moved;  // Why the default port is not used; empty when it is.

  bool ends_after_check() const { return command.ends_with("-check"); }
};

void Say(const Setting& setting, int step, const char* name, const std::string& text);
// Prints to standard error; returns kUnexpected.
int Complain(const std::string& text);

// A variable of the environment; empty when it is not set.
std::string Variable(const char* name);

// Chooses the port: PORT if given, else the first free one from `first` on.  Returns an exit code
// when there is none.
std::optional<int> ChoosePort(uint16_t first, Setting& setting);

// "port 9400 is taken by prometheus (pid 812); 9401 is free; ", or nothing for the default port.
std::string PortWords(const Setting& setting);

// The seconds since `start`, such as "1.2".
std::string Elapsed(const WaitLimit& start);

// Waits until `done` returns true; prints the reason when the child ends or the time is over.
template <typename Condition>
bool Await(Child& child, const std::string& what, std::chrono::milliseconds timeout,
           Condition done) {
  const WaitLimit wait(timeout);
  while (!done()) {
    const std::optional<std::string> end = child.Ended();
    if (end || !wait.WaitABit()) {
      Complain(what + (end ? " ended with " + *end : " is not ready after 30 s") +
               "; its last lines, from " + child.log() + ":\n" + child.LastLines());
      return false;
    }
  }
  return true;
}

// Blocks the signals that end a demo, so the demo can wait for them.
sigset_t BlockSignals();

struct NamedChild {
  std::string name;  // "the exporter"
  Child* child = nullptr;
};
// Waits for a signal, DEMO_SECONDS, or the end of a child.
int Stay(const sigset_t& signals, std::span<const NamedChild> children);

}  // namespace podgpu::demo
