// Keeps the samples of devices while somebody needs them, and makes the tables for questions.
//
// The metrics API needs them always: the tick publishes a table at each whole 5 s step, so two
// replicas with the same samples give the same figures, whenever they received them.  Others
// (/api/v1/in-use) name a window of their own: from the first such question on samples are kept,
// until an hour has passed without one.  Any thread, except Feed.
//
// The mutex: samples are large and change in place, so they cannot be published as immutable
// values.  It is held while reports are taken or a table is made, 20 and 45 ms for 40,000 GPUs.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/published.h"
#include "base/status.h"
#include "metrics_api/values/use_window.h"

namespace podgpu {

class WindowTables {
 public:
  // Returns the nodes with their newest reports.
  using Nodes = std::function<WindowFleet()>;

  // `publishes`: for the metrics API, with the whole length of the window.
  WindowTables(WindowOptions options, bool publishes)
      : length_(options.length), publishes_(publishes), window_(std::move(options)) {}

  // Takes the newest reports, if samples are kept, and publishes a table at each new step. `labels`
  // may be null. Tick thread only.
  void Feed(const Nodes& nodes, WallTime now, const NodeLabelMap* labels);

  // The newest published table; null before the first one.
  const Published<MetricsTable>& newest() const { return newest_; }

  // The table of the samples of the last `length`, which is at most length(); it is less than 5 s
  // old and has no pods and no labels. The first question finds one sample for each device: that of
  // `nodes`. kResourceExhausted: questions of the last minute were about four other lengths.
  StatusOr<std::shared_ptr<const MetricsTable>> Of(std::chrono::milliseconds length,
                                                   const Nodes& nodes, WallTime now);

  // For how long samples are kept.
  std::chrono::milliseconds length() const { return length_; }

  // Numbers of samples and bytes of the window and its newest tables, as of the last table.
  size_t points() const { return points_; }
  size_t bytes() const { return bytes_; }

 private:
  struct Made {
    std::chrono::milliseconds length;
    int64_t asked_ms = 0;  // Time of the last question.
    std::shared_ptr<const MetricsTable> table;
  };

  bool KeepsSamples() const PODGPU_REQUIRES(mutex_) { return publishes_ || asked_ms_; }
  void ForgetOldQuestions(int64_t now_ms) PODGPU_REQUIRES(mutex_);
  void Take(const Nodes& nodes) PODGPU_REQUIRES(mutex_);
  void Measure() PODGPU_REQUIRES(mutex_);

  const std::chrono::milliseconds length_;
  const bool publishes_;
  Mutex mutex_;
  UseWindow window_ PODGPU_GUARDED_BY(mutex_);
  std::optional<int64_t> asked_ms_ PODGPU_GUARDED_BY(mutex_);  // Time of the last question to Of.
  std::vector<Made> made_ PODGPU_GUARDED_BY(mutex_);           // Tables of recent questions.
  int64_t published_end_ms_ = 0;                               // Tick thread only.
  Published<MetricsTable> newest_;
  std::atomic<size_t> points_ = 0, bytes_ = 0;
};

}  // namespace podgpu
