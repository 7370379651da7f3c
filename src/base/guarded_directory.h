// A directory in which other users cannot create files or links, so a process with root's rights
// may write there.
//
// Open refuses a directory that another user owns or may write, and a path through a link that
// another user made. A file is always replaced whole: it is written under a random new name
// (O_EXCL, O_NOFOLLOW) and renamed. A link, pipe or device with the final name is never opened, and
// readers never see half a file. All names are resolved relative to the directory that was checked;
// its path is not walked again. Owned by one thread; may block on the disk.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace podgpu {

// Users that may own the directory: the user of this process, and root.
struct TrustedUsers {
  uid_t self;
  uid_t root;
  static TrustedUsers OfThisProcess();
  bool Include(uid_t user) const { return user == self || user == root; }
};

class GuardedDirectory {
 public:
  // Opens the directory at `path`. Every error message names the path and a remedy.
  static StatusOr<GuardedDirectory> Open(const std::string& path,
                                         TrustedUsers users = TrustedUsers::OfThisProcess());
  // Like Open; also creates the directory, mode 0700, and missing parents.
  static StatusOr<GuardedDirectory> Make(const std::string& path,
                                         TrustedUsers users = TrustedUsers::OfThisProcess());

  // Replaces the file, link or pipe of this name with a file with `content`. Readers see the old or
  // the new content.
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

// Returns the final name of a temporary file that a killed writer left: "a.prom" for
// "a.prom.0123456789abcdef.swp". Returns empty for every other name.
std::string_view ReplacedBy(std::string_view name);

}  // namespace podgpu
