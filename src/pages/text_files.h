// The per-pod page as files, for node-exporter's textfile collector.
//
// One file has devices alone, the other one also pods, as dcgm-exporter 1.x and
// pod-gpu-metrics-exporter wrote them.  TextFiles writes a temporary file and renames it, so no
// reader sees a part of a page.  It writes when there is a newer reading, and removes the file when
// podgpu ends: otherwise readers would take old values for new ones.  A directory in which other
// users could plant links is refused (base/guarded_directory.h).  After a failure it retries in the
// next interval.  Run is the body of one thread of its own, since a disk may hang.
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
  std::string pod_path;     // Empty: not written.
  std::chrono::milliseconds interval{1'000};
  bool wanted() const { return !device_path.empty() || !pod_path.empty(); }
};

class TextFiles {
 public:
  // All arguments passed by reference outlive this object.
  TextFiles(TextFileOptions options, const Published<Snapshot>& pages, WriteCounts& counts,
            Clock& clock);

  void Run(const std::stop_token& stop);

  bool wanted() const { return options_.wanted(); }

 private:
  struct Target {
    Target(const std::string& path, bool with_pods);
    std::string path;
    std::string directory;
    std::string name;  // Name of the file in the directory.
    LegacyPage page;
    uint64_t tick = 0;     // Tick of the reading in the file.
    std::string failure;   // Why the last write failed; empty: it succeeded.
    bool is_tidy = false;  // Temporary files of a killed process have been removed.
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
