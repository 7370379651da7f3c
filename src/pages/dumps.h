// Dumps: each new reading as JSON files in a directory, for people who look for where a number came
// from (--dump-enabled).
//
// Per reading and kind of entity a file of values and one of devices, with dcgm-exporter's names:
// metrics-GPU-20260512-131248-0000002a.json.gz.  Files of that form, and no others, are removed
// when they are older than the retention, and the oldest when there are too many, so that neither a
// wrong directory nor a forgotten flag does harm.  The directory is made for us alone, and one in
// which other users could plant links is refused (base/guarded_directory.h).  A failure is counted,
// logged once and tried again with the next reading.  Run is the body of one thread.
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
  std::chrono::hours retention{24};  // 0 or less: only their number is bounded.
  bool compression = true;
  size_t most_files = 10'000;  // A day of readings each 30 s makes 5,760.
};

// Whether `name` is one that a dump has.
bool IsDumpName(std::string_view name);

class Dumps {
 public:
  // All borrowed outlive it.  `counts` are of readings; `counters` gives the list of now; any
  // thread may ask it.
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
  Instant written_{};              // Of the reading that was written last.
  uint32_t number_ = 0;            // Of the file, so that no two of a second are one.
  bool is_found_ = false;          // The files of before are in `files_`.
  std::deque<std::string> files_;  // Ours, oldest first.
  std::string failure_;            // Why the last one was not written; empty: it was.
};

}  // namespace podgpu
