#include "tests/energy/process_node.h"

#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "source/open_source.h"

namespace podgpu {
namespace {

// The kubelet's answer and the API server's pods, as the world has them.
class PodsOfTheWorld final : public sim::PodVisitor {
 public:
  void Pod(const sim::PodFacts& pod) override {
    ++allocations.pod_count;
    next_.pod_namespace = pod.pod_namespace;
    next_.pod = pod.name;
    ApiObject object;
    object.name_space = pod.pod_namespace;
    object.name = pod.name;
    object.uid = pod.uid;
    objects.insert_or_assign(object.name_space + "/" + object.name, object);
  }
  void Container(const sim::ContainerFacts& container) override {
    next_.container = container.name;
  }
  void Device(const sim::PodDevice& device) override {
    next_.resource = device.resource;
    next_.device_id = device.device_id;
    allocations.allocations.push_back(next_);
  }

  PodAllocations allocations{"v1", 0, {}};
  ApiObjects objects;

 private:
  Allocation next_;
};

}  // namespace

// A wait ends at once, as at the end of the program: each body of a thread goes round once.
class ProcessNode::NodeTime final : public Clock {
 public:
  explicit NodeTime(sim::RunDirectory& node) : node_(node) {}
  Instant Now() const override { return Instant(std::chrono::microseconds(node_.Now())); }
  WallTime WallNow() const override {
    const sim::TimeUs now = node_.Now();
    return WallTime(std::chrono::microseconds(node_.StampUs(now) + node_.world().ClockJumpUs(now)));
  }

 private:
  bool Wait(Instant /*deadline*/, const std::stop_token& /*stop*/, Wakeup* /*wakeup*/) override {
    return false;
  }

  sim::RunDirectory& node_;
};

ProcessNode::ProcessNode(std::string_view scenario, ProcessOptions options) : node_(scenario) {
  ConfigureLog(LogLevel::kError, LogForm::kText);
  // No other thread of the test reads the environment meanwhile.
  setenv("PODGPU_SIM_DIR", node_.path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  std::string error;
  run_ = sim::RunDirectory::Open(node_.path(), error);
  PODGPU_CHECK(run_ != nullptr);
  StatusOr<sim::ProcTree> proc = sim::ProcTree::Create(node_.path(), run_->StampUs(0));
  PODGPU_CHECK(proc.ok());
  proc_.emplace(*std::move(proc));
  PODGPU_CHECK(proc_->Show(run_->world(), now()).ok());
  clock_ = std::make_unique<NodeTime>(*run_);
  StartExporter(std::move(options));
  ShowPods();
}

ProcessNode::~ProcessNode() {
  tick_.reset();
  refresher_.reset();          // Lets go of NVML.
  unsetenv("PODGPU_SIM_DIR");  // NOLINT(concurrency-mt-unsafe): as above
}

void ProcessNode::StartExporter(ProcessOptions options) {
  SourceOptions source;
  source.nvml_library = std::string(PODGPU_BINARY_DIR) + "/lib/libnvidia-ml.so.1";
  source.proc_root = node_.path() + "/proc";
  auto nvml = OpenNvmlSource(source, loader_, *clock_);
  PODGPU_CHECK(nvml.ok());
  StatusOr<Topology> topology = (*nvml)->Discover({});
  PODGPU_CHECK(topology.ok());
  topology->epoch = 1;
  topology_ = std::make_shared<const Topology>(*std::move(topology));
  control_.emplace(*clock_, wakeup_);
  refresher_ = std::make_unique<ProcessRefresher>(
      [this, source] { return OpenProcesses(source, loader_, files_, *clock_); }, options.period,
      std::chrono::seconds(10), *control_, *clock_, wakeup_);
  statuses_.Set(std::make_shared<const SourceStatus>(
      SourceStatus{PartState::kOk, (*nvml)->Describe(), 1, 0, topology_->gpus.size()}));
  guard_.emplace(*clock_, std::chrono::seconds(10));
  TickOptions tick;
  tick.views = {View::kNative, View::kProcess};
  tick.processes = std::move(options);
  tick.processes.enabled = true;
  tick_.emplace(std::move(tick),
                TickSources{grids_,
                            statuses_,
                            pods_,
                            *guard_,
                            written_off_,
                            clients_,
                            {.api_pods = &api_pods_, .processes = &refresher_->feed()}},
                *clock_, wakeup_);
}

void ProcessNode::ShowPods() {
  PodsOfTheWorld visitor;
  run_->world().VisitPods(now(), visitor);
  auto pods = std::make_shared<PodFacts>();
  pods->answer = std::make_shared<const PodAllocations>(std::move(visitor.allocations));
  pods->state = PartState::kOk;
  pods->answered_at = clock_->Now();
  pods_.Set(std::move(pods));
  auto api = std::make_shared<ApiFacts>();
  api->objects = std::make_shared<const ApiObjects>(std::move(visitor.objects));
  api->state = PartState::kOk;
  api_pods_.Set(std::move(api));
}

void ProcessNode::PassUnread(Duration step) {
  const auto step_us = std::chrono::duration_cast<std::chrono::microseconds>(step).count();
  PODGPU_CHECK(node_.writer().Tick(step_us).ok());
  PODGPU_CHECK(proc_->Show(run_->world(), now()).ok());
  ShowPods();
}

void ProcessNode::Read() {
  refresher_->Run({});
  auto grid = std::make_shared<Grid>(topology_, std::vector<const Field*>());
  grid->read_at = clock_->Now();
  grid->read_at_wall = clock_->WallNow();
  grids_.Set(std::move(grid));
  tick_->Once();
}

void ProcessNode::Pass(Duration step) {
  PassUnread(step);
  Read();
}

}  // namespace podgpu
