// podgpu-sim as a process, for tests: a process with its output in files, and a running node.
//
// Every process is killed with its object.  Tests wait for the output or files of a process with a
// deadline far longer than any test takes.  One thread.
#pragma once

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <memory>
#include <poll.h>
#include <spawn.h>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "sim/testing/node.h"
#include "sim/world/run_directory.h"

namespace podgpu::sim {

inline constexpr char kProgram[] = PODGPU_BINARY_DIR "/bin/podgpu-sim";
inline constexpr char kScenario[] =
    "format: 1\nname: small\nseed: 3\n"
    "gpus:\n  - {class: h100-sxm5-80gb}\n"
    "  - {class: h100-sxm5-80gb, mig: [{profile: 3g.40gb}]}\n";
inline constexpr int kWaitPolls =
    2'000;  // 20 s: the machine may be busy; a pass takes milliseconds.

inline std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Waits until `holds` returns true or a distant deadline; returns whether it did.
inline bool Await(const std::function<bool()>& holds) {
  for (int i = 0; i < kWaitPolls; ++i) {
    if (holds()) {
      return true;
    }
    poll(nullptr, 0, 10);
  }
  return holds();
}

// podgpu-sim with its output in files; killed with the object if it still runs.
class Process {
 public:
  Process(const TestFolder& folder, std::vector<std::string> words)
      : out_(folder.path() + "/out"), err_(folder.path() + "/err") {
    words.insert(words.begin(), kProgram);
    std::vector<char*> arguments;
    for (std::string& word : words) {
      arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&files, 1, out_.c_str(), flags, 0644);
    posix_spawn_file_actions_addopen(&files, 2, err_.c_str(), flags, 0644);
    EXPECT_EQ(posix_spawn(&pid_, kProgram, &files, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (pid_ != 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  // Waits for the end; returns the exit code, or minus the signal.
  int Wait() {
    int how = 0;
    waitpid(pid_, &how, 0);
    pid_ = 0;
    return WIFSIGNALED(how) ? -WTERMSIG(how) : WEXITSTATUS(how);
  }
  void Signal(int number) const { kill(pid_, number); }
  std::string out() const { return ReadAll(out_); }
  std::string err() const { return ReadAll(err_); }

 private:
  const std::string out_, err_;
  pid_t pid_ = 0;
};

struct Outcome {
  int code;
  std::string out, err;
};

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() { unsetenv("PODGPU_SIM_DIR"); }

  // Runs podgpu-sim and waits for its end.
  Outcome Run(const std::vector<std::string>& words) const {
    Process process(folder_, words);
    const int code = process.Wait();
    return {code, process.out(), process.err()};
  }

  const TestFolder folder_;
  const std::string scenario_ = folder_.Write("small.yaml", kScenario);
};

// A node with a manual clock in a temporary folder.
class RunningNodeTest : public ProgramTest {
 protected:
  RunningNodeTest()
      : node_(folder_,
              {"run", scenario_, "--dir", run_, "--manual", "--engine-tcp", "127.0.0.1:0"}) {
    EXPECT_TRUE(Await([&] { return node_.out().find("\nready ") != std::string::npos; }))
        << node_.out() << node_.err();
    std::string error;
    reader_ = RunDirectory::Open(run_, error);
    EXPECT_NE(reader_, nullptr) << error;
  }
  // Commands write their output to other files than the node.
  Outcome Command(std::vector<std::string> words) const {
    words.insert(words.end(), {"--dir", run_});
    Process process(commands_, words);
    const int code = process.Wait();
    return {code, process.out(), process.err()};
  }
  pid_t EnginePid() const {
    pid_t pid = 0;
    std::ifstream(run_ + "/engine.pid") >> pid;
    EXPECT_GT(pid, 1) << "a signal to pid 0 or -1 would reach other processes";
    return pid > 1 ? pid : 0x7fffffff;
  }

  const std::string run_ = folder_.path() + "/run";
  const TestFolder commands_;
  Process node_;
  std::unique_ptr<RunDirectory> reader_;
};

inline bool IsSocket(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode);
}

}  // namespace podgpu::sim
