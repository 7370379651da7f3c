#include "exporter/reader.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "base/worker.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A reader on its own thread; the test controls the driver and the clock.
class ReaderTest : public ::testing::Test {
 protected:
  ~ReaderTest() override {
    driver_.Release();
    thread_.RequestStop();
    thread_.JoinWithin(std::chrono::hours(1));
  }

  ReaderOptions Options() {
    ReaderOptions options;
    options.list.fields = {FindField(150), FindField(203), FindField(230)};
    options.period = seconds(1);
    options.stale_after = seconds(5);
    options.list_pci_gpus = [this] { return on_bus_; };
    options.explain_no_driver = [this] { return no_driver_; };
    return options;
  }
  void Start() {
    reader_.emplace(
        [this]() -> StatusOr<std::unique_ptr<Source>> {
          if (!library_present_) {
            return absl::NotFoundError("no driver yet");
          }
          return std::make_unique<FakeSource>(driver_);
        },
        Options(), clock_, guard_, wakeup_);
    thread_.Start([this](const std::stop_token& stop) { reader_->Run(stop); });
    clock_.AwaitSleepers(1);
  }
  void Step(Duration step) {
    clock_.Advance(step);
    clock_.AwaitSleepers(1);
  }
  SourceStatus status() const { return *reader_->statuses().Get(); }
  std::shared_ptr<const Grid> grid() const { return reader_->grids().Get(); }

  ManualClock clock_;
  Wakeup wakeup_;
  CallGuard guard_{clock_, seconds(10)};
  FakeDriver driver_;
  std::atomic<bool> library_present_ = true;
  std::vector<std::string> on_bus_;
  NoDriver no_driver_;
  std::optional<Reader> reader_;
  Worker thread_;
};

TEST_F(ReaderTest, PublishesAGridPerPeriod) {
  Start();
  const std::shared_ptr<const Grid> first = grid();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->at(FieldRow{0}, EntityId{1}).int64(), 42);
  EXPECT_EQ(status().state, PartState::kOk);
  EXPECT_EQ(status().detail, "fake driver: 2 GPUs, 0 MIG instances, read every 1 s");
  Step(milliseconds(500));
  EXPECT_EQ(grid(), first);
  Step(milliseconds(500));
  EXPECT_NE(grid(), first);
  EXPECT_EQ(grid()->topology().epoch, first->topology().epoch);
  EXPECT_EQ(driver_.watches(), 1);
}

TEST_F(ReaderTest, ReadsAtTheShortestIntervalAndTellsTheCollections) {
  Start();
  const auto collections = std::make_shared<const FieldCollections>(
      FieldCollections{{"slow", seconds(60), {150}}, {"fast", milliseconds(250), {203}}});
  reader_->ReadInstead({Options().list.fields, {}, collections});
  Step(milliseconds(0));
  EXPECT_EQ(driver_.collections.Get(), collections);
  EXPECT_EQ(status().detail,
            "fake driver: 2 GPUs, 0 MIG instances, read every 1 s (slow, 1 field: every 60 s; "
            "fast, 1 field: every 0.25 s)");
  const std::shared_ptr<const Grid> first = grid();
  EXPECT_EQ(first->PeriodOf(FieldRow{0}), seconds(60));
  Step(milliseconds(250));
  EXPECT_NE(grid(), first);
  reader_->ReadInstead({Options().list.fields, {}});
  Step(milliseconds(0));
  EXPECT_EQ(driver_.collections.Get(), nullptr);
  EXPECT_EQ(grid()->PeriodOf(FieldRow{0}), seconds(0));
}

// As a page is made: at any time, the grid first.
TEST_F(ReaderTest, AGridNeverComesBeforeItsStatus) {
  Start();
  std::jthread page([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const size_t listed = grid()->topology().gpus.size();
      ASSERT_GE(status().expected_gpus, listed);
    }
  });
  for (uint32_t gpus = 3; gpus <= 20; ++gpus) {
    driver_.SetTopology(FakeDriver::Gpus(gpus));
    Step(seconds(10));
  }
}

TEST_F(ReaderTest, WaitsForADriverThatIsInstalledLater) {
  library_present_ = false;
  Start();
  EXPECT_EQ(grid(), nullptr);
  EXPECT_EQ(status().state, PartState::kWaiting);
  EXPECT_EQ(status().detail, "no driver yet. Retrying in 1 s");
  Step(seconds(1));
  EXPECT_EQ(status().detail, "no driver yet. Retrying in 2 s");
  library_present_ = true;
  Step(seconds(2));
  EXPECT_EQ(status().state, PartState::kOk);
  EXPECT_NE(grid(), nullptr);
}

TEST_F(ReaderTest, NeedsNoDriverOnAMachineWithoutAGpu) {
  library_present_ = false;
  no_driver_.has_no_gpu = true;
  Start();
  EXPECT_EQ(status().state, PartState::kOk);
  EXPECT_EQ(
      status().detail,
      "no NVIDIA GPU on this node: the PCI bus has none, and the driver is not loaded; podgpu "
      "looks again every 10 s");
  EXPECT_TRUE(status().needs_no_driver);
  no_driver_.library_is_named = true;
  Step(seconds(1));
  EXPECT_TRUE(status().detail.ends_with("every 10 s. no driver yet. Retrying in 2 s"));
  // A GPU is plugged in, then its driver is loaded.
  no_driver_ = {.has_no_gpu = false, .remedy = "load the driver"};
  Step(seconds(2));
  EXPECT_EQ(status().state, PartState::kWaiting);
  EXPECT_EQ(status().remedy, "load the driver");
  EXPECT_FALSE(status().needs_no_driver);
  library_present_ = true;
  Step(seconds(4));
  EXPECT_EQ(status().state, PartState::kOk);
  EXPECT_EQ(status().remedy, "");
  // A GPU that was there is missed, even if the bus no longer has it.
  no_driver_.has_no_gpu = true;
  library_present_ = false;
  driver_.FailRead(absl::UnavailableError("the driver is gone"));
  Step(seconds(1));
  EXPECT_EQ(status().state, PartState::kUnresponsive);
}

TEST_F(ReaderTest, NeverWaitsLongerThanTheLongestRetry) {
  library_present_ = false;
  Start();
  for (int i = 0; i < 10; ++i) {
    Step(seconds(10));
  }
  EXPECT_EQ(status().detail, "no driver yet. Retrying in 10 s");
}

TEST_F(ReaderTest, RecoversAfterAFailedReading) {
  Start();
  driver_.FailRead(absl::UnavailableError("the host engine closed the connection (DCGM -21)"));
  Step(seconds(1));
  EXPECT_EQ(status().state, PartState::kUnresponsive);
  EXPECT_EQ(status().detail, "the host engine closed the connection (DCGM -21). Retrying in 1 s");
  EXPECT_EQ(status().read_failures, 1U);
  driver_.FailRead(absl::OkStatus());
  Step(seconds(1));
  EXPECT_EQ(status().state, PartState::kOk);
  EXPECT_EQ(status().connections, 2U);
  EXPECT_EQ(driver_.watches(), 2);
}

TEST_F(ReaderTest, ANewEpochBeginsOnlyWhenTheDevicesChange) {
  Start();
  EXPECT_EQ(grid()->topology().epoch, 1U);
  for (int i = 0; i < 10; ++i) {
    Step(seconds(1));
  }
  EXPECT_GT(driver_.discoveries(), 1);
  EXPECT_EQ(grid()->topology().epoch, 1U);
  driver_.SetTopology(FakeDriver::Gpus(3));
  for (int i = 0; i < 10; ++i) {
    Step(seconds(1));
  }
  EXPECT_EQ(grid()->topology().epoch, 2U);
  EXPECT_EQ(grid()->topology().gpus.size(), 3U);
  EXPECT_EQ(driver_.watches(), 2);
  EXPECT_EQ(status().expected_gpus, 3U);
}

// An engine that found no NVML lists no GPU, also on a node with GPUs.
TEST_F(ReaderTest, WaitsForAnEngineThatHasNoDriver) {
  Topology none = FakeDriver::Gpus(0);
  none.driver_absence = "runs without the driver's library";
  driver_.SetTopology(none);
  Start();
  EXPECT_EQ(status().state, PartState::kWaiting);
  EXPECT_EQ(status().detail, "fake driver runs without the driver's library");
  EXPECT_EQ(status().remedy,
            "install the driver; restart a host engine that was started before it");
  driver_.SetTopology(FakeDriver::Gpus(2));
  Step(seconds(1));
  EXPECT_EQ(status().state, PartState::kOk) << status().detail;
}

// The image with DCGM on a node without a GPU: the engine starts and needs no driver.
TEST_F(ReaderTest, AnEngineNeedsNoDriverOnAMachineWithoutAGpu) {
  Topology none = FakeDriver::Gpus(0);
  none.driver_absence = "runs without the driver's library";
  driver_.SetTopology(none);
  no_driver_.has_no_gpu = true;
  Start();
  EXPECT_EQ(status().state, PartState::kOk);
  EXPECT_TRUE(status().needs_no_driver);
  // The engine ends, and a GPU comes meanwhile.
  no_driver_.has_no_gpu = false;
  driver_.FailDiscover(absl::UnavailableError("the engine is gone"));
  Step(seconds(1));
  EXPECT_FALSE(status().needs_no_driver);
  EXPECT_NE(status().state, PartState::kOk) << status().detail;
}

TEST_F(ReaderTest, SaysThatItWaitsOnANodeWithoutGpus) {
  driver_.SetTopology(FakeDriver::Gpus(0));
  Start();
  EXPECT_EQ(status().state, PartState::kWaiting);
  EXPECT_EQ(status().detail, "fake driver answers and lists no GPU");
  ASSERT_NE(grid(), nullptr);
  EXPECT_TRUE(grid()->cells().empty());
  EXPECT_EQ(driver_.watches(), 0);
}

TEST_F(ReaderTest, RefusedProfilingDegradesTheStateAndNamesTheReason) {
  driver_.RefuseProfiling("the profiling module is absent");
  Start();
  EXPECT_EQ(status().state, PartState::kDegraded);
  EXPECT_NE(status().detail.find("some fields are absent: the profiling module is absent"),
            std::string::npos);
}

// The state depends on where the list comes from and which fields are refused.
TEST_F(ReaderTest, MissingProfilingIsNoFaultWithTheDefaultList) {
  driver_.RefuseProfiling("no profiling fields: the module is not loaded");
  Start();
  EXPECT_EQ(status().state, PartState::kDegraded) << "the counters file lists them";
  ReadList by_default{Options().list.fields, {}, nullptr, true};
  reader_->ReadInstead(by_default);
  Step(seconds(1));
  EXPECT_EQ(status().state, PartState::kOk);
  EXPECT_NE(status().detail.find("some fields are absent: no profiling fields: the module"),
            std::string::npos)
      << "a note, not a fault";
  driver_.RefuseField("the engine refuses field 150");
  reader_->ReadInstead(by_default);
  Step(seconds(1));
  EXPECT_EQ(status().state, PartState::kDegraded) << "a field that is not of profiling";
}

TEST_F(ReaderTest, ExpectsTheGpusThatTheBusShows) {
  library_present_ = false;
  on_bus_ = {"0000:1b:00.0", "0000:1c:00.0", "0000:1d:00.0"};
  Start();
  EXPECT_EQ(status().expected_gpus, 3U) << "before there is a driver";
  library_present_ = true;
  Step(seconds(1));
  EXPECT_EQ(status().expected_gpus, 3U) << "the driver lists two, and one is on the bus";
  on_bus_ = {"0000:9c:00.0"};
  driver_.SetTopology(FakeDriver::Gpus(1));
  Step(seconds(11));
  EXPECT_EQ(status().expected_gpus, 2U) << "another machine's bus; two were seen together";
}

TEST_F(ReaderTest, TriesRefusedFieldsAgainEachMinute) {
  driver_.RefuseProfiling("the profiling module is absent");
  Start();
  for (int i = 0; i < 59; ++i) {
    Step(seconds(1));
  }
  EXPECT_EQ(driver_.watches(), 1);
  driver_.AcceptProfiling();
  Step(seconds(1));
  Step(seconds(1));
  EXPECT_EQ(driver_.watches(), 2);
  EXPECT_EQ(status().state, PartState::kOk);
}

TEST_F(ReaderTest, SaysThatNvmlStandsInAndLooksForTheEngineEachMinute) {
  driver_.StandIn("NVML is read in place of the host engine", "install the package");
  Start();
  EXPECT_EQ(status().state, PartState::kDegraded);
  EXPECT_TRUE(status().detail.ends_with("; NVML is read in place of the host engine"));
  EXPECT_EQ(status().remedy, "install the package");
  reader_->control().ReleaseFor(seconds(5));
  clock_.AwaitSleepers(1);
  Step(seconds(1));
  EXPECT_EQ(status().state, PartState::kWaiting);
  EXPECT_EQ(status().remedy, "") << "the package would not end the release";
  Step(seconds(5));
  EXPECT_EQ(status().remedy, "install the package");
  driver_.AcceptProfiling();
  for (int i = 0; i < 61; ++i) {
    Step(seconds(1));
  }
  EXPECT_EQ(driver_.watches(), 3) << "at the start, after the release, and a minute later";
  EXPECT_EQ(status().state, PartState::kOk);
  EXPECT_EQ(status().remedy, "");
}

TEST_F(ReaderTest, ScansAtOnceWhenADeviceGivesNoFreshValues) {
  Start();
  const int looks = driver_.discoveries();
  Topology lost = FakeDriver::Gpus(2);
  lost.gpus[1].state = DeviceState::kLost;
  driver_.SetTopology(lost);
  driver_.Silence(1);
  Step(seconds(1));
  EXPECT_EQ(driver_.discoveries(), looks + 1);
  EXPECT_EQ(grid()->topology().gpus[1].state, DeviceState::kLost) << "on the same page";
  EXPECT_TRUE(grid()->at(FieldRow{0}, EntityId{0}).present());
  EXPECT_EQ(grid()->topology().epoch, 1U) << "the device stays on the page";
  driver_.SetTopology(FakeDriver::Gpus(2));
  driver_.Speak();
  Step(seconds(1));
  EXPECT_EQ(grid()->topology().gpus[1].state, DeviceState::kOk)
      << "a scan before each reading while one is lost";
}

TEST_F(ReaderTest, ScansForPartsOnlyWhenOneOfTheirFieldsIsRead) {
  Start();
  EXPECT_EQ(driver_.kinds(), PartKinds{});
  Topology with_parts = FakeDriver::Gpus(2);
  with_parts.parts = {{.kind = PartKind::kNvSwitch, .id = 0},
                      {.kind = PartKind::kNvLink, .id = 0, .gpu = 0},
                      {.kind = PartKind::kNvLink, .id = 1, .gpu = 0}};
  driver_.SetTopology(with_parts);
  reader_->ReadInstead({{FindField(150), FindField(780)}});
  Step(seconds(1));
  EXPECT_EQ(driver_.kinds(), (PartKinds{.switches = true, .links = true}));
  EXPECT_EQ(grid()->ColumnsOf(*grid()->RowOf(780)).count, 3U);
  EXPECT_EQ(status().detail,
            "fake driver: 2 GPUs, 0 MIG instances, 1 switches, 2 links, read every 1 s");
  with_parts.parts_absence = "NVLinks and switches: the engine does not tell";
  driver_.SetTopology(with_parts);
  Step(seconds(10));
  EXPECT_EQ(status().state, PartState::kDegraded);
  EXPECT_EQ(status().detail,
            "fake driver: 2 GPUs, 0 MIG instances, 1 switches, 2 links, read every 1 s; absent or "
            "from the last scan: NVLinks and switches: the engine does not tell");
}

TEST_F(ReaderTest, ReadsCpusWhileThereIsNoGpuAndSaysSo) {
  Start();
  Topology no_gpu;
  no_gpu.parts = {{.kind = PartKind::kCpu, .id = 0}};
  driver_.SetTopology(no_gpu);
  reader_->ReadInstead({{FindField(1110)}});
  Step(seconds(1));
  EXPECT_TRUE(grid()->at(FieldRow{0}, EntityId{0}).present());
  EXPECT_EQ(status().state, PartState::kDegraded);
  EXPECT_EQ(status().detail,
            "fake driver: 0 GPUs, 0 MIG instances, 1 CPUs, read every 1 s; it lists no GPU");
}

TEST_F(ReaderTest, ContinuesReadingWhileDeviceScansFail) {
  Start();
  driver_.FailDiscover(absl::InternalError("counts 99 GPUs"));
  Step(seconds(11));
  const std::shared_ptr<const Grid> before = grid();
  Step(seconds(1));
  EXPECT_NE(grid(), before);
  EXPECT_TRUE(grid()->at(FieldRow{0}, EntityId{0}).present());
  EXPECT_EQ(status().state, PartState::kDegraded);
  EXPECT_EQ(status().detail,
            "fake driver: 2 GPUs, 0 MIG instances, read every 1 s; shows the last known devices, "
            "since counts 99 GPUs");
  driver_.FailDiscover(absl::OkStatus());
  Step(seconds(1));
  EXPECT_EQ(status().state, PartState::kOk);
}

TEST_F(ReaderTest, ReleasesTheDevicesOnRequestAndOpensThemAgain) {
  Start();
  reader_->control().ReleaseFor(seconds(30));
  clock_.AwaitSleepers(1);
  EXPECT_EQ(driver_.let_gos.load(), 1) << "at once, not at the next reading";
  EXPECT_EQ(status().state, PartState::kWaiting);
  EXPECT_EQ(status().detail,
            "the devices are released for 30 s; podgpu opens them again afterwards");
  const int discoveries = driver_.discoveries();
  Step(seconds(29));
  EXPECT_EQ(driver_.discoveries(), discoveries);
  Step(seconds(1));
  EXPECT_EQ(driver_.discoveries(), discoveries + 1);
  EXPECT_EQ(status().state, PartState::kOk);
}

TEST_F(ReaderTest, OpensTheDevicesEarlierOnRequest) {
  Start();
  reader_->control().ReleaseFor(seconds(3'000));
  clock_.AwaitSleepers(1);
  reader_->control().ReleaseFor(seconds(0));
  clock_.AwaitSleepers(1);
  EXPECT_EQ(status().state, PartState::kOk);
  EXPECT_EQ(driver_.let_gos.load(), 1);
}

TEST_F(ReaderTest, ReleasesTheDevicesForTheDriverAtMostOncePerMinute) {
  Start();
  driver_.need = "GPU 0: a change of its MIG mode waits";
  Step(seconds(1));
  EXPECT_EQ(driver_.let_gos.load(), 1);
  EXPECT_EQ(status().detail,
            "the devices are released for 10 s, since GPU 0: a change of its MIG mode waits; "
            "podgpu opens them again afterwards");
  Step(seconds(10));
  EXPECT_EQ(status().state, PartState::kOk) << "open again";
  for (int second = 11; second < 60; ++second) {
    Step(seconds(1));
  }
  EXPECT_EQ(driver_.let_gos.load(), 1);
  Step(seconds(2));
  EXPECT_EQ(driver_.let_gos.load(), 2);
}

TEST_F(ReaderTest, PausesProfilingForATime) {
  Start();
  const int watches = driver_.watches();
  reader_->control().PauseProfilingFor(seconds(20));
  clock_.AwaitSleepers(1);
  EXPECT_FALSE(driver_.profiles.load());
  EXPECT_EQ(driver_.watches(), watches + 1);
  EXPECT_TRUE(status().detail.ends_with("read every 1 s, profiling paused on request"));
  for (int second = 0; second < 20; ++second) {
    Step(seconds(1));
  }
  EXPECT_TRUE(driver_.profiles.load());
  EXPECT_EQ(driver_.watches(), watches + 2);
  EXPECT_TRUE(status().detail.ends_with("read every 1 s"));
}

TEST_F(ReaderTest, TheWatchdogInterruptsAHungReading) {
  Start();
  driver_.BlockReads(/*interruptible=*/true);
  Worker watchdog;
  watchdog.Start([this](const std::stop_token& stop) { guard_.Watch(stop); });
  clock_.AwaitSleepers(2);
  clock_.Advance(seconds(1));
  driver_.AwaitBlockedRead();
  while (guard_.interrupts() == 0) {  // Only the watchdog sleeps.
    clock_.AwaitSleepers(1);
    clock_.Advance(seconds(1));
  }
  while (status().connections < 2) {  // The reader sleeps too, between two attempts.
    clock_.AwaitSleepers(2);
    clock_.Advance(seconds(1));
  }
  EXPECT_EQ(guard_.interrupts(), 1U);
  EXPECT_EQ(status().read_failures, 1U);
  watchdog.RequestStop();
  EXPECT_TRUE(watchdog.JoinWithin(std::chrono::hours(1)));
}

TEST(CallGuard, ShowsTheRunningCallAndRemembersTheLastOne) {
  ManualClock clock;
  FakeDriver driver;
  FakeSource source(driver);
  CallGuard guard(clock, seconds(10));
  EXPECT_FALSE(guard.Current().has_value());
  {
    const CallGuard::Scope scope(guard, &source, SourceCall::kRead);
    clock.Advance(seconds(3));
    EXPECT_EQ(guard.Current()->elapsed, seconds(3));
    EXPECT_FALSE(guard.Current()->past_deadline);
    clock.Advance(seconds(7));
    EXPECT_TRUE(guard.Current()->past_deadline);
  }
  EXPECT_FALSE(guard.Current().has_value());
  EXPECT_EQ(guard.LastSeconds()[static_cast<size_t>(SourceCall::kRead)], 10.0);
  EXPECT_EQ(guard.LastSeconds()[static_cast<size_t>(SourceCall::kOpen)], std::nullopt);
}

}  // namespace
}  // namespace podgpu
