#include "tests/energy/process_node.h"

#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "fields/field.h"
#include "sample/stale_values.h"
#include "source/open_source.h"
#include "tests/pod_lister.h"

namespace podgpu {
namespace {

// The kubelet's answer and the API server's pods, from the world.
struct PodsOfTheWorld final : PodLister {
  ApiObjects objects;

  void Pod(const sim::PodFacts& pod) override {
    PodLister::Pod(pod);
    ApiObject object;
    object.name_space = pod.pod_namespace;
    object.name = pod.name;
    object.uid = pod.uid;
    objects.insert_or_assign(object.name_space + "/" + object.name, object);
  }
};

}  // namespace

// A wait ends at once, as at the end of the program: each thread body runs one cycle.
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

ProcessNode::ProcessNode(std::string_view scenario, ProcessOptions options, NodeDevices devices)
    : devices_(std::move(devices)), process_period_(options.period), node_(scenario) {
  for (const uint16_t field : devices_.fields) {
    fields_.push_back(FindField(field));
  }
  ConfigureLog(LogLevel::kError, LogForm::kText);
  // No other thread of the test reads the environment at this time.
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
  while (DriverHangs()) {
    PassUnread(std::chrono::seconds(1));
  }
  processes_pace_.thread = {};
  devices_pace_.thread = {};
  tick_.reset();
  refresher_.reset();  // Releases NVML.
  source_.reset();
  unsetenv("PODGPU_SIM_DIR");  // NOLINT(concurrency-mt-unsafe): as above
}

void ProcessNode::StartExporter(ProcessOptions options) {
  SourceOptions source;
  source.nvml_library = std::string(PODGPU_BINARY_DIR) + "/lib/libnvidia-ml.so.1";
  source.proc_root = node_.path() + "/proc";
  source_ = OpenDevices(source.proc_root);
  PODGPU_CHECK(FindDevices());
  control_.emplace(*clock_, wakeup_);
  refresher_ = std::make_unique<ProcessRefresher>(
      [this, source] { return OpenProcesses(source, loader_, files_, *clock_); }, options.period,
      std::chrono::seconds(10), *control_, *clock_, wakeup_);
  statuses_.Set(std::make_shared<const SourceStatus>(
      SourceStatus{PartState::kOk, source_->Describe(), 1, 0, topology_->gpus.size()}));
  guard_.emplace(*clock_, std::chrono::seconds(10));
  TickOptions tick;
  tick.views = {View::kDcgm, View::kNative, View::kProcess};
  tick.view.hostname = "gpu-node-0";
  tick.period = devices_.period;
  tick.stale_after = 3 * devices_.period;
  for (const Field* field : fields_) {
    tick.counters.push_back({.name = std::string(field->name),
                             .field = field,
                             .type = "counter",
                             .help = "Of the simulated node."});
  }
  tick.processes = std::move(options);
  tick.processes.enabled = true;
  tick_.emplace(std::move(tick),
                TickSources{grids_,
                            statuses_,
                            pods_,
                            *guard_,
                            written_off_,
                            clients_,
                            {.api_pods = &api_pods_, .processes = &refresher_->queue()}},
                *clock_, wakeup_);
}

std::unique_ptr<Source> ProcessNode::OpenDevices(const std::string& proc_root) {
  SourceOptions options;
  const std::string libraries = std::string(PODGPU_BINARY_DIR) + "/lib/";
  options.nvml_library = libraries + "libnvidia-ml.so.1";
  options.dcgm_library = libraries + "libdcgm.so.4";
  options.proc_root = proc_root;
  options.kind = devices_.by_dcgm ? SourceKind::kDcgm : SourceKind::kNvml;
  options.fields = fields_;
  auto source = OpenSource(options, loader_, *clock_);
  PODGPU_CHECK(source.ok());
  return *std::move(source);
}

// Like the program's reader: a failed step is tried again at the next reading.
bool ProcessNode::FindDevices() {
  StatusOr<Topology> topology = source_->Discover({});
  if (!topology.ok()) {
    return false;
  }
  topology->epoch = ++epoch_;
  topology_ = std::make_shared<const Topology>(*std::move(topology));
  is_found_ = fields_.empty() || source_->Watch(*topology_, fields_, devices_.period).ok();
  return is_found_;
}

void ProcessNode::ReadDevices() {
  if (!is_found_ && !FindDevices()) {
    return;
  }
  auto grid = std::make_shared<Grid>(topology_, fields_);
  grid->read_at = clock_->Now();
  grid->read_at_wall = clock_->WallNow();
  if (!fields_.empty() && !source_->Read(*grid).ok()) {
    is_found_ = false;
    return;
  }
  WithdrawStale(*grid, 3 * devices_.period, {});
  grids_.Set(std::move(grid));
}

void ProcessNode::PassAtPace(Duration step) {
  PassUnread(step);
  ReadWhenDue(processes_pace_, process_period_, [this] { refresher_->Run({}); });
  ReadWhenDue(devices_pace_, devices_.period, [this] { ReadDevices(); });
  tick_->Once();
}

bool ProcessNode::DriverHangs() const {
  return run_->world().FaultAt(sim::FaultKind::kHang, now()) != nullptr;
}

// A reading that a hang may block runs on its own thread until the hang ends.
template <typename Reading>
void ProcessNode::ReadWhenDue(Pace& pace, Duration period, Reading read) {
  const Instant now = clock_->Now();
  const bool hangs = DriverHangs();
  if (!hangs) {
    pace.thread = {};  // Joins the thread.
  }
  if (pace.begun_at && now - *pace.begun_at < period) {
    return;
  }
  if (!pace.is_done) {
    ++stuck_readings_;
    return;
  }
  pace.begun_at = now;
  if (!hangs) {
    return read();
  }
  pace.is_done = false;
  pace.thread = std::jthread([&pace, read] {
    read();
    pace.is_done = true;
  });
}

void ProcessNode::ShowPods() {
  PodsOfTheWorld visitor;
  run_->world().VisitPods(now(), visitor);
  auto pods = std::make_shared<PodFacts>();
  pods->value = std::make_shared<const PodAllocations>(std::move(visitor.answer));
  pods->state = PartState::kOk;
  pods->good_at = clock_->Now();
  pods_.Set(std::move(pods));
  auto api = std::make_shared<ApiFacts>();
  api->value = std::make_shared<const ApiObjects>(std::move(visitor.objects));
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
  ReadDevices();
  tick_->Once();
}

void ProcessNode::Pass(Duration step) {
  PassUnread(step);
  Read();
}

}  // namespace podgpu
