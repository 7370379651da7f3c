// The list of metrics that the pages show: the last requested list, once there is a reading of its
// fields.
//
// A reload gives a new list and its fields (ShowInstead).  Until the reader has read those fields,
// the pages show the previous list.  The tick thread calls Take, Get and generation; the rest may
// be called from any thread.
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

  // Requests `counters`; pages show them once there is a reading of `fields`.
  void ShowInstead(std::vector<Counter> counters, std::vector<const Field*> fields);
  // Returns whether the last requested list is not shown yet.
  bool is_reloading() const { return wanted_.Get() != shown_.Get(); }
  // Returns whether `shown`, the reading of the newest page, lacks fields of the last requested
  // list: it was read without them, or there are too few readings for the rates of profiling
  // fields.
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
  std::atomic<int> readings_shown_ = 0;  // Number of readings since `shown_` changed.
  std::optional<Instant> read_at_;       // Time of the last reading.
  uint64_t generation_ = 0;
};

}  // namespace podgpu
