// The activity of the last 24 hours from the Prometheus of --in-use-prometheus, on request.
//
// podgpu stores no history of its own: a client of /api/v1/history makes the reader ask one range
// query, whose answer serves all clients until the next step.  A failure is kept for a short time,
// so a Prometheus that is down is not asked by each client.  At most one query runs, at most 32
// wait, and at most 512 answers are kept; never during a tick.  Run is the body of one thread; the
// rest may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/wakeup.h"
#include "cluster/failure_watch.h"
#include "cluster/prometheus_client.h"
#include "cluster/prometheus_range.h"

namespace podgpu {

// Immutable once made.
struct History {
  TimeRange times;
  std::vector<std::optional<double>> percent;  // One per step; empty if there is no history.
  std::string absent;                          // Why there is none; empty if there is one.
};

// Queries by result, as podgpu_cluster_history_queries_total.
using HistoryCounts = std::array<uint64_t, kFetchResultCount>;

class HistoryReader {
 public:
  // All borrowed objects must outlive it.
  HistoryReader(PrometheusClientOptions options, const Files& files, Resolver resolve,
                Clock& clock);

  // Returns the history under `key`; null while it is being requested with `promql`.
  std::shared_ptr<const History> Of(const std::string& key, const std::string& promql)
      PODGPU_EXCLUDES(mutex_);
  // Returns it without requesting it; null if it is not known.
  std::shared_ptr<const History> Known(const std::string& key) PODGPU_EXCLUDES(mutex_);
  // Returns whether it has been requested and is not known yet.
  bool IsWanted(const std::string& key) PODGPU_EXCLUDES(mutex_);
  HistoryCounts counts() const PODGPU_EXCLUDES(mutex_);

  void Run(const std::stop_token& stop);

 private:
  struct Wanted {
    std::string key, promql;
  };
  struct Kept {
    std::shared_ptr<const History> history;
    Instant until;
  };
  std::shared_ptr<const History> Find(const std::string& key) const PODGPU_REQUIRES(mutex_);
  std::optional<Wanted> Next() PODGPU_EXCLUDES(mutex_);
  // Sends the next wanted query; returns false when there is none.
  bool AskNext(const std::stop_token& stop);
  void Keep(const std::string& key, std::shared_ptr<const History> history, Duration duration)
      PODGPU_EXCLUDES(mutex_);
  void Ask(const Wanted& wanted, const std::stop_token& stop) PODGPU_EXCLUDES(mutex_);
  void Note(const PrometheusReply& reply) PODGPU_EXCLUDES(mutex_);

  Clock& clock_;
  PrometheusClient client_;
  Wakeup wakeup_;
  FailureWatch failures_;  // Only Run uses it.
  // The HTTP thread adds to the queue and reads answers while Run takes and adds; neither could
  // wait for a publication of the other.
  mutable Mutex mutex_;
  std::deque<Wanted> wanted_ PODGPU_GUARDED_BY(mutex_);  // The first one is being asked for.
  std::map<std::string, Kept, std::less<>> kept_ PODGPU_GUARDED_BY(mutex_);
  HistoryCounts counts_ PODGPU_GUARDED_BY(mutex_){};
};

// Writes the answer of /api/v1/history.
std::string WriteHistory(const History& history);

}  // namespace podgpu
