#include <algorithm>

#include "cluster/cluster_row.h"

namespace podgpu {
namespace {

void PushNumber(uint64_t number, std::vector<Value>& slots) {
  slots.push_back(Value::OfInt64(static_cast<int64_t>(number)));
}

// One line without labels while the metrics API is on.
FactLabels ApiLine(const ClusterFacts& facts) {
  return facts.metrics_api == nullptr ? FactLabels() : FactLabels{{}};
}

// Writes `number` while the metrics API is on.
template <uint64_t (*kNumber)(const MetricsApiFacts& facts)>
void WriteApi(const ClusterFacts& facts, std::vector<Value>& slots) {
  if (facts.metrics_api != nullptr) {
    PushNumber(kNumber(*facts.metrics_api), slots);
  }
}

FactLabels ApiCodes(const ClusterFacts& facts) {
  FactLabels sets;
  for (size_t i = 0; facts.metrics_api != nullptr && i < kMetricsCodes.size(); ++i) {
    sets.push_back({{"code", std::to_string(kMetricsCodes[i])}});
  }
  return sets;
}

FactLabels ApiReasons(const ClusterFacts& facts) {
  FactLabels sets;
  for (size_t i = 0; facts.metrics_api != nullptr && i < kRefusalReasons.size(); ++i) {
    sets.push_back({{"reason", std::string(kRefusalReasons[i])}});
  }
  return sets;
}

void WriteApiRequests(const ClusterFacts& facts, std::vector<Value>& slots) {
  if (facts.metrics_api != nullptr) {
    std::ranges::for_each(facts.metrics_api->requests,
                          [&](uint64_t count) { PushNumber(count, slots); });
  }
}

void WriteApiRefusals(const ClusterFacts& facts, std::vector<Value>& slots) {
  if (facts.metrics_api != nullptr) {
    std::ranges::for_each(facts.metrics_api->refused,
                          [&](uint64_t count) { PushNumber(count, slots); });
  }
}

FactLabels ApiWatches(const ClusterFacts& facts) {
  FactLabels sets;
  if (facts.metrics_api != nullptr) {
    sets = {{{"what", "callers"}}, {{"what", "pod_labels"}}};
    if (facts.metrics_api->node_labels) {
      sets.push_back({{"what", "node_labels"}});
    }
  }
  return sets;
}

void WriteApiWatches(const ClusterFacts& facts, std::vector<Value>& slots) {
  if (facts.metrics_api == nullptr) {
    return;
  }
  PushNumber(facts.metrics_api->callers.is_ok ? 1 : 0, slots);
  PushNumber(facts.metrics_api->pod_labels.is_ok ? 1 : 0, slots);
  const std::optional<WatchFacts>& node_labels = facts.metrics_api->node_labels;
  if (node_labels) {
    PushNumber(node_labels->is_ok ? 1 : 0, slots);
  }
}

FactLabels ApiReviews(const ClusterFacts& facts) {
  FactLabels sets;
  if (facts.metrics_api != nullptr) {
    for (const char* const kind : {"token", "access"}) {
      for (const char* const result : {"granted", "denied", "failed"}) {
        sets.push_back({{"kind", kind}, {"result", result}});
      }
    }
  }
  return sets;
}

void WriteApiReviews(const ClusterFacts& facts, std::vector<Value>& slots) {
  if (facts.metrics_api == nullptr) {
    return;
  }
  const ReviewerFacts& reviewer = facts.metrics_api->reviewer;
  for (size_t kind = 0; kind < reviewer.granted.size(); ++kind) {
    for (const auto* counts : {&reviewer.granted, &reviewer.denied, &reviewer.failed}) {
      PushNumber((*counts)[kind], slots);
    }
  }
}

FactLabels ApiServiceStates(const ClusterFacts& facts) {
  FactLabels sets;
  if (facts.metrics_api == nullptr || !facts.metrics_api->authority) {
    return sets;
  }
  for (const std::string_view object : kApiServices) {
    for (size_t i = 0; i < kApiServiceStateCount; ++i) {
      sets.push_back(
          {{"apiservice", std::string(object)},
           {"state", std::string(ApiServiceStateName(static_cast<ApiServiceState>(i)))}});
    }
  }
  return sets;
}

void WriteApiServiceStates(const ClusterFacts& facts, std::vector<Value>& slots) {
  if (facts.metrics_api == nullptr || !facts.metrics_api->authority) {
    return;
  }
  for (const ApiServiceState state : facts.metrics_api->authority->states) {
    for (size_t i = 0; i < kApiServiceStateCount; ++i) {
      PushNumber(static_cast<size_t>(state) == i ? 1 : 0, slots);
    }
  }
}

uint64_t IsApiReady(const MetricsApiFacts& facts) {
  return JudgeMetricsApi(facts).is_ready ? 1 : 0;
}
uint64_t AreReviewsUp(const MetricsApiFacts& facts) { return facts.reviewer.is_ok ? 1 : 0; }
uint64_t CertificateExpiry(const MetricsApiFacts& facts) {
  return static_cast<uint64_t>(std::max<int64_t>(facts.certificate_expires_s, 0));
}
uint64_t IsCertificateOld(const MetricsApiFacts& facts) { return facts.certificate_is_old ? 1 : 0; }
uint64_t WindowSamples(const MetricsApiFacts& facts) { return facts.window_points; }
uint64_t WindowBytes(const MetricsApiFacts& facts) { return facts.window_bytes; }
uint64_t FailedHandshakes(const MetricsApiFacts& facts) { return facts.failed_handshakes; }

constexpr ClusterRow kMetricsApiRows[] = {
    {"podgpu_metrics_api_ready", "gauge", "", "1 when the metrics API can answer, as its /readyz.",
     ApiLine, WriteApi<IsApiReady>},
    {"podgpu_metrics_api_requests_total", "counter", "",
     "Answers of the metrics API, by HTTP status; probes included.", ApiCodes, WriteApiRequests},
    {"podgpu_metrics_api_refused_total", "counter", "",
     "Requests that the metrics API refused because of their caller, by reason.", ApiReasons,
     WriteApiRefusals},
    {"podgpu_metrics_api_watch_up", "gauge", "",
     "1 while the metrics API follows this at the API server, else 0: then the last state stays.",
     ApiWatches, WriteApiWatches},
    {"podgpu_metrics_api_reviews_up", "gauge", "",
     "1 when the API server answered the last review of a caller, else 0.", ApiLine,
     WriteApi<AreReviewsUp>},
    {"podgpu_metrics_api_reviews_total", "counter", "",
     "Reviews by the API server, of tokens and of accesses, by result.", ApiReviews,
     WriteApiReviews},
    {"podgpu_metrics_api_apiservice_state", "gauge", "",
     "1 for the state of each APIService object, else 0; only with a self-made certificate.",
     ApiServiceStates, WriteApiServiceStates},
    {"podgpu_metrics_api_certificate_expiry_timestamp_seconds", "gauge", "seconds",
     "When the certificate of the metrics API expires, since 1970.", ApiLine,
     WriteApi<CertificateExpiry>},
    {"podgpu_metrics_api_certificate_reload_failed", "gauge", "",
     "1 while the changed certificate files cannot be used and the previous ones are in use.",
     ApiLine, WriteApi<IsCertificateOld>},
    {"podgpu_metrics_api_failed_handshakes_total", "counter", "",
     "TLS handshakes with the metrics API that failed.", ApiLine, WriteApi<FailedHandshakes>},
    {"podgpu_metrics_api_window_samples", "gauge", "",
     "Samples of devices in the window of the metrics API.", ApiLine, WriteApi<WindowSamples>},
    {"podgpu_metrics_api_window_bytes", "gauge", "bytes",
     "Memory of the window and of its newest table.", ApiLine, WriteApi<WindowBytes>},
};

}  // namespace

std::span<const ClusterRow> MetricsApiRows() { return kMetricsApiRows; }

}  // namespace podgpu
