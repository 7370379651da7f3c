// What the demos share: settings and messages, programs with their output in files, and how a demo
// waits and ends.
//
// Messages are lines "demo 3/5 ..."; ./dev prints steps 1 and 2.  One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/signal_queue.h"
#include "tests/e2e/child.h"

namespace podgpu::demo {

using Complaints = std::vector<std::string>;
enum ExitCode { kAsExpected = 0, kUnexpected = 1, kWrongUse = 2 };

struct Setting {
  std::string command;  // "demo", "demo-check", "demo-cluster" or "demo-cluster-check"
  std::string build, run, scenarios;  // Folders.
  uint16_t port = 0;
  // "port 9400 is taken by prometheus (pid 812); 9401 is free; ", or nothing for the default port.
  std::string moved;

  bool ends_after_check() const { return command.ends_with("-check"); }
};

void Say(const Setting& setting, int step, const char* name, const std::string& text);
// Prints to standard error.
void Complain(const std::string& text);

// Whether podgpu could not listen on this port because a program does.
bool IsTaken(uint16_t port);
// Chooses the port: PORT if given, else the first free one from `first` on.  False after a
// complaint.
bool ChoosePort(uint16_t first, Setting& setting);

// The body of http://127.0.0.1:port/path; empty unless the status is 200.
std::string Fetch(uint16_t port, std::string_view path);

// A program of a demo, which runs as long as the object.  Ctrl-C reaches only the demo, which ends
// its programs in order; the kernel ends them when the demo is killed.
class Program {
 public:
  // `name` is for messages, such as "the exporter"; the output goes to the file `log`.
  Program(std::string name, std::string log, std::vector<std::string> arguments);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  // Whether it has not ended; complains if it has.
  bool StillRuns();
  // Waits until nothing is `wrong`; complains when the program ends before, and of what is wrong
  // after 30 s.  A first page may be older than the kubelet's first answer.
  bool Await(std::string_view what, const std::function<Complaints()>& wrong);
  // Waits until it is ready, as it says itself.
  bool AwaitAnswer(std::string_view what, uint16_t port);
  std::string Output() const;

 private:
  std::string LastLines() const;

  const std::string name_, log_;
  Child child_;
};

// Waits for a signal, DEMO_SECONDS, or the end of a program; returns the exit code.
int Stay(SignalQueue& signals, std::initializer_list<Program*> programs);

}  // namespace podgpu::demo
