// The metrics of both APIs: their names, and what each of them is.
//
// docs/metrics-api.md describes them; a test compares it with these tables. Plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace podgpu {

// Metrics of external.metrics.k8s.io, one number for each question.
enum class ExternalMetric : uint8_t {
  kAverageUtilization,
  kIdlePods,
  kFreeGpus,
  kMemoryUsed,
  kPower,
};
inline constexpr size_t kExternalMetricCount = 5;

// Metrics of pods, of custom.metrics.k8s.io.
enum class PodMetric : uint8_t { kUtilization, kSmActive, kMemoryUsed, kPower, kEnergyRate };
inline constexpr size_t kPodMetricCount = 5;

template <typename Metric>
struct MetricName {
  Metric metric;
  std::string_view name;
};

// Return the metrics in the order of the enumerations.
std::span<const MetricName<ExternalMetric>> ExternalMetrics();
std::span<const MetricName<PodMetric>> PodMetrics();

std::optional<ExternalMetric> FindExternalMetric(std::string_view name);
std::optional<PodMetric> FindPodMetric(std::string_view name);

}  // namespace podgpu
