// Notices of the kernel that a file may have changed, so that a program need not look at intervals.
//
// Covers what can happen to a path: an edit in place, a rename over it, removal and return, and the
// link that a ConfigMap volume swaps beside it.  Other files of the folder cause notices too, so
// the owner looks at the file.  Not every change has a notice: a network file system has none for
// the changes of other machines, and a file behind further links is watched in its last folder
// alone.  So the owner also looks at longer intervals, and calls Watch again then.
// One thread.  Source of facts: inotify(7).
#pragma once

#include <string>

#include "base/file_descriptor.h"

namespace podgpu {

class FileNotice {
 public:
  // The file at `path` need not exist.
  explicit FileNotice(std::string path);

  // Watches the folder of the path, and the one to which the path leads now.
  void Watch();

  // Returns whether the folder of the path is watched: it exists, and the system has given a watch.
  bool is_watching() const { return folder_ >= 0; }

  // Readable when notices have come; -1 when the system gives none to this process.
  int descriptor() const { return notices_.get(); }

  // Removes the notices that have come.  Returns whether there were any.  Never blocks.
  bool Take();

 private:
  const std::string path_;
  const FileDescriptor notices_;
  int folder_ = -1;  // The watch of the folder of the path.
};

}  // namespace podgpu
