// Which list of metrics the pages show: the last one that was asked for, as soon as there is a
// reading of its fields.
//
// A reload gives a new list and its fields (ShowInstead).  Until the reader has read those fields
// the pages go on with the list from before.  The tick thread calls Take, Get and generation; the
// rest may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/published.h"
#include "fields/counters_csv.h"
#include "sample/grid.h"

namespace podgpu {

class ShownCounters {
 public:
  explicit ShownCounters(std::vector<Counter> counters);

  // Asks for `counters`, which are shown as soon as a reading of `fields` is there.
  void ShowInstead(std::vector<Counter> counters, std::vector<const Field*> fields);
  // Whether what was asked for last is not shown yet.
  bool is_reloading() const { return wanted_.Get() != shown_.Get(); }
  // Whether `shown`, the reading of the newest page, lacks fields that were asked for last: it was
  // read without them, or there are too few readings for the rates of profiling fields.
  bool LacksFields(const Grid& shown) const;

  // Takes the reading of the next page; null before the first one.
  void Take(const Grid* grid);
  std::shared_ptr<const std::vector<Counter>> Get() const;
  // Changes whenever the list that is shown changes.
  uint64_t generation() const { return generation_; }

 private:
  // A list of metrics, and the fields that are read for it.
  struct Metrics {
    std::vector<Counter> counters;
    std::vector<const Field*> fields;
  };

  Published<Metrics> wanted_;
  Published<Metrics> shown_;
  std::atomic<int> readings_shown_ = 0;  // Since `shown_` changed.
  std::optional<Instant> read_at_;       // Of the last reading.
  uint64_t generation_ = 0;
};

}  // namespace podgpu
