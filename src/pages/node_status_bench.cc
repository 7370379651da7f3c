// What a viewer of the status costs: making it, writing it, and reading it back, for eight GPUs.
#include <benchmark/benchmark.h>

#include "pages/node_status_page.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

// Eight GPUs with all fields of a status; four processes of four pods share each.
class Bench {
 public:
  Bench() {
    std::vector<const Field*> fields;
    for (const uint16_t id : StatusFieldIds(true)) {
      fields.push_back(FindField(id));
    }
    auto grid = std::make_shared<Grid>(std::make_shared<Topology>(FakeDriver::Gpus(8)), fields);
    for (size_t row = 0; row < fields.size(); ++row) {
      for (Value& value : grid->CellsOf(FieldRow{static_cast<uint16_t>(row)})) {
        value = Value::OfDouble(0.75);
      }
    }
    auto owners = std::make_shared<Owners>();
    owners->by_entity.resize(8);
    auto condition = std::make_shared<Condition>();
    condition->owners_known = true;
    for (uint32_t gpu = 0; gpu < 8; ++gpu) {
      condition->devices.push_back({gpu, "ok", FakeDriver::Uuid(gpu), "H100", "0000:3b", "4 pods"});
      use_.uuids.push_back(FakeDriver::Uuid(gpu));
      for (uint32_t pod = 1; pod <= 4; ++pod) {
        AddPod(gpu, pod, *owners);
      }
    }
    use_.is_known = true;
    condition_ = condition;
    facts_.grid = grid;
    facts_.owners = owners;
    snapshot_ = std::make_shared<const Snapshot>(
        SnapshotParts{std::make_shared<const SeriesPlan>(), grid, owners, {}, 1});
    for (size_t i = 0; i < kHistorySamples; ++i) {
      grid->read_at += std::chrono::seconds(1);
      timeline_.Take(facts_, WallTime(std::chrono::seconds(i)));
    }
  }

  NodeStatus Make(const StatusParts& parts) {
    return MakeNodeStatus({.snapshot = snapshot_,
                           .condition = condition_,
                           .node = node_,
                           .visible = visible_,
                           .timeline = timeline_,
                           .copy_use = copy_},
                          parts);
  }

 private:
  void AddPod(uint32_t gpu, uint32_t number, Owners& owners) {
    Owner owner;
    owner.pod_namespace = "inference";
    owner.pod = "chat-" + std::to_string(number);
    owner.container = "server";
    owners.by_entity[gpu].push_back(owner);
    CopiedPod& pod = use_.pods.emplace_back();
    pod.key = {PodNumber{number}, DeviceNumber{gpu}};
    pod.pod_namespace = owner.pod_namespace;
    pod.pod = owner.pod;
    pod.sm_percent = 20;
    CopiedProcess& process = use_.processes.emplace_back();
    process.key = {{number * 100 + gpu, 1}, DeviceNumber{gpu}};
    process.pod = PodNumber{number};
    process.listed = true;
    process.sm_percent = 20;
  }

  const std::string node_ = "n";
  VisibleNamespaces visible_;
  UseCopy use_;
  const std::function<UseCopy()> copy_ = [this] { return use_; };
  TickFacts facts_;
  GpuTimeline timeline_{std::chrono::seconds(1)};
  std::shared_ptr<const Condition> condition_;
  std::shared_ptr<const Snapshot> snapshot_;
};

void MakeAndWriteStatus(benchmark::State& state) {
  Bench bench;
  const bool all = state.range(0) != 0;
  size_t bytes = 0;
  for ([[maybe_unused]] auto _ : state) {
    bytes = WriteNodeStatus(bench.Make({.processes = all, .history = all})).size();
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(MakeAndWriteStatus)->Arg(0)->Arg(1)->ArgName("parts");

void ReadStatus(benchmark::State& state) {
  const std::string json = WriteNodeStatus(Bench().Make({}));
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(ReadNodeStatus(json));
  }
}
BENCHMARK(ReadStatus);

// What the tick pays for the plots.
void TakeTimeline(benchmark::State& state) {
  TickFacts facts;
  auto grid = std::make_shared<Grid>(std::make_shared<Topology>(FakeDriver::Gpus(8)),
                                     std::vector<const Field*>{FindField(155), FindField(1002)});
  facts.grid = grid;
  GpuTimeline timeline(std::chrono::seconds(1));
  for ([[maybe_unused]] auto _ : state) {
    grid->read_at += std::chrono::seconds(1);
    timeline.Take(facts, WallTime());
  }
}
BENCHMARK(TakeTimeline);

}  // namespace
}  // namespace podgpu
