// What one page costs the tick thread: gathering facts, ageing, slots, render, publication; and a
// new plan.
//
// Sizes: one GPU, eight GPUs with 60 fields and pods, 16 GPUs in 7 MIG instances each with 500
// pods, and a hundred thousand series.  From one reading to the next every ninth number changes, as
// on a simulated node.  The benchmark does not include the reading itself.  BM_TickOf has pairs of
// sizes that differ in one quantity; tests/bench/instructions computes growth exponents from them.
#include <malloc.h>

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
  size_t pods = 500;  // Without a GPU.
};
constexpr Size kSizes[] = {{1, 0, 60}, {8, 0, 60}, {16, 7, 60}, {222, 7, 60}};
constexpr int kLastSize = 3;
// GPUs, fields, pods: a smaller and a larger node each.
constexpr Size kPairs[] = {{8, 0, 60}, {64, 0, 60},     {8, 0, 20},
                           {8, 0, 80}, {8, 0, 60, 100}, {8, 0, 60, 3'200}};
constexpr int kLastOfPairs = 5;

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
    for (std::shared_ptr<Grid>& grid : readings_) {
      grid = std::make_shared<Grid>(topology, fields);
      grid->read_at = clock_.Now();
      Fill(*grid, &grid - readings_.data());
    }
    Read();
    source_.Set(std::make_shared<const SourceStatus>());
    auto pods = std::make_shared<PodFacts>();
    pods->value = std::make_shared<const PodAllocations>(
        PodAllocations{"v1", static_cast<uint32_t>(size.pods), Allocations(*topology, size.pods)});
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
  // Publishes the next of two readings, which differ in every ninth number.
  void Read() { grids_.Set(readings_[++reading_ % readings_.size()]); }
  // Makes a page of each reading, so that no later page needs a new plan.
  void WarmUp() {
    for (size_t i = 0; i < 2 * readings_.size(); ++i) {
      Read();
      tick_->Once();
    }
  }
  // Publishes the same devices as a new epoch; the next tick then makes a new plan.
  void NewEpoch() {
    auto topology = std::make_shared<Topology>(grids_.Get()->topology());
    ++topology->epoch;
    auto grid = std::make_shared<Grid>(topology, grids_.Get()->fields());
    grid->read_at = clock_.Now();
    grids_.Set(grid);
  }

 private:
  static void Fill(Grid& grid, int64_t reading) {
    constexpr int kChanges = 9;
    for (uint16_t row = 0; row < grid.fields().size(); ++row) {
      for (uint16_t column = 0; column < grid.topology().entities.size(); ++column) {
        const int64_t change = (row + column) % kChanges == 0 ? reading : 0;
        grid.at(FieldRow{row}, EntityId{column}) =
            grid.fields()[row]->type == FieldType::kDouble
                ? Value::OfDouble(123.456 + static_cast<double>(row + change))
                : Value::OfInt64(1'000'000 + row * column + change);
      }
    }
  }
  static std::vector<Allocation> Allocations(const Topology& topology, size_t others) {
    std::vector<Allocation> allocations;
    for (const Gpu& gpu : topology.gpus) {
      allocations.push_back(
          {"ml", "train-" + std::to_string(gpu.gpu_id), "main", "nvidia.com/gpu", gpu.uuid});
    }
    for (size_t i = 0; i < others; ++i) {
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
  std::array<std::shared_ptr<Grid>, 2> readings_;
  size_t reading_ = 0;
  Published<Grid> grids_;
  Published<SourceStatus> source_;
  Published<PodFacts> pods_;
  std::optional<Tick> tick_;
};

void BM_Tick(benchmark::State& state) {
  Node node(kSizes[state.range(0)]);
  node.WarmUp();
  for (auto _ : state) {
    node.Read();
    node.tick().Once();
  }
  const std::shared_ptr<const Snapshot> page = node.tick().snapshots().Get();
  state.counters["series"] = static_cast<double>(page->series_count());
  state.counters["bytes"] = static_cast<double>(page->text().size());
}
BENCHMARK(BM_Tick)->DenseRange(0, kLastSize)->Unit(benchmark::kMicrosecond);

void BM_TickOf(benchmark::State& state) {
  const size_t before = ::mallinfo2().uordblks;
  Node node(kPairs[state.range(0)]);
  node.WarmUp();
  for (auto _ : state) {
    node.Read();
    node.tick().Once();
  }
  state.counters["heap"] = static_cast<double>(::mallinfo2().uordblks - before);
  state.counters["series"] = static_cast<double>(node.tick().snapshots().Get()->series_count());
}
BENCHMARK(BM_TickOf)->DenseRange(0, kLastOfPairs)->Unit(benchmark::kMicrosecond);

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
