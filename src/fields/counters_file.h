// The counters file over time: read at the start, and again when somebody has changed it.
//
// Whatever changes it is noticed by its content, looked at every now and then: an editor that
// writes in place, one that renames, the symbolic link that a ConfigMap volume swaps, a file that
// appears later, a network file system without notifications.  A new content counts once two looks
// in a row have found it, so that a half-written file is never taken for a whole one.  The path
// that nobody asked for may be empty: then the built-in set stands in.  One thread.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "base/status.h"
#include "fields/counters_csv.h"

namespace podgpu {

class CountersFile {
 public:
  // `path` empty: the default path, which need not exist.  `files` outlives this.
  CountersFile(std::string path, const Files& files);

  // Reads and parses it now.  kInvalidArgument with the complete one-line message.
  StatusOr<Counters> Load();

  // The outcome of a changed file, once: nothing while it is as it was judged last, or still
  // changing.
  std::optional<StatusOr<Counters>> LoadIfChanged();

  const std::string& path() const { return path_; }

 private:
  // What is there: a content, "use the built-in set", or why neither.
  struct Sight {
    Status status;
    std::optional<std::string> content;
    bool operator==(const Sight&) const = default;
  };
  Sight Look() const;
  StatusOr<Counters> Judge(Sight sight);

  const bool asked_;
  const std::string path_;
  const Files& files_;
  Sight judged_;
  std::optional<Sight> changed_;  // Seen at the last look, other than `judged_`.
};

}  // namespace podgpu
