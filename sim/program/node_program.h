// The program that `podgpu-sim run SCENARIO -- PROGRAM` starts on the node.
//
// It has the environment of podgpu-sim and the variables by which programs find the node.  The
// destructor kills it.  One thread.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/status.h"

namespace podgpu::sim {

class NodeProgram {
 public:
  // Starts `words` on the node in `directory`; kInvalidArgument when it cannot be started.
  static StatusOr<NodeProgram> Start(const std::vector<std::string>& words,
                                     const std::string& directory);

  NodeProgram(NodeProgram&& other) noexcept;
  NodeProgram& operator=(NodeProgram&&) = delete;
  NodeProgram(const NodeProgram&) = delete;
  NodeProgram& operator=(const NodeProgram&) = delete;
  ~NodeProgram();

  // Its exit code, 128 and the number if a signal ended it; empty while it runs.
  std::optional<int> Ended();

  // Asks it to end; the second call kills it.
  void Stop();

 private:
  explicit NodeProgram(pid_t pid) : pid_(pid) {}

  pid_t pid_;  // 0 after its end.
  bool is_asked_to_end_ = false;
};

}  // namespace podgpu::sim
