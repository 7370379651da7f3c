// A real process that an end-to-end test starts, listens to and ends.
//
// Standard output and error come back through one pipe, line by line; waiting for a line is waiting
// for the event that it reports, so tests need no sleeps.  The child leads a process group of its
// own; the destructor kills the group, so that a failed test leaves nothing behind.  One thread per
// Child.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

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
  // Whether it has not ended yet; one that has ended stays to be waited for.
  bool IsRunning() const;
  void Signal(int signal) const;

  // Reads until a line contains `part` and returns that line; nothing when the output ends before.
  std::optional<std::string> AwaitLine(std::string_view part);

  // Reads to the end of the output, then the exit code.
  int Wait();

  // All that was read so far.
  const std::string& output() const { return output_; }

  // Writes `text` to the child's standard input and closes it.
  void Feed(std::string_view text);

 private:
  bool ReadMore();

  pid_t pid_ = -1;
  int output_pipe_ = -1;
  int input_pipe_ = -1;
  std::string output_;
  size_t scanned_ = 0;  // Up to here AwaitLine has looked.
  std::optional<int> exit_code_;
};

// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const std::string& path() const { return path_; }
  // Writes a file into the folder and returns its path.
  std::string Write(const std::string& name, std::string_view content) const;

 private:
  std::string path_;
};

// A TCP port of the loopback interface that was free a moment ago, and whether one is.
int FreePort();
bool IsFreePort(int port);

}  // namespace podgpu
