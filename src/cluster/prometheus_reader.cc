#include "cluster/prometheus_reader.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "base/percent.h"
#include "base/text.h"

namespace podgpu {
namespace {

constexpr std::string_view kQueryPath = "/api/v1/query?query=";

// The computation of a measure from the families of dcgm-exporter: by their names up to 4.8.4, and
// for nodes without those by the names of 4.9.
struct MeasureQuery {
  std::string_view text;  // PromQL; $NAME$ stands for `max by (...) (NAME{...})`.
  double most;            // Larger values are wrong and ignored.
  bool of_instances;      // GPUs in MIG mode have it for each instance.
};
constexpr MeasureQuery kMeasureQueries[] = {
    {"$DCGM_FI_DEV_MEM_COPY_UTIL$ or 100 * $DCGM_FI_DEV_MEMORY_UTIL_RATIO$", 100, false},
    {"$DCGM_FI_PROF_SM_ACTIVE$ or $DCGM_FI_PROF_SM_UTIL_RATIO$", 1, true},
    {"$DCGM_FI_PROF_PIPE_TENSOR_ACTIVE$ or $DCGM_FI_PROF_TENSOR_UTIL_RATIO$", 1, true},
    {"$DCGM_FI_DEV_FB_USED$ / ($DCGM_FI_DEV_FB_USED$ + $DCGM_FI_DEV_FB_FREE$ + "
     "($DCGM_FI_DEV_FB_RESERVED$ or 0 * $DCGM_FI_DEV_FB_USED$)) or "
     "$DCGM_FI_DEV_FB_USED_BYTES$ / ($DCGM_FI_DEV_FB_USED_BYTES$ + $DCGM_FI_DEV_FB_FREE_BYTES$ + "
     "($DCGM_FI_DEV_FB_RESERVED_BYTES$ or 0 * $DCGM_FI_DEV_FB_USED_BYTES$))",
     1, true},
};
static_assert(std::size(kMeasureQueries) == kInUseMeasureCount);

const MeasureQuery& QueryOf(InUseMeasure measure) {
  return kMeasureQueries[static_cast<size_t>(measure)];
}

// A GPU or an instance of one, with the values of all its series.
struct AnsweredDevice {
  std::optional<double> value;
  std::set<PodName> workloads;
};

// Devices by GPU and instance.
using AnsweredDevices = std::map<std::pair<std::string_view, std::string_view>, AnsweredDevice>;

// Several series may be of one GPU: replicas of an exporter, or copies of a row for each pod.  The
// largest valid value counts.  The row of a GPU in MIG mode does not count if its instances have
// rows.
AnsweredDevices GatherDevices(const std::vector<AnsweredSeries>& series, const MeasureQuery& query,
                              bool prefers_exported) {
  std::set<std::string_view> partitioned;
  for (const AnsweredSeries& one : series) {
    if (query.of_instances && !one.instance.empty()) {
      partitioned.insert(one.gpu);
    }
  }
  AnsweredDevices devices;
  for (const AnsweredSeries& one : series) {
    if (one.instance.empty() && partitioned.contains(one.gpu)) {
      continue;  // Its instances are counted instead.
    }
    const std::string_view instance = query.of_instances ? one.instance : std::string_view();
    AnsweredDevice& device = devices[{one.gpu, instance}];
    if (one.value && *one.value >= 0 && *one.value <= query.most) {
      device.value = std::max(device.value.value_or(0), *one.value);
    }
    const PodName& pod = prefers_exported ? one.exported_pod : one.pod;
    if (!pod.name.empty()) {
      device.workloads.insert({pod.pod_namespace, std::string(WorkloadOf(pod.name))});
    }
  }
  return devices;
}

void AddShare(double share, InUseSum& sum) {
  ++sum.devices;
  sum.shares += share;
}

}  // namespace

std::string PrometheusQuery(InUseMeasure measure, std::string_view matchers) {
  std::string query;
  bool is_name = false;
  for (const std::string_view part : Split(QueryOf(measure).text, '$')) {
    query += is_name ? absl::StrFormat("max by (%s) (%s{%s})", AnsweredLabels(), part, matchers)
                     : std::string(part);
    is_name = !is_name;
  }
  return query;
}

MeasureSums SumSeries(const std::vector<AnsweredSeries>& series, InUseMeasure measure,
                      InUseMeaning meaning, bool prefers_exported) {
  const MeasureQuery& query = QueryOf(measure);
  MeasureSums sums;
  for (const auto& [name, device] : GatherDevices(series, query, prefers_exported)) {
    if (!device.value) {
      ++sums.all.unknown;
      continue;
    }
    const double share = *device.value / query.most;
    const bool counts = meaning == InUseMeaning::kValue ? share > 0 : !device.workloads.empty();
    if (counts) {
      AddShare(share, sums.all);
    }
    if (share > 0) {
      AddShare(*device.value, sums.not_zero);
    }
    for (const PodName& workload : device.workloads) {
      InUseSum& sum = sums.workloads[workload];
      if (counts) {
        AddShare(share, sum);
      }
    }
  }
  return sums;
}

InUse MergeReading(const PrometheusReading& reading, Instant now,
                   std::chrono::milliseconds withdraw_after) {
  InUse in_use;
  for (size_t i = 0; i < kInUseMeasureCount; ++i) {
    const PrometheusReading::Measure& measure = reading.measures[i];
    if (measure.sums == nullptr || now - measure.read_at > withdraw_after) {
      continue;
    }
    in_use.is_known[i] = true;
    in_use.all[i] = measure.sums->all;
    if (i == static_cast<size_t>(InUseMeasure::kMemoryCopy)) {
      in_use.memory_copy_percent = measure.sums->not_zero.mean().value_or(0);
    }
    for (const auto& [workload, sum] : measure.sums->workloads) {
      in_use.workloads[{workload.pod_namespace, workload.name}][i] = sum;
    }
  }
  return in_use;
}

PrometheusReader::PrometheusReader(PrometheusOptions options, const Files& files, Resolver resolve,
                                   Clock& clock, Wakeup& tick)
    : options_(std::move(options)),
      clock_(clock),
      tick_(tick),
      client_(options_.of_client(), files, std::move(resolve), clock) {
  published_.Set(std::make_shared<const PrometheusReading>());
}

void PrometheusReader::Run(const std::stop_token& stop) {
  if (!options_.url) {
    return;
  }
  const std::stop_callback wake(stop, [this] { client_.Interrupt(); });
  while (!stop.stop_requested()) {
    const Instant next = clock_.Now() + options_.interval;
    AskAll(stop);
    published_.Set(std::make_shared<const PrometheusReading>(current_));
    tick_.Nudge();
    while (!stop.stop_requested() && clock_.Now() < next) {
      client_.Wait(next);
    }
  }
}

void PrometheusReader::AskAll(const std::stop_token& stop) {
  client_.Prepare();
  PrometheusReply reply;
  for (size_t i = 0; i < kInUseMeasureCount && !stop.stop_requested(); ++i) {
    const auto measure = static_cast<InUseMeasure>(i);
    // A server that hangs or is down is not queried for the other measures in this round.
    if (!reply.is_gone) {
      reply = client_.Ask(
          std::string(kQueryPath) + PercentEncode(PrometheusQuery(measure, options_.matchers)),
          stop);
    }
    if (!stop.stop_requested()) {
      Take(measure, reply);
    }
  }
}

void PrometheusReader::Take(InUseMeasure measure, PrometheusReply reply) {
  const auto place = static_cast<size_t>(measure);
  if (IsGood(reply.result)) {
    reply.result = TakeBody(measure, reply.body, reply.detail);
  }
  current_.measures[place].last = reply.result;
  ++current_.queries[static_cast<size_t>(reply.result)];
  const FailureChange change = failures_[place].Take(reply, clock_.Now());
  if (change != FailureChange::kNone) {
    const bool fails = change == FailureChange::kFails;
    Log(fails ? LogLevel::kWarn : LogLevel::kInfo,
        fails ? "query to Prometheus failed" : "Prometheus answers again",
        {{"measure", std::string(InUseMeasureName(measure))},
         {"detail", fails ? reply.detail : "before: " + current_.detail}});
  }
  const bool all_good = std::ranges::all_of(
      current_.measures, [](const auto& one) { return !one.last || IsGood(*one.last); });
  if (!reply.detail.empty() || all_good) {
    current_.detail = std::move(reply.detail);
  }
}

FetchResult PrometheusReader::TakeBody(InUseMeasure measure, std::string_view body,
                                       std::string& detail) {
  const StatusOr<std::vector<AnsweredSeries>> series = ReadPrometheusAnswer(body);
  if (!series.ok()) {
    detail = std::string(series.status().message());
    return FetchResult::kNotUnderstood;
  }
  const auto is_exported = [](const AnsweredSeries& one) { return !one.exported_pod.name.empty(); };
  prefers_exported_ = prefers_exported_ || std::ranges::any_of(*series, is_exported);
  PrometheusReading::Measure& known = current_.measures[static_cast<size_t>(measure)];
  known.sums = std::make_shared<const MeasureSums>(
      SumSeries(*series, measure, options_.meaning, prefers_exported_));
  known.read_at = clock_.Now();
  return FetchResult::kOk;
}

}  // namespace podgpu
