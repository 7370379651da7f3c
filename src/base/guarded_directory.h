// A directory into which a process with root's rights may write, since other users cannot plant
// anything there.
//
// Opening one refuses a directory that another user owns or may write, and a link on the way to it
// that another user made.  A file is replaced whole: it is written under a random name that must
// be new (O_EXCL, O_NOFOLLOW) and renamed, so that a link, a pipe or a device of the final name is
// never opened, and no reader sees a part of a file.  All names are looked up in the directory that
// was checked, not by its path again.  Owned by one thread; may block in the disk.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace podgpu {

// Users who may own what we write into: this process's own, and root.
struct TrustedUsers {
  uid_t self;
  uid_t root;
  static TrustedUsers OfThisProcess();
  bool Include(uid_t user) const { return user == self || user == root; }
};

class GuardedDirectory {
 public:
  // Opens the directory at `path`.  Every message names path and remedy.
  static StatusOr<GuardedDirectory> Open(const std::string& path,
                                         TrustedUsers users = TrustedUsers::OfThisProcess());
  // The same; makes the directory, mode 0700, and those above it where they are missing.
  static StatusOr<GuardedDirectory> Make(const std::string& path,
                                         TrustedUsers users = TrustedUsers::OfThisProcess());

  // Replaces whatever has this name by a file with `content`; readers see the old one or the new.
  Status Replace(const std::string& name, std::string_view content, mode_t mode) const;
  // Removes the file, link or pipe of this name, if there is one.
  void Remove(const std::string& name) const;
  // All names, sorted, without "." and "..".
  StatusOr<std::vector<std::string>> List() const;

 private:
  GuardedDirectory(std::string path, FileDescriptor directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}

  std::string path_;  // For messages only.
  FileDescriptor directory_;
};

// The name of the file that `name` was to replace when its writer was killed: "a.prom" of
// "a.prom.0123456789abcdef.swp"; empty for every other name.
std::string_view ReplacedBy(std::string_view name);

}  // namespace podgpu
