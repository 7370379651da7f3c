// Tells whether a file has changed since it was read, without reading it again.
//
// A stamp holds device, inode, size and times of the file that a path leads to; symbolic links are
// followed. Every replacement changes the stamp: a ConfigMap or Secret whose link points elsewhere,
// a rename, an edit in place. One call of stat; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <sys/stat.h>

namespace podgpu {

struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size_bytes = -1;  // Negative: the file does not exist or cannot be seen.
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

inline FileStamp StampOf(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return {};
  }
  const auto nanoseconds = [](const timespec& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size_bytes = status.st_size,
          .modified_ns = nanoseconds(status.st_mtim),
          .changed_ns = nanoseconds(status.st_ctim)};
}

}  // namespace podgpu
