// Queries the utilisation of the GPUs from an existing Prometheus that already scrapes them: one
// query for each measure at a fixed interval, never during a scrape.
//
// Each answer is summed up at once, so forty thousand series become a few numbers and an entry for
// each workload.  Several series of one GPU, for each pod of a shared GPU or from each replica of
// an exporter, count as one GPU.  A measure without an answer keeps its last sums; the tick
// withdraws them when they are too old.  Run is the body of one thread; the rest may be called from
// any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/published.h"
#include "base/wakeup.h"
#include "cluster/failure_watch.h"
#include "cluster/fleet.h"
#include "cluster/in_use.h"
#include "cluster/prometheus_answer.h"
#include "cluster/prometheus_client.h"

namespace podgpu {

struct PrometheusOptions : PrometheusClientOptions {  // Without a URL no Prometheus is queried.
  std::string matchers;  // Added to each selector: cluster="a", or empty.
  std::chrono::milliseconds interval{15'000};
  InUseMeaning meaning = InUseMeaning::kValue;

  // Returns the options that a client of that Prometheus needs.
  const PrometheusClientOptions& of_client() const { return *this; }
};

// Returns the query for `measure`.
std::string PrometheusQuery(InUseMeasure measure, std::string_view matchers);

// The series of a measure, summed up.
struct MeasureSums {
  InUseSum all;
  std::map<PodName, InUseSum> workloads;
  InUseSum not_zero;  // Over the GPUs with a value other than zero, in the unit of the answer.
};
// `prefers_exported`: the labels exported_pod and exported_namespace name the holder.
MeasureSums SumSeries(const std::vector<AnsweredSeries>& series, InUseMeasure measure,
                      InUseMeaning meaning, bool prefers_exported);

// All answers so far.  Immutable once published.
struct PrometheusReading {
  struct Measure {
    std::shared_ptr<const MeasureSums> sums;  // Sums of the last good answer; null before it.
    Instant read_at{};
    std::optional<FetchResult> last;
  };
  std::array<Measure, kInUseMeasureCount> measures;
  std::array<uint64_t, kFetchResultCount> queries{};
  std::string detail;  // The last failure; empty while all queries succeed.
};

// Merges the sums that are not older than `withdraw_after`.  Names are borrowed from `reading`.
InUse MergeReading(const PrometheusReading& reading, Instant now,
                   std::chrono::milliseconds withdraw_after);

class PrometheusReader {
 public:
  // All borrowed objects must outlive it. `tick` is nudged when a reading is published.
  PrometheusReader(PrometheusOptions options, const Files& files, Resolver resolve, Clock& clock,
                   Wakeup& tick);

  void Run(const std::stop_token& stop);
  // Never null; empty forever if there is no URL.
  const Published<PrometheusReading>& reading() const { return published_; }

 private:
  void AskAll(const std::stop_token& stop);
  void Take(InUseMeasure measure, PrometheusReply reply);
  FetchResult TakeBody(InUseMeasure measure, std::string_view body, std::string& detail);

  const PrometheusOptions options_;
  Clock& clock_;
  Wakeup& tick_;
  PrometheusClient client_;
  bool prefers_exported_ = false;  // True once any series has had those labels.
  std::array<FailureWatch, kInUseMeasureCount> failures_;
  PrometheusReading current_;
  Published<PrometheusReading> published_;
};

}  // namespace podgpu
