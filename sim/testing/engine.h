// A simulated engine in a child process of a test.
//
// Runs RunEngine after a fork, so construct it while the test has one thread.  When the constructor
// returns, it listens on engine.sock and, on a free port, on the address in engine.addr.  The
// destructor ends it.  For tests only; one thread.
#pragma once

#include <array>
#include <csignal>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "sim/program/engine.h"

namespace podgpu::sim {

// An engine in a child process that a test can stop, continue and kill.
class TestEngine {
 public:
  TestEngine(const std::string& directory, uint64_t generation) {
    std::array<int, 2> ready{};
    EXPECT_EQ(pipe(ready.data()), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ready[0]);
      _exit(RunEngine({.run_directory = directory,
                       .tcp = "127.0.0.1:0",
                       .generation = generation,
                       .on_listening = [&] { close(ready[1]); }}));
    }
    close(ready[1]);
    char none = 0;
    EXPECT_EQ(read(ready[0], &none, 1), 0);  // End of the pipe: it listens, or has exited.
    close(ready[0]);
  }
  TestEngine(const TestEngine&) = delete;
  TestEngine& operator=(const TestEngine&) = delete;
  ~TestEngine() { Kill(); }

  void Kill() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      Wait();
    }
  }
  // Stops it, and returns when it is stopped.
  void Stop() const {
    kill(pid_, SIGSTOP);
    int status = 0;
    ASSERT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
    ASSERT_TRUE(WIFSTOPPED(status));
  }
  void Continue() const { kill(pid_, SIGCONT); }
  // Waits for its exit and returns the exit status.
  int Wait() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
};

// The first line of engine.addr: "127.0.0.1:41873".
inline std::string EngineAddressIn(const std::string& directory) {
  std::ifstream file(directory + "/engine.addr");
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace podgpu::sim
