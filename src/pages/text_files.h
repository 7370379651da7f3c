// The per-pod page as files, for node-exporter's textfile collector.
//
// One file has the devices alone, the other one the pods as well, as the two programs of the 1.x
// generation left them.  A file is written beside itself and renamed, so that no reader sees a part
// of it; it is written when there is a newer reading, and removed at the end, so that no reader
// takes old values for new ones.  A directory in which other users could plant links is refused
// (base/guarded_directory.h).  A file that cannot be written is tried again at the next turn.  Run
// is the body of one thread of its own, since a disk may hang.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/published.h"
#include "base/status.h"
#include "pages/legacy_page.h"
#include "pages/write_counts.h"

namespace podgpu {

struct TextFileOptions {
  std::string device_path;  // Empty: not written.
  std::string pod_path;     // Likewise.
  std::chrono::milliseconds interval{1'000};
  bool wanted() const { return !device_path.empty() || !pod_path.empty(); }
};

class TextFiles {
 public:
  // All borrowed outlive it.
  TextFiles(TextFileOptions options, const Published<Snapshot>& pages, WriteCounts& counts,
            Clock& clock);

  void Run(const std::stop_token& stop);

  bool wanted() const { return options_.wanted(); }

 private:
  struct Target {
    Target(const std::string& path, bool with_pods);
    std::string path;
    std::string directory;
    std::string name;  // In the directory.
    LegacyPage page;
    uint64_t tick = 0;     // Of the reading that is in the file.
    std::string failure;   // Why the last write failed; empty: it did not.
    bool is_tidy = false;  // What a killed process left beside the file is gone.
  };
  void WriteIfNewer(Target& target);
  static Status Write(Target& target, std::string_view text);
  static void Remove(const Target& target);
  void Note(Target& target, const Status& status);

  const TextFileOptions options_;
  const Published<Snapshot>& pages_;
  WriteCounts& counts_;
  Clock& clock_;
  Target devices_;
  Target pods_;
};

}  // namespace podgpu
