#include "metrics_api/values/use_window.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace podgpu {
namespace {

constexpr size_t kUtilizationSample = kAveragedMeasureCount;
constexpr size_t kPowerSample = kAveragedMeasureCount + 1;
constexpr float kNoSample = std::numeric_limits<float>::quiet_NaN();

bool HaveTheSamePods(const DeviceUse& a, const DeviceUse& b) {
  return a.hidden_owners == b.hidden_owners &&
         std::ranges::equal(
             a.owners, b.owners, [](const ReportedOwner& one, const ReportedOwner& other) {
               return one.pod == other.pod && one.pod_namespace == other.pod_namespace;
             });
}

std::string InstanceId(const ReportedGpu& gpu, const ReportedInstance& instance) {
  return gpu.uuid + "/" + std::to_string(instance.gpu_instance_id);
}

}  // namespace

// A step has one sample; the newest of its samples counts. Of those before the window the newest
// stays: energy grows from it.
template <typename AnyPoint>
void UseWindow::Append(AnyPoint point, std::vector<AnyPoint>& points) const {
  if (!points.empty() && points.back().read_ms > point.read_ms) {
    if (points.back().read_ms - point.read_ms <= kWindowStepMs) {
      return;  // A correction of this machine's clock.
    }
    points.clear();  // The clock was set back: the samples seem to be of the future.
  }
  if (!points.empty() && points.back().read_ms / kWindowStepMs == point.read_ms / kWindowStepMs) {
    points.back() = std::move(point);
  } else {
    points.push_back(std::move(point));
  }
  // The window of a table may end a step before the newest sample.
  const int64_t begin_ms = points.back().read_ms - kWindowStepMs - options_.length.count();
  const auto in_window = std::ranges::upper_bound(points, begin_ms, {}, &AnyPoint::read_ms);
  if (in_window - points.begin() > 1) {
    points.erase(points.begin(), in_window - 1);
  }
}

UseWindow::Point UseWindow::PointOf(const DeviceUse& use, int64_t read_ms) const {
  Point point;
  point.read_ms = read_ms;
  point.samples.fill({kNoSample, 0});
  const auto take = [&](size_t index, double value, uint32_t age_ms) {
    point.samples[index] = {static_cast<float>(value), age_ms};
  };
  // Returns the age of the oldest sample of those that a share is made of.
  const auto age_of = [&](std::initializer_list<UseMeasure> measures) {
    uint32_t age_ms = 0;
    for (const UseMeasure measure : measures) {
      age_ms = std::max(age_ms, use.of(measure) ? use.of(measure)->age_ms : 0);
    }
    return age_ms;
  };
  const uint32_t ages_ms[kAveragedMeasureCount] = {
      age_of({UseMeasure::kMemoryCopy}), age_of({UseMeasure::kSmActive}),
      age_of({UseMeasure::kTensorActive}),
      age_of({UseMeasure::kMemoryUsed, UseMeasure::kMemoryTotal})};
  for (size_t i = 0; i < kAveragedMeasureCount; ++i) {
    if (const auto share = options_.share_of(use, static_cast<AveragedMeasure>(i))) {
      take(i, *share, ages_ms[i]);
      const std::optional<bool> in_use = options_.is_in_use(use, *share);
      const int flag = !in_use ? kFirstUnknown << i : *in_use ? kFirstInUse << i : 0;
      point.flags = static_cast<uint16_t>(point.flags | flag);
    }
  }
  if (const auto& busy = use.of(UseMeasure::kUtilization)) {
    take(kUtilizationSample, busy->value, busy->age_ms);
  }
  if (const auto& power = use.of(UseMeasure::kPower)) {
    take(kPowerSample, power->value, power->age_ms);
  }
  if (const auto& memory = use.of(UseMeasure::kMemoryUsed)) {
    point.memory_bytes = memory->value;
    point.memory_age_ms = memory->age_ms;
  }
  if (const std::optional<bool> idle = options_.does_nothing(use)) {
    point.flags = static_cast<uint16_t>(point.flags | kIdleIsKnown | (*idle ? kIsIdle : 0));
  }
  return point;
}

// Moves the samples of the same device from `before`; the order of devices rarely changes.
void UseWindow::AddDevice(const ReportedGpu& gpu, const DeviceUse& use, std::string id,
                          int64_t read_ms, std::vector<Device>& before, Node& node) const {
  Device device;
  const size_t index = node.devices.size();
  auto known = before.end();
  if (index < before.size() && before[index].id == id) {
    known = before.begin() + static_cast<std::ptrdiff_t>(index);
  } else {
    known = std::ranges::find(before, id, &Device::id);
  }
  if (known != before.end()) {
    device = std::move(*known);
    if (!HaveTheSamePods(*device.use, use)) {
      device.points.clear();
    }
  }
  device.id = std::move(id);
  device.gpu = &gpu;
  device.use = &use;
  Append(PointOf(use, read_ms), device.points);
  std::vector<PodSeries> pods;
  for (const ReportedPodUse& pod : use.pods) {
    PodSeries series;
    const auto same = std::ranges::find_if(device.pods, [&](const PodSeries& one) {
      return one.pod == pod.pod && one.pod_namespace == pod.pod_namespace;
    });
    if (same != device.pods.end()) {
      series = std::move(*same);
    }
    series.pod_namespace = pod.pod_namespace;
    series.pod = pod.pod;
    Append(PodPoint{.read_ms = read_ms,
                    .energy_joules = pod.energy_joules.value_or(-1),
                    .memory_bytes = pod.memory_bytes ? static_cast<double>(*pod.memory_bytes) : -1,
                    .sm_percent = static_cast<float>(pod.sm_percent.value_or(-1))},
           series.points);
    pods.push_back(std::move(series));
  }
  device.pods = std::move(pods);
  node.devices.push_back(std::move(device));
}

void UseWindow::TakeReport(const WindowNode& taken, Node& node) const {
  std::vector<Device> before = std::move(node.devices);
  node.devices.clear();
  for (const ReportedGpu& gpu : taken.report->gpus) {
    AddDevice(gpu, gpu.use, gpu.uuid, taken.read_ms, before, node);
    for (const ReportedInstance& instance : gpu.instances) {
      AddDevice(gpu, instance.use, InstanceId(gpu, instance), taken.read_ms, before, node);
    }
  }
  node.report = taken.report;
  node.read_ms = taken.read_ms;
}

void UseWindow::Take(std::span<const WindowNode> nodes, AbsentNodes absent) {
  absent_ = std::move(absent);
  ++round_;
  for (const WindowNode& taken : nodes) {
    Node& node = nodes_[taken.report->node];
    if (node.round == round_) {
      continue;  // The second of two nodes with one name.
    }
    node.round = round_;
    // The same reading may seem moved by a correction of the clock.
    constexpr int64_t kSameReadingMs = 500;
    if (node.report != taken.report || std::abs(node.read_ms - taken.read_ms) >= kSameReadingMs) {
      TakeReport(taken, node);
    }
  }
  std::erase_if(nodes_, [this](const auto& entry) { return entry.second.round != round_; });
}

size_t UseWindow::points() const {
  size_t count = 0;
  for (const auto& [name, node] : nodes_) {
    for (const Device& device : node.devices) {
      count += device.points.size();
    }
  }
  return count;
}

size_t UseWindow::bytes() const {
  size_t bytes = 0;
  for (const auto& [name, node] : nodes_) {
    bytes += sizeof node + node.devices.capacity() * sizeof(Device);
    for (const Device& device : node.devices) {
      bytes += device.id.capacity() + device.points.capacity() * sizeof(Point) +
               device.pods.capacity() * sizeof(PodSeries);
      for (const PodSeries& pod : device.pods) {
        bytes += pod.points.capacity() * sizeof(PodPoint);
      }
    }
  }
  return bytes;
}

}  // namespace podgpu
