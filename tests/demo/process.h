// The processes of the demo: a child that writes to a log file, and which process uses a port.
//
// A child leads its own process group, so Ctrl-C reaches only the demo, which ends its children in
// order; the kernel ends a child whose demo was killed.  Not for tests that read a child's output:
// they use their own class.  One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace podgpu::demo {

class Child {
 public:
  // Starts `arguments` (the program first) with `variables` ("NAME=value") added to the
  // environment; its output goes to the file `log`.
  Child(const std::vector<std::string>& arguments, const std::vector<std::string>& variables,
        std::string log);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  // How it ended, in words ("exit code 2", "signal 9"); empty while it runs.
  std::optional<std::string> Ended();
  // Asks the group to end, waits, and kills the rest after `timeout`.
  void Stop(std::chrono::milliseconds timeout);
  // The last lines of its output.
  std::string LastLines() const;
  const std::string& log() const { return log_; }

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
  std::string log_;
};

// Whether nothing listens on this TCP port.
bool IsFree(uint16_t port);

// "prometheus (pid 812)", or "another program" when /proc does not show it.
std::string ListenerOf(uint16_t port);

// The body of GET http://127.0.0.1:port/path; empty unless the status is 200.
std::optional<std::string> Fetch(uint16_t port, const std::string& path);

// The rest of a wait with a deadline.
class WaitLimit {
 public:
  explicit WaitLimit(std::chrono::milliseconds length);
  // Waits a moment; false after the deadline.
  bool WaitABit() const;
  double ElapsedSeconds() const;

 private:
  std::chrono::steady_clock::time_point start_;
  std::chrono::milliseconds length_;
};

}  // namespace podgpu::demo
