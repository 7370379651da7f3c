// A node with a pod on each of its devices, and its first page, as the tick makes it.
//
// With the view process also a process in each pod, an XID on each GPU, and the page of requests
// and use.  For tests; one thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/manual_clock.h"
#include "base/text.h"
#include "base/wakeup.h"
#include "exporter/exporter.h"
#include "tests/node_fixture.h"

namespace podgpu {

class ViewsNode {
 public:
  ViewsNode(size_t gpus, size_t instances_per_gpu, const std::vector<View>& views)
      : counters_(CountersOf(DefaultCountersCsv())) {
    const bool has_processes = std::ranges::find(views, View::kProcess) != views.end();
    auto grid = std::make_shared<Grid>(
        FilledGrid(MakeTopology(gpus, instances_per_gpu), FieldsToRead(counters_, views)));
    grid->read_at = clock_.Now();
    for (uint16_t gpu = 0; has_processes && gpu < gpus; ++gpu) {
      grid->findings.xids.push_back({.gpu = gpu, .code = 79, .total = 1});
    }
    if (has_processes) {
      grid->SetCollections(std::make_shared<const FieldCollections>(FieldCollections{
                               {"slow", std::chrono::minutes(10), {grid->fields().front()->id}}}),
                           std::chrono::seconds(30));
    }
    PlacePods(grid->topology());
    grids_.Set(std::move(grid));
    source_.Set(
        std::make_shared<const SourceStatus>(SourceStatus{PartState::kOk, "driver", 1, 0, gpus}));
    TickOptions options;
    options.counters = counters_;
    options.views = views;
    options.view.hostname = "node-a";
    options.view.kubernetes = true;
    options.processes.enabled = options.vcuda.enabled = has_processes;
    const ExtraSources extra = {.api_pods = has_processes ? &api_pods_ : nullptr,
                                .processes = has_processes ? &processes_ : nullptr};
    Tick tick(std::move(options),
              TickSources{grids_, source_, kubelet_, guard_, written_off_, clients_, extra}, clock_,
              wakeup_);
    tick.Once();
    page_ = tick.snapshots().Get();
  }

  // By the beginning of their names: "DCGM_", "podgpu_" and so on.
  size_t CountOf(std::string_view prefix) const {
    size_t count = 0;
    for (const std::string_view line : Split(text(), '\n')) {
      count += line.starts_with(prefix) && !line.starts_with('#') && !line.empty() ? 1U : 0U;
    }
    return count;
  }
  std::string_view text() const { return page_->text(); }
  const SeriesPlan& plan() const { return *page_->parts().plan; }
  // The page of requests and use.
  const SeriesPlan& requests_plan() const { return *page_->parts().other_plan; }

 private:
  // Tells of a pod on each GPU, as the kubelet, the API server and the driver do.
  void PlacePods(const Topology& topology) {
    PodAllocations answer{"v1", static_cast<uint32_t>(topology.gpus.size()), {}, {}};
    ApiObjects pods;
    auto devices = std::make_shared<ProcessFacts>();
    std::unique_ptr<ProcessReading> reading = processes_.Begin();
    reading->at = clock_.Now();
    for (const Gpu& gpu : topology.gpus) {
      const std::string id = std::to_string(gpu.gpu_id);
      answer.allocations.push_back({"ml", "train-" + id, "main", "nvidia.com/gpu", gpu.uuid});
      ApiObject& pod = pods["ml/train-" + id];
      pod.name_space = "ml";
      pod.name = "train-" + id;
      pod.uid = "uid-" + id;
      pod.containers = {{.name = "main", .id = "c-" + id, .requests = {{"nvidia.com/gpu", 1}}}};
      auto process = std::make_shared<ProcessIdentity>();
      process->key = {.pid = 100 + gpu.gpu_id, .start_ticks = 1};
      process->place = {.pod_uid = pod.uid, .container_id = "c-" + id};
      devices->uuids.push_back(gpu.uuid);
      reading->devices.push_back({.device = {gpu.gpu_id},
                                  .at = reading->at,
                                  .processes = {{.pid = process->key.pid, .identity = process}}});
    }
    kubelet_.Set(Good<PodFacts>(std::move(answer)));
    api_pods_.Set(Good<ApiFacts>(std::move(pods)));
    processes_.facts().Set(std::move(devices));
    processes_.Add(std::move(reading));
  }

  template <typename Facts, typename Answer>
  std::shared_ptr<const Facts> Good(Answer answer) const {
    auto facts = std::make_shared<Facts>();
    facts->state = PartState::kOk;
    facts->good_at = clock_.Now();
    facts->value = std::make_shared<const Answer>(std::move(answer));
    return facts;
  }

  const std::vector<Counter> counters_;
  ManualClock clock_;
  Wakeup wakeup_;
  CallGuard guard_{clock_, std::chrono::seconds(10)};
  std::atomic<int> written_off_ = 0;
  HttpCounters clients_;
  Published<Grid> grids_;
  Published<SourceStatus> source_;
  Published<PodFacts> kubelet_;
  Published<ApiFacts> api_pods_;
  ProcessQueue processes_;
  std::shared_ptr<const Snapshot> page_;
};

}  // namespace podgpu
