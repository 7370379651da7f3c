// A real process that an end-to-end test starts, reads and ends.
//
// Standard output and error come through one pipe, line by line.  A test waits for the line that
// reports an event, so it needs no sleeps.  The child leads its own process group; the destructor
// kills the group, so a failed test leaves no process.  One thread per Child.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/testing/temporary_folder.h"

namespace podgpu {

// How a child ended: its exit code, or the signal that killed it as a negative number.
class Child {
 public:
  // Starts `arguments` (the program first); `variables` ("NAME=value") are added to the
  // environment.
  explicit Child(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& variables = {});
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  // Whether it has not ended yet; the exit of an ended child is still available.
  bool IsRunning() const;
  void Signal(int signal) const;

  // Reads until a line contains `part` and returns that line; empty when the output ends before.
  std::optional<std::string> AwaitLine(std::string_view part);

  // Reads what is there, without waiting: a child that writes much would otherwise wait for a
  // reader.
  void ReadAvailable();

  // Reads to the end of the output; returns the exit code.
  int Wait();

  // All output read so far.
  const std::string& output() const { return output_; }

  // Writes `text` to the child's standard input and closes it.
  void Feed(std::string_view text);

 private:
  bool ReadMore();

  pid_t pid_ = -1;
  int output_pipe_ = -1;
  int input_pipe_ = -1;
  std::string output_;
  size_t scanned_ = 0;  // AwaitLine has searched up to here.
  std::optional<int> exit_code_;
};

// A TCP port of the loopback interface that was free a moment ago, and whether a port is free.
int FreePort();
bool IsFreePort(int port);

}  // namespace podgpu
