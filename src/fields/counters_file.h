// The counters file: loads it at start, and again after each change.
//
// A change is detected by comparing contents at intervals. This covers an editor that writes in
// place, one that renames, the symbolic link that a ConfigMap volume swaps, a file that appears
// later, and a network file system without notifications. A new content is used only after two
// checks in a row have read it; a half-written file would differ. The three lists of
// dcgm-exporter's image may be missing: then the built-in list of that name is used. One thread.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "base/status.h"
#include "fields/counters_csv.h"

namespace podgpu {

class CountersFile {
 public:
  // `path` empty: the default path.  `release`: for the built-in lists and their copies.
  // `setting`: what names the path, for messages.  `files` outlives this.
  CountersFile(std::string path, const Files& files, const ListsOfRelease& release = {},
               std::string setting = "--collectors (-f)");

  // Reads and parses the file now. On failure kInvalidArgument with the complete one-line message.
  StatusOr<Counters> Load();

  // Returns the result of a changed file once; returns nothing while the file is unchanged or still
  // changing.
  std::optional<StatusOr<Counters>> LoadIfChanged();

  const std::string& path() const { return path_; }

 private:
  // The current state of the path: a content, "use the built-in list" (OK without content), or an
  // error.
  struct Sight {
    Status status;
    std::optional<std::string> content;
    bool operator==(const Sight&) const = default;
  };
  Sight Look() const;
  StatusOr<Counters> Judge(Sight sight);

  const std::string path_;
  const Files& files_;
  const ListsOfRelease release_;
  const std::string setting_;
  Sight judged_;
  std::optional<Sight> changed_;  // Differs from `judged_`; seen once so far.
};

}  // namespace podgpu
