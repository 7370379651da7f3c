// Measures the cost of the JSON of a large fleet, which is made and compressed once per reading.
#include <benchmark/benchmark.h>

#include "cluster/fleet_json.h"
#include "exposition/gzip.h"

namespace podgpu {
namespace {

constexpr uint32_t kGpusPerNode = 8;

NodeEntry BusyNode(int number) {
  NodeReport report;
  report.node = "gpu-node-" + std::to_string(number);
  report.verdict = "ready: 8 GPUs have fresh samples";
  report.owners_known = true;
  for (uint32_t index = 0; index < kGpusPerNode; ++index) {
    ReportedGpu gpu;
    gpu.index = index;
    gpu.uuid = "GPU-" + std::to_string(number) + "-" + std::to_string(index);
    gpu.model = "NVIDIA H100 80GB HBM3";
    gpu.state = "ok";
    const double share = static_cast<double>((number * 31 + static_cast<int>(index) * 17) % 100);
    gpu.use.values[static_cast<size_t>(UseMeasure::kUtilization)] = UseValue{share, 0};
    gpu.use.values[static_cast<size_t>(UseMeasure::kMemoryUsed)] = UseValue{share * 8e8, 0};
    gpu.use.values[static_cast<size_t>(UseMeasure::kMemoryTotal)] = UseValue{8.5e10, 0};
    gpu.use.owners = {{"team-" + std::to_string(number % 200),
                       "train-" + std::to_string(number) + "-" + std::to_string(index / 2), "main",
                       "nvidia.com/gpu", ""}};
    report.gpus.push_back(std::move(gpu));
  }
  NodeEntry node;
  node.address.id = report.node + ":9400";
  node.last = FetchResult::kOk;
  node.idle = std::make_shared<const IdleSpells>(ContinueIdle({}, nullptr, report, Instant()));
  node.report = std::make_shared<const NodeReport>(std::move(report));
  return node;
}

ClusterFacts LargeFleet(int nodes) {
  auto fleet = std::make_shared<Fleet>();
  for (int i = 0; i < nodes; ++i) {
    fleet->nodes.push_back(BusyNode(i));
  }
  ClusterFacts facts;
  facts.fleet = std::move(fleet);
  facts.list = std::make_shared<const NodeList>();
  facts.states.assign(facts.fleet->nodes.size(), NodeState::kOk);
  facts.map = MakeClusterMap(*facts.fleet, facts.states);
  return facts;
}

void BM_FleetJson(benchmark::State& state) {
  const ClusterFacts facts = LargeFleet(static_cast<int>(state.range(0)));
  size_t bytes = 0;
  for (auto turn : state) {
    bytes = MakeFleetText(facts).whole.size();
  }
  const FleetText text = MakeFleetText(facts);
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["gzip_bytes"] = static_cast<double>(Gzip(text.whole).size());
  state.counters["delta_bytes"] = static_cast<double>(text.delta.size());
  state.counters["delta_gzip_bytes"] = static_cast<double>(Gzip(text.delta).size());
}
BENCHMARK(BM_FleetJson)->Arg(100)->Arg(1'000)->Arg(5'000)->Unit(benchmark::kMillisecond);

void BM_FleetGzip(benchmark::State& state) {
  const std::string json = MakeFleetText(LargeFleet(static_cast<int>(state.range(0)))).whole;
  for (auto turn : state) {
    benchmark::DoNotOptimize(Gzip(json));
  }
}
BENCHMARK(BM_FleetGzip)->Arg(5'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace podgpu
