// The self-made certificate of the metrics API: an authority of its own and a certificate for the
// Service, made at the start and again before they expire.
//
// The keys (ECDSA P-256) exist in memory only. The authority is the one that goes into the
// APIService objects (ca_bundle.h). Pure, except for the random source; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// The Service in front of the metrics API: --metrics-api-service.
struct MetricsService {
  std::string name;
  std::string name_space;
  bool operator==(const MetricsService&) const = default;
};
// Parses NAME.NAMESPACE.
StatusOr<MetricsService> ParseMetricsService(std::string_view text);

inline constexpr int64_t kServingLifeS = int64_t{30} * 24 * 3'600;

struct ServingPair {
  std::string authority;    // PEM.
  std::string certificate;  // PEM.
  std::string key;          // PEM.
  int64_t begins_s = 0;     // Start, since 1970; the certificate is valid from an hour before.
  int64_t expires_s = 0;
};
// kInternal when OpenSSL fails.
StatusOr<ServingPair> MakeServingPair(const MetricsService& service, int64_t now_s);

}  // namespace podgpu
