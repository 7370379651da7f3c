// Reading files: one of the five seams to the outside world.
//
// Code that reads configuration, /proc or a mapping directory uses Files. Tests hand in a tree of
// their own and record which files are opened. Errors name the path. Any thread; the object
// outlives every object that borrows it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

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
};

// The files below `root` ("" for the whole file system).
class SystemFiles final : public Files {
 public:
  explicit SystemFiles(std::string root = "") : root_(std::move(root)) {}
  StatusOr<std::string> Read(std::string_view path) const override;
  StatusOr<std::vector<std::string>> List(std::string_view path) const override;
  StatusOr<std::string> ReadLink(std::string_view path) const override;

 private:
  std::string root_;
};

}  // namespace podgpu
