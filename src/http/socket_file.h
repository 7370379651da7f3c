// A listening socket that has a path in the file system instead of a port.
//
// What a process that was killed left behind (a socket that nobody listens on) is replaced; what
// somebody listens on, and any file that is no socket, is never touched.  The file goes with the
// object, unless another one stands in its place by then.  Called once at start; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace podgpu {

class SocketFile {
 public:
  SocketFile() = default;
  // The file at `path` as it is now.
  explicit SocketFile(std::string path);
  SocketFile(SocketFile&& other) noexcept { *this = std::move(other); }
  SocketFile& operator=(SocketFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(device_, other.device_);
    std::swap(inode_, other.inode_);
    return *this;
  }
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;
  ~SocketFile();

 private:
  std::string path_;  // Empty: none.
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
};

struct PathListener {
  FileDescriptor socket;  // Bound, listening, non-blocking.
  SocketFile file;
};

// Errors are kInvalidArgument and name the path and the remedy.
StatusOr<PathListener> ListenOnPath(const std::string& path, int backlog);

}  // namespace podgpu
