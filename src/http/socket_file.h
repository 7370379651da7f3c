// A listening socket with a path in the file system instead of a port.
//
// A socket file that a killed process left behind is replaced. A socket on which a process listens,
// and a file that is not a socket, are never touched. The file is removed with the object, unless
// another file has replaced it. Called once at start; one thread.
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
  // The current file at `path`.
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
