// What the metrics API has counted since its start, and its state: the input of the families and of
// the verdict about it.
//
// The HTTP thread counts, any thread reads. Plain data.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "metrics_api/access/authority_writer.h"
#include "metrics_api/access/follow.h"
#include "metrics_api/access/reviewer.h"

namespace podgpu {

// The statuses that the metrics API sends.
inline constexpr std::array<int, 8> kMetricsCodes = {200, 400, 401, 403, 404, 405, 429, 503};

// Why a request was refused before it was answered. The words are values of the label `reason`.
enum class RefusalReason : uint8_t {
  kNoCredentials,  // Neither certificate nor token.
  // The certificate is expired, or it is not of a trusted authority or not of the front proxy.
  kBadCertificate,
  kBadToken,        // The API server does not know the token.
  kForbidden,       // The caller may not do this.
  kNotReady,        // It is not known yet who is trusted.
  kReviewFailed,    // The API server did not answer the review.
  kTooManyWaiting,  // Too many callers wait for a review.
};
inline constexpr std::array<std::string_view, 7> kRefusalReasons = {
    "no_credentials", "bad_certificate", "bad_token",       "forbidden",
    "not_ready",      "review_failed",   "too_many_waiting"};

struct MetricsTally {
  std::array<std::atomic<uint64_t>, kMetricsCodes.size()> requests{};
  std::array<std::atomic<uint64_t>, kRefusalReasons.size()> refused{};

  void CountCode(int code);
  // Returns whether it is the first one with this reason.
  bool Count(RefusalReason reason) { return refused[static_cast<size_t>(reason)]++ == 0; }
};

// The state of the metrics API at one moment.
struct MetricsApiFacts {
  std::array<uint64_t, kMetricsCodes.size()> requests{};
  std::array<uint64_t, kRefusalReasons.size()> refused{};
  WatchFacts callers, pod_labels;
  std::optional<WatchFacts> node_labels;  // Absent without --metrics-api-node-labels.
  ReviewerFacts reviewer;
  std::optional<AuthorityFacts> authority;  // Absent with certificate files.
  int64_t certificate_expires_s = 0;
  bool certificate_is_old = false;  // The changed files cannot be used.
  bool has_table = false;
  size_t window_points = 0, window_bytes = 0;
  uint64_t failed_handshakes = 0;
};

// The verdict of /readyz of the metrics API.
struct MetricsApiVerdict {
  bool is_ready = false;
  bool has_fault = false;  // Something must be repaired, even if it is ready.
  std::string text;
};
MetricsApiVerdict JudgeMetricsApi(const MetricsApiFacts& facts);

}  // namespace podgpu
