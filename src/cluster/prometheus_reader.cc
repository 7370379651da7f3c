#include "cluster/prometheus_reader.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "base/text.h"
#include "exposition/gzip.h"

namespace podgpu {
namespace {

constexpr std::string_view kQueryPath = "/api/v1/query?query=";

// How to compute a measure from the families of dcgm-exporter.
struct MeasureQuery {
  std::string_view text;  // PromQL; $NAME$ stands for `max by (...) (NAME{...})`.
  double most;            // Larger values are wrong and ignored.
  bool of_instances;      // GPUs in MIG mode have it for each instance.
};
constexpr MeasureQuery kMeasureQueries[] = {
    {"$DCGM_FI_DEV_MEM_COPY_UTIL$", 100, false},
    {"$DCGM_FI_PROF_SM_ACTIVE$", 1, true},
    {"$DCGM_FI_PROF_PIPE_TENSOR_ACTIVE$", 1, true},
    {"$DCGM_FI_DEV_FB_USED$ / ($DCGM_FI_DEV_FB_USED$ + $DCGM_FI_DEV_FB_FREE$ + "
     "($DCGM_FI_DEV_FB_RESERVED$ or 0 * $DCGM_FI_DEV_FB_USED$))",
     1, true},
};
static_assert(std::size(kMeasureQueries) == kInUseMeasureCount);

const MeasureQuery& QueryOf(InUseMeasure measure) {
  return kMeasureQueries[static_cast<size_t>(measure)];
}

// Encodes everything except the unreserved characters of RFC 3986.
std::string PercentEncoded(std::string_view text) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string encoded;
  for (const char byte : text) {
    if (kUnreserved.find(byte) != std::string_view::npos) {
      encoded += byte;
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<unsigned char>(byte));
    }
  }
  return encoded;
}

// A GPU or an instance of one, with the values of all its series.
struct AnsweredDevice {
  std::optional<double> value;
  std::set<PodName> workloads;
};

// By GPU and instance.
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

std::string_view RemedyOf(int status) {
  switch (status) {
    case 401:
    case 403:
      return ": Prometheus requires a password, certificate or tenant; set --in-use-web-config or "
             "--in-use-tenant";
    case 404:
      return ": check whether the address needs a path, such as /prometheus";
    default:
      return "";
  }
}

}  // namespace

StatusOr<PrometheusUrl> ParsePrometheusUrl(std::string_view text) {
  constexpr std::string_view kPlainScheme = "http://";
  constexpr std::string_view kTlsScheme = "https://";
  constexpr uint16_t kPlainPort = 80;
  constexpr uint16_t kTlsPort = 443;
  PrometheusUrl url;
  url.is_tls = text.starts_with(kTlsScheme);
  if (!url.is_tls && !text.starts_with(kPlainScheme)) {
    return absl::InvalidArgumentError("must be http://HOST:PORT or https://HOST:PORT, with a path");
  }
  text.remove_prefix(url.is_tls ? kTlsScheme.size() : kPlainScheme.size());
  const std::string_view authority = text.substr(0, text.find('/'));
  if (authority.find('@') != std::string_view::npos) {
    return absl::InvalidArgumentError(
        "must not contain a password; write it into the file of --in-use-web-config");
  }
  std::string_view prefix = text.substr(authority.size());
  if (prefix.find_first_of("?# ") != std::string_view::npos) {
    return absl::InvalidArgumentError("must end with its path; podgpu appends the query");
  }
  while (prefix.ends_with('/')) {
    prefix.remove_suffix(1);
  }
  url.prefix = prefix;
  PODGPU_ASSIGN_OR_RETURN(url.server, ParseHostAndPort(authority));
  if (authority.ends_with(']') || authority.find(':') == std::string_view::npos) {
    url.server.port = url.is_tls ? kTlsPort : kPlainPort;
  }
  return url;
}

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
      resolve_(std::move(resolve)),
      clock_(clock),
      tick_(tick),
      client_(options_.client),
      access_(options_.web_config, options_.url && options_.url->is_tls, files, clock) {
  published_.Set(std::make_shared<const PrometheusReading>());
}

void PrometheusReader::Run(const std::stop_token& stop) {
  if (!options_.url) {
    return;
  }
  const std::stop_callback wake(stop, [this] { client_.Interrupt(); });
  while (!stop.stop_requested()) {
    const Instant next = clock_.Now() + options_.interval;
    access_.Refresh(client_);
    AskAll(stop);
    published_.Set(std::make_shared<const PrometheusReading>(current_));
    tick_.Nudge();
    while (!stop.stop_requested() && clock_.Now() < next) {
      client_.Run(next);
    }
  }
}

void PrometheusReader::AskAll(const std::stop_token& stop) {
  const StatusOr<std::vector<std::string>> ips = resolve_(options_.url->server.host);
  StatusOr<HttpAnswer> answer = absl::UnavailableError(
      ips.ok() ? Quoted(options_.url->server.host) + " has no address" : ips.status().message());
  bool is_there = ips.ok() && !ips->empty();
  for (size_t i = 0; i < kInUseMeasureCount && !stop.stop_requested(); ++i) {
    const auto measure = static_cast<InUseMeasure>(i);
    if (is_there) {
      answer = Ask(measure, ips->front(), stop);
      // A server that hangs or is down is not queried for the other measures in this round.
      is_there = answer.ok() || !(absl::IsDeadlineExceeded(answer.status()) ||
                                  absl::IsUnavailable(answer.status()));
    }
    if (!stop.stop_requested()) {
      Take(measure, answer);
    }
  }
}

StatusOr<HttpAnswer> PrometheusReader::Ask(InUseMeasure measure, const std::string& ip,
                                           const std::stop_token& stop) {
  const PrometheusUrl& url = *options_.url;
  const NodeWebAccess& access = access_.access();
  HttpQuestion question;
  question.ip = ip;
  question.port = url.server.port;
  question.host = ToString(url.server);
  question.path = absl::StrFormat("%s%s%s", url.prefix, kQueryPath,
                                  PercentEncoded(PrometheusQuery(measure, options_.matchers)));
  question.certificate_name = access.server_name.empty() ? url.server.host : access.server_name;
  question.authorization = access.authorization;
  if (!options_.tenant.empty()) {
    question.headers.emplace_back("X-Scope-OrgID", options_.tenant);
  }
  std::optional<StatusOr<HttpAnswer>> answer;
  client_.Ask(std::move(question),
              [&answer](StatusOr<HttpAnswer> received) { answer = std::move(received); });
  const Instant limit = clock_.Now() + options_.client.deadline + std::chrono::seconds(1);
  while (!answer && !stop.stop_requested()) {
    client_.Run(limit);
  }
  return answer ? *std::move(answer) : StatusOr<HttpAnswer>(absl::CancelledError("it ends"));
}

void PrometheusReader::Take(InUseMeasure measure, const StatusOr<HttpAnswer>& answer) {
  PrometheusReading::Measure& known = current_.measures[static_cast<size_t>(measure)];
  const bool was_good = !known.last || IsGood(*known.last);
  std::string detail;
  const FetchResult result = Judge(measure, answer, detail);
  known.last = result;
  ++current_.queries[static_cast<size_t>(result)];
  if (was_good != IsGood(result)) {
    Log(was_good ? LogLevel::kWarn : LogLevel::kInfo,
        was_good ? "query to Prometheus failed" : "Prometheus answers again",
        {{"measure", std::string(InUseMeasureName(measure))},
         {"detail", was_good ? detail : "before: " + current_.detail}});
  }
  const bool all_good = std::ranges::all_of(
      current_.measures, [](const auto& one) { return !one.last || IsGood(*one.last); });
  if (!detail.empty() || all_good) {
    current_.detail = std::move(detail);
  }
}

FetchResult PrometheusReader::Judge(InUseMeasure measure, const StatusOr<HttpAnswer>& answer,
                                    std::string& detail) {
  constexpr int kGood = 200;
  if (!answer.ok()) {
    detail = std::string(answer.status().message());
    return FetchResultOf(answer.status());
  }
  StatusOr<std::string> inflated = std::string();
  const bool is_gzip = answer->content_encoding == "gzip";
  if (is_gzip) {
    inflated = Inflate(answer->body, options_.client.max_body_bytes);
    if (!inflated.ok()) {
      detail = std::string(inflated.status().message());
      return absl::IsResourceExhausted(inflated.status()) ? FetchResult::kTooLarge
                                                          : FetchResult::kBroken;
    }
  }
  const std::string& body = is_gzip ? *inflated : answer->body;
  if (answer->status != kGood) {
    detail = absl::StrFormat("it answers %d %s%s", answer->status, PrometheusComplaint(body),
                             RemedyOf(answer->status));
    return FetchResult::kRefused;
  }
  return TakeBody(measure, body, detail);
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
