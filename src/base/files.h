// Reading files: one of the five seams to the outside world.
//
// Code that reads configuration, /proc or a mapping directory uses Files. Tests hand in a tree of
// their own and record which files are opened. Errors name the path. Any thread; the object
// outlives every object that borrows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

// The facts that the system tells about a file or folder without reading it.  While the mark stays
// the same, the path leads to the same file with the same content, except for changes within the
// resolution of the file system's clock.  For /proc/PID, the path then leads to the same process,
// because the kernel gives the folder of another process another inode.
struct FileMark {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t bytes = 0;
  int64_t content_changed_ns = 0;  // Last change of the content, since 1970.
  int64_t changed_ns = 0;          // Last change also of owner, mode or name, since 1970.
  bool operator==(const FileMark&) const = default;
};

class Files {
 public:
  Files() = default;
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  virtual ~Files() = default;

  // The whole content.  kNotFound, kPermissionDenied, or kResourceExhausted above 16 MiB; the
  // message begins with the path.
  virtual StatusOr<std::string> Read(std::string_view path) const = 0;

  // Names in a directory, sorted, without "." and "..".
  virtual StatusOr<std::vector<std::string>> List(std::string_view path) const = 0;

  // Returns the target of a symbolic link.
  virtual StatusOr<std::string> ReadLink(std::string_view path) const = 0;

  // Returns the mark of the file to which `path` leads; nothing when it leads to no file, and where
  // files have no marks.
  virtual std::optional<FileMark> Mark(std::string_view /*path*/) const { return std::nullopt; }
};

// The files below `root` ("" for the whole file system).
class SystemFiles final : public Files {
 public:
  explicit SystemFiles(std::string root = "") : root_(std::move(root)) {}
  StatusOr<std::string> Read(std::string_view path) const override;
  StatusOr<std::vector<std::string>> List(std::string_view path) const override;
  StatusOr<std::string> ReadLink(std::string_view path) const override;
  std::optional<FileMark> Mark(std::string_view path) const override;

 private:
  std::string root_;
};

}  // namespace podgpu
