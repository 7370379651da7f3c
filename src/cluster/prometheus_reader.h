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
#include "cluster/client_access.h"
#include "cluster/discovery.h"
#include "cluster/fleet.h"
#include "cluster/in_use.h"
#include "cluster/prometheus_answer.h"
#include "http/client.h"

namespace podgpu {

// The address of the server: --in-use-prometheus.
struct PrometheusUrl {
  bool is_tls = false;
  HostAndPort server;
  std::string prefix;  // Before /api/v1/query, without a slash at the end.
};
// "http://prometheus.monitoring:9090", "https://mimir.example/prometheus".
StatusOr<PrometheusUrl> ParsePrometheusUrl(std::string_view text);

struct PrometheusOptions {
  std::optional<PrometheusUrl> url;  // Empty: no Prometheus is queried.
  std::string matchers;              // Added to each selector: cluster="a", or empty.
  std::string tenant;                // X-Scope-OrgID; empty: none.
  std::string web_config;            // As --node-web-config; empty: no TLS settings.
  std::chrono::milliseconds interval{15'000};
  HttpClientOptions client{.max_body_bytes = size_t{64} << 20};
  InUseMeaning meaning = InUseMeaning::kValue;
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
    std::shared_ptr<const MeasureSums> sums;  // From the last good answer; null before it.
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
  StatusOr<HttpAnswer> Ask(InUseMeasure measure, const std::string& ip,
                           const std::stop_token& stop);
  void Take(InUseMeasure measure, const StatusOr<HttpAnswer>& answer);
  FetchResult Judge(InUseMeasure measure, const StatusOr<HttpAnswer>& answer, std::string& detail);
  FetchResult TakeBody(InUseMeasure measure, std::string_view body, std::string& detail);

  const PrometheusOptions options_;
  const Resolver resolve_;
  Clock& clock_;
  Wakeup& tick_;
  HttpClient client_;
  ClientAccess access_;
  bool prefers_exported_ = false;  // True once any series has had those labels.
  PrometheusReading current_;
  Published<PrometheusReading> published_;
};

}  // namespace podgpu
