#include "metrics_api/testing/window_reports.h"

namespace podgpu {
namespace {

constexpr double kWhole = 100;

std::optional<double> TestShare(const DeviceUse& use, AveragedMeasure measure) {
  const UseMeasure of[] = {UseMeasure::kMemoryCopy, UseMeasure::kSmActive,
                           UseMeasure::kTensorActive, UseMeasure::kMemoryUsed};
  const std::optional<UseValue>& value = use.of(of[static_cast<size_t>(measure)]);
  if (!value) {
    return std::nullopt;
  }
  return measure == AveragedMeasure::kMemoryCopy ? value->value / kWhole : value->value;
}

std::optional<bool> TestIdle(const DeviceUse& use) {
  const std::optional<UseValue>& value = use.of(UseMeasure::kUtilization);
  return value ? std::optional(value->value < 1) : std::nullopt;
}

std::string_view TestWorkload(std::string_view pod) { return pod.substr(0, pod.rfind('-')); }

}  // namespace

WindowOptions TestWindowOptions() {
  WindowOptions options;
  options.share_of = TestShare;
  options.is_in_use = [](const DeviceUse&, double share) { return std::optional(share > 0); };
  options.does_nothing = TestIdle;
  options.workload_of = TestWorkload;
  return options;
}

ReportedGpu TestGpu(const std::string& uuid, const std::vector<std::string>& pods) {
  ReportedGpu gpu;
  gpu.uuid = uuid;
  gpu.model = "NVIDIA H100";
  gpu.state = "ok";
  for (const std::string& pod : pods) {
    const size_t slash = pod.find('/');
    gpu.use.owners.push_back(
        {pod.substr(0, slash), pod.substr(slash + 1), "main", "nvidia.com/gpu", ""});
  }
  return gpu;
}

void SetUse(DeviceUse& use, UseMeasure measure, double value, uint32_t age_ms) {
  use.values[static_cast<size_t>(measure)] = UseValue{value, age_ms};
}

WindowNode TestNode(const std::string& name, std::vector<ReportedGpu> gpus, int64_t read_ms) {
  auto report = std::make_shared<NodeReport>();
  report->node = name;
  report->owners_known = true;
  report->gpus = std::move(gpus);
  return {std::move(report), read_ms};
}

}  // namespace podgpu
