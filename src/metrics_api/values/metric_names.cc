#include "metrics_api/values/metric_names.h"

#include <algorithm>
#include <iterator>

namespace podgpu {
namespace {

constexpr MetricName<ExternalMetric> kExternalMetrics[] = {
    {ExternalMetric::kAverageUtilization, "avg_gpu_utilization"},
    {ExternalMetric::kIdlePods, "gpu_idle_pods"},
    {ExternalMetric::kFreeGpus, "gpu_free"},
    {ExternalMetric::kMemoryUsed, "gpu_memory_used_bytes"},
    {ExternalMetric::kPower, "gpu_power_watts"},
};
static_assert(std::size(kExternalMetrics) == kExternalMetricCount);

constexpr MetricName<PodMetric> kPodMetrics[] = {
    {PodMetric::kUtilization, "gpu_utilization"},      {PodMetric::kSmActive, "gpu_sm_active"},
    {PodMetric::kMemoryUsed, "gpu_memory_used_bytes"}, {PodMetric::kPower, "gpu_power_watts"},
    {PodMetric::kEnergyRate, "gpu_energy_rate_watts"},
};
static_assert(std::size(kPodMetrics) == kPodMetricCount);

template <typename Metric>
std::optional<Metric> FindMetric(std::span<const MetricName<Metric>> rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &MetricName<Metric>::name);
  return found == rows.end() ? std::nullopt : std::optional(found->metric);
}

}  // namespace

std::span<const MetricName<ExternalMetric>> ExternalMetrics() { return kExternalMetrics; }
std::span<const MetricName<PodMetric>> PodMetrics() { return kPodMetrics; }

std::optional<ExternalMetric> FindExternalMetric(std::string_view name) {
  return FindMetric(ExternalMetrics(), name);
}
std::optional<PodMetric> FindPodMetric(std::string_view name) {
  return FindMetric(PodMetrics(), name);
}

}  // namespace podgpu
