#include "exporter/process_refresher.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "base/worker.h"
#include "source/testing/fake_nvml_table.h"
#include "source/testing/fake_proc_files.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

class ProcessRefresherTest : public ::testing::Test {
 protected:
  ProcessRefresherTest() {
    nvml_.gpus = {{"GPU-a", 0, {}}, {"GPU-b", 1, {}}};
    nvml_.gpus[0].processes = {{.pid = 11}};
  }
  ~ProcessRefresherTest() override {
    thread_.RequestStop();
    thread_.JoinWithin(std::chrono::hours(1));
  }

  void Start(std::chrono::milliseconds period = seconds(1)) {
    refresher_.emplace(
        [this]() -> StatusOr<std::unique_ptr<NvmlProcesses>> {
          if (++openings_ <= refusals_) {
            return absl::NotFoundError("libnvidia-ml.so.1 is not there");
          }
          return std::make_unique<NvmlProcesses>(
              nvml_.Library(), NvmlProcessesOptions{.written_off = tally_}, files_, clock_);
        },
        period, seconds(10), control_, clock_, tick_);
    thread_.Start([this](const std::stop_token& stop) { refresher_->Run(stop); });
    clock_.AwaitSleepers(1);
  }
  void Step(seconds step = seconds(1)) {
    clock_.Advance(step);
    clock_.AwaitSleepers(1);
  }
  const ProcessFacts& facts() {
    facts_ = refresher_->queue().facts().Get();
    return *facts_;
  }
  // Returns the number of readings since the last call.
  size_t Taken() {
    std::vector<std::unique_ptr<ProcessReading>> readings;
    refresher_->queue().Take(readings);
    const size_t count = readings.size();
    refresher_->queue().GiveBack(readings);
    return count;
  }
  // Whether the refresher holds NVML.
  int Held() {
    int held = 0;
    nvml_.Change([&] { held = nvml_.initialised; });
    return held;
  }

  const ThreadTally tally_ = NewThreadTally();
  const FakeProcFiles files_;
  ManualClock clock_;
  FakeNvml nvml_;
  Wakeup source_;
  Wakeup tick_;
  DeviceControl control_{clock_, source_};
  int refusals_ = 0;
  int openings_ = 0;
  std::optional<ProcessRefresher> refresher_;
  std::shared_ptr<const ProcessFacts> facts_;
  Worker thread_;
};

TEST_F(ProcessRefresherTest, ReadsAtItsPaceAndDescribesWhatItReads) {
  Start();
  EXPECT_EQ(Taken(), 1U) << "at once";
  EXPECT_EQ(facts().state, PartState::kOk);
  EXPECT_EQ(facts().detail,
            "NVML of libnvidia-ml.so.1 tells the processes of 2 GPUs; accounting is on for 0");
  EXPECT_EQ(facts().uuids, (std::vector<std::string>{"GPU-a", "GPU-b"}));
  Step();
  Step();
  EXPECT_EQ(Taken(), 2U) << "each once";
}

TEST_F(ProcessRefresherTest, MakesNoReadingWhileTheQueueIsFull) {
  Start();
  for (size_t i = 0; i < ProcessQueue::kMostWaiting + 10; ++i) {
    Step();
  }
  EXPECT_EQ(Taken(), ProcessQueue::kMostWaiting);
  Step();
  EXPECT_EQ(Taken(), 1U);
  EXPECT_EQ(facts().failures, 0U);
}

TEST_F(ProcessRefresherTest, RetriesUntilNvmlIsFound) {
  refusals_ = 2;
  Start();
  EXPECT_EQ(facts().state, PartState::kWaiting);
  EXPECT_EQ(facts().detail,
            "libnvidia-ml.so.1 is not there. Processes and their energy are not shown meanwhile");
  Step();
  EXPECT_EQ(facts().failures, 2U);
  Step();
  EXPECT_EQ(facts().state, PartState::kOk);
  EXPECT_EQ(openings_, 3);
  EXPECT_EQ(Taken(), 1U);
}

TEST_F(ProcessRefresherTest, ContinuesWhenTheDriverIsBack) {
  Start();
  Taken();
  nvml_.SetDown(true);
  Step();
  EXPECT_EQ(facts().state, PartState::kWaiting);
  EXPECT_EQ(Taken(), 0U);
  nvml_.SetDown(false);
  Step();
  EXPECT_EQ(facts().state, PartState::kOk);
  EXPECT_EQ(Taken(), 1U);
}

TEST_F(ProcessRefresherTest, ReleasesNvmlAtOnceWhenAnOperatorAsks) {
  Start(std::chrono::hours(1));
  Taken();
  EXPECT_EQ(Held(), 1);
  control_.ReleaseFor(seconds(30));
  clock_.AwaitSleepers(1);
  EXPECT_EQ(Held(), 0) << "not at the next reading";
  EXPECT_EQ(facts().state, PartState::kWaiting);
  EXPECT_EQ(facts().detail,
            "the devices are released for 30 s; processes and their energy are not read meanwhile");
  Step(seconds(29));
  EXPECT_EQ(Taken(), 0U);
  Step();
  EXPECT_EQ(Taken(), 1U) << "as soon as the request ends";
  EXPECT_EQ(facts().state, PartState::kOk);
  control_.ReleaseFor(seconds(3'000));
  clock_.AwaitSleepers(1);
  control_.ReleaseFor(seconds(0));
  clock_.AwaitSleepers(1);
  EXPECT_EQ(Taken(), 1U);
  EXPECT_EQ(Held(), 1);
}

TEST_F(ProcessRefresherTest, ReleasesNvmlForADeviceAtMostOncePerMinute) {
  nvml_.gpus[1].mig_pending = true;
  Start();
  EXPECT_EQ(Taken(), 1U);
  EXPECT_EQ(facts().detail,
            "the devices are released for 10 s, since GPU 1: a change of its MIG mode waits; "
            "processes and their energy are not read meanwhile");
  const int before = nvml_.CountOf("nvmlInit_v2");
  for (int second = 0; second < 9; ++second) {
    Step();
    EXPECT_EQ(Held(), 0);
  }
  EXPECT_EQ(nvml_.CountOf("nvmlInit_v2"), before);
  EXPECT_EQ(Taken(), 0U);
  for (int second = 9; second < 59; ++second) {
    Step();
    EXPECT_EQ(Held(), 0) << "also between readings";
  }
  EXPECT_EQ(Taken(), 50U);
  for (int second = 59; second < 68; ++second) {
    Step();
  }
  EXPECT_LE(Taken(), 2U) << "once more after a minute";
}

TEST_F(ProcessRefresherTest, ReleaseIsInterruptedWhenItHangs) {
  Start();
  FakeFault hang;
  hang.block = FakeFault::Block::kUntilFreed;
  nvml_.Inject("nvmlShutdown", hang);
  control_.ReleaseFor(seconds(30));
  nvml_.AwaitHanging();
  refresher_->guard().InterruptNow();
  clock_.AwaitSleepers(1);
  EXPECT_EQ(facts().state, PartState::kWaiting);
  EXPECT_EQ(*tally_, 1);
  nvml_.Heal("nvmlShutdown");
  while (*tally_ != 0) {  // The library must not end before the call has returned.
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace podgpu
