// A file descriptor that closes itself. Socket code holds it instead of an int.
//
// Move-only; an empty one holds -1 and closes nothing. Code that makes a socket holds it here until
// its owner (the server's event loop, a call to the kubelet) takes it over with Release. Not thread
// safe.
#pragma once

#include <unistd.h>
#include <utility>

namespace podgpu {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }

  bool is_open() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  // Hands the descriptor to the caller, who closes it from now on.
  int Release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

}  // namespace podgpu
