#include "sim/fleet/world.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "base/version.h"
#include "sim/fleet/plan.h"

namespace podgpu::sim {
namespace {

constexpr TimeUs kBetweenNodesUs = 7'300'000;
constexpr int64_t kMib = int64_t{1} << 20;
constexpr double kPpm = 1e6;
constexpr int kWholeGpu = DeviceRef{}.instance;

// By GPU and instance.
using OwnersByDevice = std::map<std::pair<int, int>, std::vector<ReportedOwner>>;

class OwnerCollector final : public PodVisitor {
 public:
  OwnerCollector(size_t node, size_t nodes) : node_(node), nodes_(nodes) {}

  void Pod(const PodFacts& pod) override {
    owner_.pod_namespace = pod.pod_namespace;
    owner_.pod = FleetPodName(pod.name, node_, nodes_);
  }
  void Container(const ContainerFacts& container) override { owner_.container = container.name; }
  void Device(const PodDevice& device) override {
    if (device.device.gpu < 0) {  // The instance no longer exists.
      return;
    }
    const bool is_claim = device.resource.find('/') == std::string_view::npos;
    owner_.resource = is_claim ? "" : device.resource;
    owner_.claim = is_claim ? device.resource : "";
    owners_[{device.device.gpu, device.device.instance}].push_back(owner_);
  }

  // Sorted and without duplicates: replicas of a shared device are one owner.
  std::vector<ReportedOwner> Of(int gpu, int instance) {
    std::vector<ReportedOwner>& owners = owners_[{gpu, instance}];
    std::ranges::sort(owners);
    const auto repeated = std::ranges::unique(owners);
    owners.erase(repeated.begin(), repeated.end());
    return std::move(owners);
  }

 private:
  const size_t node_;
  const size_t nodes_;
  ReportedOwner owner_;
  OwnersByDevice owners_;
};

// One node at one moment of the world.
class NodeReading {
 public:
  NodeReading(const World& world, size_t node, size_t nodes, TimeUs t)
      : world_(world), node_(node), t_(t), owners_(node, nodes) {
    world.VisitPods(t, owners_);
    for (int i = 0; i < world.process_count(t); ++i) {
      const ProcessFacts process = world.process(i, t);
      pids_[{process.device.gpu, process.device.instance}].insert(process.pid);
      pids_[{process.device.gpu, kWholeGpu}].insert(process.pid);
    }
  }

  ReportedGpu Gpu(int index) {
    const GpuFacts& facts = world_.gpu(index);
    ReportedGpu gpu;
    gpu.index = static_cast<uint32_t>(index);
    gpu.uuid = FleetUuid(facts.uuid, node_);
    gpu.model = facts.model;
    is_lost_ = world_.FaultAt(FaultKind::kGpuLost, index, t_) != nullptr;
    gpu.state = is_lost_ ? "lost" : "ok";
    gpu.use = Use({.gpu = index}, facts.memory_total_bytes);
    for (int i = 0; i < world_.instance_count(index, t_); ++i) {
      gpu.instances.push_back(Instance(index, i));
    }
    return gpu;
  }

 private:
  ReportedInstance Instance(int gpu, int index) {
    const GpuInstanceFacts facts = world_.instance(gpu, index, t_);
    ReportedInstance instance;
    instance.gpu_instance_id = static_cast<uint32_t>(facts.gpu_instance_id);
    instance.profile = facts.profile;
    for (int i = 0; i < world_.compute_count(gpu, index, t_); ++i) {
      instance.uuids.push_back(FleetUuid(world_.compute(gpu, index, i, t_).mig_uuid, node_));
    }
    instance.use = Use({.gpu = gpu, .instance = index}, facts.memory_total_bytes);
    return instance;
  }

  DeviceUse Use(DeviceRef device, int64_t memory_bytes) {
    DeviceUse use;
    use.owners = owners_.Of(device.gpu, device.instance);
    if (is_lost_) {
      return use;
    }
    use.processes = ProcessesOn(device);
    const auto set = [&use](UseMeasure measure, double value) {
      use.values[static_cast<size_t>(measure)] = UseValue{value, 0};
    };
    if (!world_.mig_enabled(device.gpu, t_)) {
      set(UseMeasure::kUtilization, world_.UtilizationPercent(Integral::kSmPpmUs, device, t_));
      set(UseMeasure::kMemoryCopy, world_.UtilizationPercent(Integral::kDramPpmUs, device, t_));
    }
    if (world_.has_profiling_module() || world_.gpu(device.gpu).has_gpm) {
      set(UseMeasure::kSmActive, Activity(Integral::kSmPpmUs, device));
      set(UseMeasure::kTensorActive, Activity(Integral::kTensorPpmUs, device));
    }
    if (device.instance < 0) {
      constexpr double kMilliwattsPerWatt = 1'000;
      set(UseMeasure::kPower,
          static_cast<double>(world_.PowerAverageMw(device.gpu, t_)) / kMilliwattsPerWatt);
    }
    // DCGM reports whole MiB.
    const auto mebibytes = [](int64_t bytes) {
      const int64_t whole = bytes / kMib * kMib;
      return static_cast<double>(whole);
    };
    set(UseMeasure::kMemoryUsed, mebibytes(world_.MemoryUsedBytes(device, t_)));
    set(UseMeasure::kMemoryTotal, mebibytes(memory_bytes));
    return use;
  }

  // As podgpu counts with --process-metrics=on: each process once on its instance and on its GPU.
  uint32_t ProcessesOn(DeviceRef device) const {
    const auto pids = pids_.find({device.gpu, device.instance});
    return pids == pids_.end() ? 0 : static_cast<uint32_t>(pids->second.size());
  }

  // The mean over the last second.
  double Activity(Integral what, DeviceRef device) const {
    const Int128 active = world_.IntegrateOver(what, device, t_ - kSecondUs, t_);
    return static_cast<double>(active) / static_cast<double>(kSecondUs) / kPpm;
  }

  const World& world_;
  const size_t node_;
  const TimeUs t_;
  OwnerCollector owners_;
  std::map<std::pair<int, int>, std::set<int>> pids_;  // By GPU and instance.
  bool is_lost_ = false;  // Whether the GPU that is being written is lost.
};

}  // namespace

NodeReport FleetWorld::ReportOf(size_t node, TimeUs t) const {
  const TimeUs second = t - t % kSecondUs;
  NodeReading reading(world_, node, nodes_,
                      second + static_cast<TimeUs>(node) * kBetweenNodesUs + kSecondUs);
  NodeReport report;
  report.version = kVersion;
  report.node = FleetNodeName(node);
  report.ready = true;
  report.owners_known = true;
  for (int gpu = 0; gpu < world_.gpu_count(); ++gpu) {
    report.gpus.push_back(reading.Gpu(gpu));
  }
  const auto served = std::ranges::count(report.gpus, "ok", &ReportedGpu::state);
  report.verdict = absl::StrFormat("ready: %d of %d GPUs served", served, report.gpus.size());
  return report;
}

std::string FleetUuid(std::string_view uuid, size_t node) {
  // The step is odd, so each node gets a different number.
  constexpr uint32_t kSpread = 0x9e3779b1;
  constexpr size_t kDigits = 8;
  const size_t begin = uuid.find('-') + 1;  // After "GPU-" or "MIG-".
  const std::string_view digits = uuid.substr(begin, kDigits);
  uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  std::string own(uuid);
  own.replace(begin, kDigits,
              absl::StrFormat("%08x", number ^ (static_cast<uint32_t>(node) * kSpread)));
  return own;
}

std::string FleetPodName(std::string_view pod, size_t node, size_t nodes) {
  const size_t dash = pod.rfind('-');
  if (dash != std::string_view::npos) {
    if (const std::optional<uint64_t> number = ParseDecimal(pod.substr(dash + 1))) {
      return absl::StrFormat("%s%d", pod.substr(0, dash + 1), *number * nodes + node);
    }
  }
  return absl::StrFormat("%s-%d", pod, node);
}

}  // namespace podgpu::sim
