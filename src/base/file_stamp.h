// Whether a file is still the one that was read, without reading it again.
//
// A stamp is the identity of what a path leads to, symbolic links followed: device, inode, size and
// times.  Whoever replaces a file (a ConfigMap's or Secret's link turned elsewhere, a rename, an
// edit in place) changes it.  One call of stat; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <sys/stat.h>

namespace podgpu {

struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size_bytes = -1;  // Negative: there is no such file, or it cannot be seen.
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
