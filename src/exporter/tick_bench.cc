// What one page costs the tick thread: gathering facts, ageing, slots, render, publication; and a
// new plan.
//
// Sizes: one GPU, eight GPUs with 60 fields and pods, 16 GPUs in 7 MIG instances each with 500
// pods, and a hundred thousand series.  The benchmark does not include the reading itself.
#include <benchmark/benchmark.h>

#include "base/testing/manual_clock.h"
#include "exporter/tick.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

struct Size {
  uint32_t gpus;
  uint32_t instances_per_gpu;
  size_t fields;
};
constexpr Size kSizes[] = {{1, 0, 60}, {8, 0, 60}, {16, 7, 60}, {222, 7, 60}};
constexpr int kLastSize = 3;

Topology MakeTopology(const Size& size) {
  Topology topology = FakeDriver::Gpus(size.gpus);
  for (uint32_t gpu = 0; gpu < size.gpus; ++gpu) {
    topology.gpus[gpu].mig_enabled = size.instances_per_gpu > 0;
    for (uint32_t i = 0; i < size.instances_per_gpu; ++i) {
      GpuInstance instance;
      instance.gpu = static_cast<uint16_t>(gpu);
      instance.gpu_instance_id = i + 7;
      instance.entity_id = gpu * 7 + i;
      instance.profile = "1g.10gb";
      instance.compute_instances = {
          {0, instance.entity_id, "MIG-" + std::to_string(instance.entity_id)}};
      topology.instances.push_back(instance);
    }
  }
  NumberEntities(topology);
  topology.epoch = 1;
  return topology;
}

std::vector<Counter> MakeCounters(size_t count) {
  std::vector<Counter> counters;
  for (const Field& field : Catalogue()) {
    const bool numeric = field.type == FieldType::kInt64 || field.type == FieldType::kDouble;
    if (numeric && field.level == FieldLevel::kGpu && counters.size() < count) {
      counters.push_back({0, std::string(field.name), &field, "gauge", "A value of the device."});
    }
  }
  return counters;
}

// A tick over published facts of the given size.
class Node {
 public:
  explicit Node(const Size& size) : counters_(MakeCounters(size.fields)) {
    auto topology = std::make_shared<const Topology>(MakeTopology(size));
    std::vector<const Field*> fields;
    for (const Counter& counter : counters_) {
      fields.push_back(counter.field);
    }
    auto grid = std::make_shared<Grid>(topology, fields);
    for (uint16_t row = 0; row < fields.size(); ++row) {
      for (uint16_t column = 0; column < topology->entities.size(); ++column) {
        grid->at(FieldRow{row}, EntityId{column}) = fields[row]->type == FieldType::kDouble
                                                        ? Value::OfDouble(123.456 + row)
                                                        : Value::OfInt64(1'000'000 + row * column);
      }
    }
    grid->read_at = clock_.Now();
    grids_.Set(grid);
    source_.Set(std::make_shared<const SourceStatus>());
    auto pods = std::make_shared<PodFacts>();
    pods->value =
        std::make_shared<const PodAllocations>(PodAllocations{"v1", 500, Allocations(*topology)});
    pods_.Set(pods);
    TickOptions options;
    options.counters = counters_;
    options.view.hostname = "gpu-node-0";
    options.view.kubernetes = true;
    tick_.emplace(std::move(options),
                  TickSources{grids_, source_, pods_, guard_, written_off_, clients_}, clock_,
                  wakeup_);
  }

  Tick& tick() { return *tick_; }
  // Publishes the same devices as a new epoch; the next tick then makes a new plan.
  void NewEpoch() {
    auto topology = std::make_shared<Topology>(grids_.Get()->topology());
    ++topology->epoch;
    auto grid = std::make_shared<Grid>(topology, grids_.Get()->fields());
    grid->read_at = clock_.Now();
    grids_.Set(grid);
  }

 private:
  static std::vector<Allocation> Allocations(const Topology& topology) {
    std::vector<Allocation> allocations;
    for (const Gpu& gpu : topology.gpus) {
      allocations.push_back(
          {"ml", "train-" + std::to_string(gpu.gpu_id), "main", "nvidia.com/gpu", gpu.uuid});
    }
    for (size_t i = 0; i < 500; ++i) {
      allocations.push_back(
          {"web", "pod-" + std::to_string(i), "main", "example.com/other", std::to_string(i)});
    }
    return allocations;
  }

  ManualClock clock_;
  Wakeup wakeup_;
  CallGuard guard_{clock_, std::chrono::seconds(10)};
  std::atomic<int> written_off_ = 0;
  HttpCounters clients_;
  std::vector<Counter> counters_;
  Published<Grid> grids_;
  Published<SourceStatus> source_;
  Published<PodFacts> pods_;
  std::optional<Tick> tick_;
};

void BM_Tick(benchmark::State& state) {
  Node node(kSizes[state.range(0)]);
  node.tick().Once();
  for (auto _ : state) {
    node.tick().Once();
  }
  const std::shared_ptr<const Snapshot> page = node.tick().snapshots().Get();
  state.counters["series"] = static_cast<double>(page->series_count());
  state.counters["bytes"] = static_cast<double>(page->text().size());
}
BENCHMARK(BM_Tick)->DenseRange(0, kLastSize)->Unit(benchmark::kMicrosecond);

void BM_TickWithNewPlan(benchmark::State& state) {
  Node node(kSizes[state.range(0)]);
  for (auto _ : state) {
    node.NewEpoch();
    node.tick().Once();
  }
}
BENCHMARK(BM_TickWithNewPlan)->DenseRange(0, kLastSize)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace podgpu
