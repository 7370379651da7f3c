// Logs when GPUs that work no longer give a metric, and when they give it again.
//
// The state of a GPU does not show this: one value is enough for the state `ok`.  A line is written
// when a GPU gave a metric and then lacks it for some time, or when the driver refuses the metric.
// Metrics that the same GPUs lack for the same reason share one line.  GPUs that give no value at
// all have the lines of state_log.h, and what a GPU that works may lack has no line.  The whole
// node has one budget of lines (line_budget.h).  Used on the tick thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "facts/tick_facts.h"
#include "fields/field.h"
#include "health/line_budget.h"

namespace podgpu {

class ValueLog {
 public:
  // `patience`: how long a GPU may lack a metric before there is a line.
  explicit ValueLog(Duration patience) : patience_(patience) {}

  // Takes the newest reading, whose stale values are already withdrawn.  The same reading may be
  // passed again.
  void Note(const TickFacts& facts, bool is_ready);

 private:
  struct TrackedField {
    const Field* field = nullptr;
    GpuSet gave = {};       // GPUs that gave a value at least once.
    GpuSet told = {};       // GPUs for which a line has said that they lack it.
    bool is_whole = false;  // Each cell had a value in the last reading.
    // The first reading in which a GPU lacks it and no line says so.
    std::optional<Instant> lacked_since = std::nullopt;
  };
  struct Difference {
    GpuSet gpus;
    std::vector<std::string> metrics;
  };
  // The differences by the indices of the GPUs and the reason why they lack the metrics; without a
  // reason they have them again.
  using Differences =
      std::map<std::pair<std::vector<uint32_t>, std::optional<Absence>>, Difference>;

  void TakeFields(const Grid& grid);
  void Judge(const TickFacts& facts, FieldRow row, const GpuSet& judged, Differences& differences);
  void Tell(const TickFacts& facts, const Differences& differences, bool is_ready);

  const Duration patience_;
  std::shared_ptr<const Topology> topology_;
  std::vector<TrackedField> fields_;  // One for each row of the last reading.
  std::optional<Instant> read_at_;
  LineBudget budget_;
};

}  // namespace podgpu
