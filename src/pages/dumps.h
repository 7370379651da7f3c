// Writes each new reading as JSON files into a directory (--dump-enabled), for people who look for
// the origin of a number.
//
// Per reading and kind of entity there is a file of values and a file of devices, named as
// dcgm-exporter names them: metrics-GPU-20260512-131248-0000002a.json.gz.  Dumps removes only files
// with such names: those older than the retention, and the oldest when there are too many.  So a
// wrong directory or a forgotten flag does no harm.  Only podgpu's user may read the directory; a
// directory in which other users could plant links is refused (base/guarded_directory.h).  A
// failure is counted, logged once and retried with the next reading.  Run is the body of one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/guarded_directory.h"
#include "base/published.h"
#include "base/status.h"
#include "exposition/snapshot.h"
#include "fields/counters_csv.h"
#include "pages/write_counts.h"
#include "view/view.h"

namespace podgpu {

struct DumpOptions {
  bool enabled = false;
  std::string directory = "/tmp/dcgm-exporter-debug";
  std::chrono::hours retention{24};  // 0 or less: only the number of files is limited.
  bool compression = true;
  size_t most_files = 10'000;  // A day of readings each 30 s makes 5,760.
};

// Returns whether `name` is the name of a dump file.
bool IsDumpName(std::string_view name);

class Dumps {
 public:
  // All arguments passed by reference outlive this object.  `counts` counts readings.  `counters`
  // returns the current list and may be called on any thread.
  Dumps(DumpOptions options, ViewOptions view, const Published<Snapshot>& pages,
        WriteCounts& counts, std::function<std::vector<Counter>()> counters, Clock& clock);

  void Run(const std::stop_token& stop);

  bool wanted() const { return options_.enabled; }

 private:
  void WriteIfNewer();
  Status Write(const Grid& grid);
  Status WriteGroups(const GuardedDirectory& directory, const Grid& grid);
  Status WriteFile(const GuardedDirectory& directory, std::string_view what, std::string_view group,
                   const std::string& stamp, std::string text);
  Status FindOldFiles(const GuardedDirectory& directory);
  void RemoveOld(const GuardedDirectory& directory, WallTime now);

  const DumpOptions options_;
  const ViewOptions view_;
  const Published<Snapshot>& pages_;
  WriteCounts& counts_;
  const std::function<std::vector<Counter>()> counters_;
  Clock& clock_;
  Instant written_{};              // Start of the reading that was written last.
  uint32_t number_ = 0;            // Number of the last file; two files of one second differ by it.
  bool is_found_ = false;          // `files_` contains the files of earlier runs.
  std::deque<std::string> files_;  // Dump files, oldest first.
  std::string failure_;            // Why the last write failed; empty: it succeeded.
};

}  // namespace podgpu
