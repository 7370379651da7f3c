#include "tests/autoscaling/scaling_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "cluster/metrics_feed.h"
#include "metrics_api/values/metric_question.h"
#include "metrics_api/values/use_window.h"
#include "pages/node_page.h"
#include "tests/autoscaling/horizontal_autoscaler.h"
#include "tests/energy/process_node.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr seconds kReading{15};
constexpr seconds kWindow{60};
constexpr uint16_t kMemoryCopyField = 204;
constexpr int64_t kBeginMs = 1'800'000'000'000;
constexpr double kPercent = 100;

double LoadAt(seconds at) {
  constexpr auto kPoints = std::to_array<std::pair<seconds, double>>(
      {{kRises, kLowLoad}, {kIsHigh, kHighLoad}, {kFalls, kHighLoad}, {kIsLow, kLowLoad}});
  if (at <= kPoints.front().first) {
    return kLowLoad;
  }
  for (size_t i = 1; i < kPoints.size(); ++i) {
    const auto& [from, low] = kPoints[i - 1];
    const auto& [until, high] = kPoints[i];
    if (at <= until) {
      return low + (high - low) * static_cast<double>((at - from).count()) /
                       static_cast<double>((until - from).count());
    }
  }
  return kLowLoad;
}

// A node with `replicas` pods of the Deployment, each with this utilisation.
std::string ScenarioOf(int replicas, int percent) {
  std::string text =
      "format: 1\nname: scaled\nseed: 9\nnoise_mw: 0\n"
      "gpus: [{count: 8, class: h100-sxm5-80gb}]\npods:\n";
  for (int i = 0; i < replicas; ++i) {
    const std::string number = std::to_string(i);
    const std::string load = std::to_string(percent) + "%";
    text += "  - {name: llm-" + number + ", namespace: serving, containers: [{name: main, gpus: [" +
            number + "], processes: [{pid: " + std::to_string(4'100 + i) + ", load: {sm: " + load +
            ", mem: " + load + "}, memory: 20GiB}]}]}\n";
  }
  return text;
}

// The reports of nodes by replicas and utilisation.
class Reports {
 public:
  std::shared_ptr<const NodeReport> Of(int replicas, int percent) {
    const auto [at, is_new] = reports_.try_emplace({replicas, percent});
    if (is_new) {
      NodeDevices devices;
      devices.fields = {kMemoryCopyField};
      devices.by_dcgm = true;  // The end of NVML's wait for events would take half a second.
      devices.period = std::chrono::milliseconds(kReading);
      ProcessNode node(ScenarioOf(replicas, percent), {}, devices);
      node.Pass(kReading);
      const std::string name = "gpu-node-1";
      const VisibleNamespaces visible;
      at->second = MakeNodeReport({node.page(), node.condition(), name, visible});
    }
    return std::make_shared<const NodeReport>(at->second);
  }

 private:
  std::map<std::pair<int, int>, NodeReport> reports_;
};

// The mean over all GPUs, in use or not.
double MeanOverAll(const std::deque<std::shared_ptr<const NodeReport>>& reports) {
  double sum = 0;
  double count = 0;
  for (const auto& report : reports) {
    for (const ReportedGpu& gpu : report->gpus) {
      sum += gpu.use.of(UseMeasure::kMemoryCopy).value_or(UseValue{}).value;
      ++count;
    }
  }
  return sum / count;
}

}  // namespace

std::vector<ScalingStep> RunScaling(ScalingSignal signal) {
  AutoscalerOptions options;
  options.target = kScalingTarget;
  options.most = kScalingMost;
  options.down_window = kScalingDownWindow;
  HorizontalAutoscaler autoscaler(options, 1);
  WindowOptions of_window;
  of_window.length = kWindow;
  UseWindow window(MetricsWindowOf(of_window, InUseMeaning::kValue));
  Reports reports;
  std::deque<std::shared_ptr<const NodeReport>> recent;
  std::vector<ScalingStep> steps;
  for (seconds at{0}; at <= kScalingEnds; at += kReading) {
    const double load = LoadAt(at);
    const int replicas = autoscaler.replicas();
    const int busy = static_cast<int>(std::lround(std::min(1.0, load / replicas) * kPercent));
    recent.push_back(reports.Of(replicas, busy));
    if (recent.size() > static_cast<size_t>(kWindow / kReading)) {
      recent.pop_front();
    }
    const int64_t now_ms = kBeginMs + std::chrono::milliseconds(at).count();
    const WindowNode node{recent.back(), now_ms - 1};
    window.Take({&node, 1});
    double value = MeanOverAll(recent);
    if (signal == ScalingSignal::kInUse) {
      const StatusOr<TimedValue> answer =
          AskExternal(*window.MakeTable(now_ms, kWindow, nullptr),
                      ExternalMetric::kAverageUtilization, "serving", LabelSelector());
      PODGPU_CHECK(answer.ok());
      value = answer->value;
    }
    steps.push_back({at, load, replicas, busy, value, autoscaler.Sync(at, value)});
  }
  return steps;
}

}  // namespace podgpu
