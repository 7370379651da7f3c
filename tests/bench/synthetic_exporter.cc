// synthetic_exporter GPUS INSTANCES PERIOD_MS: podgpu's node role on invented values.
//
// All of the exporter runs: source thread, tick, kubelet refresher, HTTP.  Source and kubelet are
// replaced by ones that answer at once, so a page can have any size and the figures contain no
// vendor work; the values of each reading differ from the previous ones.  The page shows the dcgm
// view, with pods.  It prints "serving port=N" and ends on SIGTERM.
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <pthread.h>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "exporter/exporter.h"
#include "fields/counters_csv.h"
#include "kube/pod_resources.h"
#include "source/source.h"
#include "tests/bench/bench_node.h"
#include "tests/node_fixture.h"

namespace podgpu {
namespace {

Topology TopologyOf(size_t gpus, size_t instances_per_gpu) {
  Topology topology = *MakeTopology(gpus, instances_per_gpu);
  for (GpuInstance& instance : topology.instances) {
    instance.compute_instances = {
        {0, instance.entity_id, "MIG-" + std::to_string(instance.entity_id)}};
  }
  return topology;
}

class SyntheticSource final : public Source {
 public:
  explicit SyntheticSource(const Topology& topology) : topology_(topology) {}

  StatusOr<Topology> Discover(PartKinds /*kinds*/) override { return topology_; }
  StatusOr<WatchResult> Watch(const Topology& /*topology*/,
                              const std::vector<const Field*>& /*fields*/,
                              std::chrono::microseconds /*period*/) override {
    return WatchResult{};
  }
  Status Read(Grid& grid) override {
    ++readings_;
    for (uint16_t row = 0; row < grid.fields().size(); ++row) {
      const bool real = grid.fields()[row]->type == FieldType::kDouble;
      const ColumnRange columns = grid.ColumnsOf(FieldRow{row});
      for (auto column = static_cast<uint16_t>(columns.first);
           column < columns.first + columns.count; ++column) {
        const int64_t number = readings_ * 1'000 + row * 7 + column;
        grid.at(FieldRow{row}, EntityId{column}) =
            real ? Value::OfDouble(static_cast<double>(number) / 64) : Value::OfInt64(number);
      }
    }
    return absl::OkStatus();
  }
  void Interrupt() noexcept override {}
  void Release() override {}
  void SetProfiling(bool /*is_on*/) override {}
  void SetCollections(std::shared_ptr<const FieldCollections> /*collections*/) override {}
  std::string Describe() const override { return "synthetic values"; }

 private:
  const Topology& topology_;
  int64_t readings_ = 0;
};

// One pod on each device.
class SyntheticKubelet final : public PodResources {
 public:
  explicit SyntheticKubelet(const Topology& topology) {
    for (const Gpu& gpu : topology.gpus) {
      if (!gpu.mig_enabled) {
        Allocate("nvidia.com/gpu", gpu.uuid);
      }
    }
    for (const GpuInstance& instance : topology.instances) {
      Allocate("nvidia.com/mig-1g.10gb", instance.compute_instances.front().mig_uuid);
    }
    answer_ = std::make_shared<const PodAllocations>(std::move(pods_));
  }
  StatusOr<std::shared_ptr<const PodAllocations>> List() override { return answer_; }

 private:
  void Allocate(const char* resource, const std::string& device_id) {
    const std::string pod = "train-" + std::to_string(pods_.pod_count++);
    pods_.allocations.push_back({"ml", pod, "main", resource, device_id});
  }

  PodAllocations pods_{"v1", 0, {}};
  std::shared_ptr<const PodAllocations> answer_;
};

int Run(size_t gpus, size_t instances_per_gpu, std::chrono::milliseconds period) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const Topology topology = TopologyOf(gpus, instances_per_gpu);
  SyntheticKubelet kubelet(topology);
  SystemClock clock;
  ExporterOptions options;
  options.http.address = "127.0.0.1:0";
  options.collect_interval = period;
  options.kubernetes = true;
  options.views = {View::kDcgm};
  options.counters = CountersOf(SixtyCounters());
  options.view.hostname = "gpu-node-0";
  options.view.kubernetes = true;
  const SourceOpener open = [&]() -> StatusOr<std::unique_ptr<Source>> {
    return std::make_unique<SyntheticSource>(topology);
  };
  StatusOr<std::unique_ptr<Exporter>> exporter = Exporter::Start(options, {clock, open, kubelet});
  PODGPU_CHECK(exporter.ok());
  std::printf("serving port=%d\n", (*exporter)->port());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  return 0;
}

}  // namespace
}  // namespace podgpu

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<size_t>(argc));
  std::vector<size_t> numbers;
  for (const char* word : words.subspan(1)) {
    if (const std::optional<uint64_t> number = podgpu::ParseDecimal(word)) {
      numbers.push_back(*number);
    }
  }
  if (argc != 4 || numbers.size() != 3) {
    std::fputs("usage: synthetic_exporter GPUS INSTANCES PERIOD_MS\n", stderr);
    return 2;
  }
  return podgpu::Run(numbers[0], numbers[1], std::chrono::milliseconds(numbers[2]));
}
