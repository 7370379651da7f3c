// Heap allocations of a healthy node: none per reading, and per tick only the snapshot.
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "exporter/reader.h"
#include "exporter/tick.h"
#include "sample/grid_pool.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A snapshot makes three allocations, for any number of series: itself, its text, and the values of
// its slots.
constexpr uint64_t kAllocationsOfASnapshot = 3;

constexpr int kRounds = 30;
constexpr int kRoundsToWarmUp = 6;

// A clock on which waiting takes no time, so a thread's body can run on the test's own thread: each
// wait advances the clock to its deadline, and the last wait requests the stop.
class SteppingClock final : public Clock {
 public:
  explicit SteppingClock(std::function<void()> between) : between_(std::move(between)) {
    taken_.reserve(kRounds);
  }

  Instant Now() const override { return now_; }
  WallTime WallNow() const override {
    return WallTime(std::chrono::duration_cast<std::chrono::microseconds>(now_.time_since_epoch()));
  }

  std::stop_token stop() const { return stop_.get_token(); }

  // Allocations between one wait and the next, after the first passes have filled all pools.
  std::vector<uint64_t> taken() const { return {taken_.begin() + kRoundsToWarmUp, taken_.end()}; }

 private:
  bool Wait(Instant deadline, const std::stop_token& /*stop*/, Wakeup* /*wakeup*/) override {
    taken_.push_back((AllocationsOfThisThread() - last_).count);
    now_ = std::max(now_, deadline);
    between_();
    if (taken_.size() == kRounds) {
      stop_.request_stop();
    }
    last_ = AllocationsOfThisThread();
    return !stop_.stop_requested();
  }

  std::function<void()> between_;
  std::stop_source stop_;
  Instant now_{};
  Allocations last_;
  std::vector<uint64_t> taken_;
};

const std::vector<const Field*> kFields = {FindField(53), FindField(150), FindField(155),
                                           FindField(203)};

TEST(SteadyReader, AReadingAllocatesNothing) {
  Reader* reader = nullptr;
  // The grids that a slow scrape, the newest snapshot and the tick hold meanwhile.
  std::shared_ptr<const Grid> scraped;
  std::shared_ptr<const Grid> rendered;
  std::vector<const Topology*> topologies;
  SteppingClock clock([&] {
    scraped = std::exchange(rendered, reader->grids().Get());
    topologies.push_back(&rendered->topology());
  });
  Wakeup tick;
  CallGuard guard(clock, seconds(10));
  FakeDriver driver;
  driver.SetTopology(FakeDriver::Gpus(8));
  ReaderOptions options;
  options.list.fields = kFields;
  options.period = seconds(1);
  options.rediscover_every = hours(1);
  Reader steady([&] { return std::make_unique<FakeSource>(driver); }, options, clock, guard, tick);
  reader = &steady;
  steady.Run(clock.stop());
  EXPECT_EQ(clock.taken(), std::vector<uint64_t>(kRounds - kRoundsToWarmUp, 0));
}

TEST(SteadyReader, ADeviceScanKeepsTheGrids) {
  Reader* reader = nullptr;
  std::vector<std::shared_ptr<const Topology>> topologies;
  SteppingClock clock([&] { topologies.push_back(reader->grids().Get()->shared_topology()); });
  Wakeup tick;
  CallGuard guard(clock, seconds(10));
  FakeDriver driver;
  ReaderOptions options;
  options.list.fields = kFields;
  options.period = seconds(1);
  options.rediscover_every = seconds(1);
  Reader steady([&] { return std::make_unique<FakeSource>(driver); }, options, clock, guard, tick);
  reader = &steady;
  steady.Run(clock.stop());
  EXPECT_EQ(driver.discoveries(), kRounds);
  for (const std::shared_ptr<const Topology>& topology : topologies) {
    EXPECT_EQ(topology, topologies.front());
  }
}

// A tick; the test publishes new facts before each page, as the other threads do.
class SteadyNode {
 public:
  explicit SteadyNode(uint32_t gpus) : clock_([this] { PublishFacts(); }) {
    auto topology = std::make_shared<Topology>(FakeDriver::Gpus(gpus));
    topology->epoch = 1;
    topology_ = topology;
    answer_ = std::make_shared<const PodAllocations>(PodAllocations{
        "v1", 1, {{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(0)}}});
    source_.Set(std::make_shared<const SourceStatus>(SourceStatus{
        PartState::kOk, "a driver whose sentence is longer than a small string", 1, 0, gpus}));
    PublishFacts();
    TickOptions options;
    options.period = seconds(1);
    options.stale_after = seconds(5);
    options.counters =
        ParseCounters(
            "DCGM_FI_DEV_GPU_TEMP, gauge, GPU temperature\nDCGM_FI_DEV_SERIAL, label, "
            "Serial\nDCGM_EXP_XID_ERRORS_COUNT, gauge, x\nDCGM_EXP_CLOCK_EVENTS_COUNT, "
            "gauge, c\nDCGM_EXP_GPU_HEALTH_STATUS, gauge, h\nDCGM_EXP_P2P_STATUS, gauge, "
            "p\n",
            "test.csv")
            .value()
            .counters;
    options.view.kubernetes = true;
    options.views.push_back(View::kProcess);
    options.processes.enabled = true;
    options.vcuda.enabled = true;
    TickSources sources{grids_, source_, pods_, guard_, written_off_, clients_};
    sources.extra.processes = &processes_;
    tick_.emplace(std::move(options), sources, clock_, wakeup_);
  }

  // Allocations of each page, its sleep included.
  std::vector<uint64_t> Run() {
    tick_->Run(clock_.stop());
    return clock_.taken();
  }
  size_t series() const { return tick_->snapshots().Get()->series_count(); }
  std::string_view page() const { return tick_->snapshots().Get()->text(); }

 private:
  void PublishFacts() {
    std::shared_ptr<Grid> grid = pool_.Take(topology_, kFields);
    grid->read_at = clock_.Now();
    for (uint16_t i = 0; i < topology_->entities.size(); ++i) {
      grid->at(FieldRow{0}, EntityId{i}) = Value::OfText(grid->InternText("a serial number"));
      for (uint16_t row = 1; row < kFields.size(); ++row) {
        grid->at(FieldRow{row}, EntityId{i}) = Value::OfInt64(++reading_, 500);
      }
    }
    FillFindings(grid->findings);
    grids_.Set(std::move(grid));
    auto pods = std::make_shared<PodFacts>();
    pods->value = answer_;
    pods->good_at = clock_.Now();
    pods->state = PartState::kOk;
    pods->detail = "a kubelet whose sentence is longer than a small string";
    pods_.Set(std::move(pods));
    PublishProcesses();
  }

  // Two processes on each GPU; their use changes.
  void PublishProcesses() {
    ProcessFacts facts;
    std::unique_ptr<ProcessReading> reading = processes_.Begin();
    reading->at = clock_.Now();
    reading->devices.resize(topology_->gpus.size());
    for (uint32_t i = 0; i < reading->devices.size(); ++i) {
      facts.uuids.push_back(topology_->gpus[i].uuid);
      DeviceReading& device = reading->devices[i];
      device.device = {i};
      device.at = reading->at;
      device.counter_mj = static_cast<uint64_t>(reading_) * 7;
      device.processes = {{.pid = 1, .memory_bytes = 5, .identity = identities_[0]},
                          {.pid = 2, .memory_bytes = 6, .identity = identities_[1]}};
      device.busy = {{.pid = 1, .busy_percent_us = static_cast<uint64_t>(reading_)},
                     {.pid = 2, .busy_percent_us = 3}};
    }
    if (processes_.facts().Get()->uuids != facts.uuids) {
      processes_.facts().Set(std::make_shared<const ProcessFacts>(facts));
    }
    processes_.Add(std::move(reading));
  }
  static std::shared_ptr<const ProcessIdentity> Identity(uint32_t pid) {
    ProcessIdentity identity;
    identity.key = {.pid = pid, .start_ticks = 1};
    identity.place = {.pod_uid = "uid-" + std::to_string(pid), .container_id = "c"};
    return std::make_shared<const ProcessIdentity>(identity);
  }

  // One GPU reports an XID at each reading; health is good, one path between GPUs is not.
  void FillFindings(Findings& findings) const {
    const size_t gpus = topology_->gpus.size();
    findings.asked = {hours(1), hours(1), true, true};
    findings.xids.push_back({.gpu = 0,
                             .code = 31,
                             .total = static_cast<uint64_t>(reading_),
                             .in_window = 3,
                             .last_us = reading_});
    findings.gpus.resize(gpus);
    for (GpuEventCounts& counts : findings.gpus) {
      counts = {.xids_known = true,
                .xids = 3,
                .clocks_known = true,
                .clock_samples = 9,
                .clock_events = {static_cast<uint64_t>(reading_), 2}};
    }
    findings.health.assign(gpus, {.is_known = true, .watches = {}});
    findings.peers.assign(gpus * gpus, 0);
    findings.peers.back() = 3;
    findings.note = note_;
  }

  SteppingClock clock_;
  Wakeup wakeup_;
  CallGuard guard_{clock_, seconds(10)};
  const std::shared_ptr<const FindingsNote> note_ = std::make_shared<const FindingsNote>(
      FindingsNote{true, "paths between GPUs: a reason that is longer than a small string"});
  GridPool pool_;
  int64_t reading_ = 0;
  std::shared_ptr<const Topology> topology_;
  std::shared_ptr<const PodAllocations> answer_;
  Published<Grid> grids_;
  Published<SourceStatus> source_;
  Published<PodFacts> pods_;
  ProcessQueue processes_;
  const std::vector<std::shared_ptr<const ProcessIdentity>> identities_ = {Identity(1),
                                                                           Identity(2)};
  std::atomic<int> written_off_ = 0;
  HttpCounters clients_;
  std::optional<Tick> tick_;
};

TEST(SteadyTick, APageAllocatesItsSnapshotAndNothingElse) {
  SteadyNode small(2);
  SteadyNode large(12);
  const std::vector<uint64_t> expected(kRounds - kRoundsToWarmUp, kAllocationsOfASnapshot);
  EXPECT_EQ(small.Run(), expected);
  EXPECT_EQ(large.Run(), expected);
  EXPECT_GT(large.series(), 2 * small.series());
  for (const char* family :
       {"DCGM_EXP_XID_ERRORS_COUNT{", "DCGM_EXP_CLOCK_EVENTS_COUNT{", "DCGM_EXP_GPU_HEALTH_STATUS{",
        "DCGM_EXP_P2P_STATUS{", "podgpu_pod_gpu_xid_errors_total{", "my_gpu_process_energy_joules{",
        "podgpu_process_energy_joules_total{", "podgpu_gpu_energy_by_method_joules_total{"}) {
    EXPECT_NE(large.page().find(family), std::string_view::npos) << family;
  }
}

}  // namespace
}  // namespace podgpu
