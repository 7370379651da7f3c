#include "health/state_log.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "attribution/join.h"
#include "base/testing/manual_clock.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// The log lines of a node with two GPUs, one of them held by a pod; one step is one second.
class StateLogTest : public ::testing::Test {
 protected:
  StateLogTest() {
    facts_.config = std::make_shared<const ConfigNotes>();
    facts_.stale_after = seconds(5);
    auto pods = std::make_shared<PodFacts>();
    pods->value = std::make_shared<const PodAllocations>();
    pods->detail = "kubelet.sock does not exist. Mount the directory, not the file";
    facts_.pods = pods;
    facts_.owners_are_known = true;
    facts_.owners_stay_for = seconds(60);
    facts_.metadata_stays_for = minutes(5);
    facts_.source = std::make_shared<const SourceStatus>(
        SourceStatus{PartState::kOk, "fake driver: 2 GPUs", 1, 0, 2});
    SetGpus(FakeDriver::Gpus(2));
  }

  void SetGpus(Topology topology) {
    auto shared = std::make_shared<const Topology>(std::move(topology));
    facts_.owners = std::make_shared<const Owners>(Join(*shared, allocations_, {}));
    grid_ = std::make_shared<Grid>(shared, std::vector<const Field*>{});
    facts_.grid = grid_;
  }
  void SetState(size_t gpu, DeviceState state) {
    Topology topology = facts_.grid->topology();
    topology.gpus[gpu].state = state;
    SetGpus(topology);
  }
  void SetSource(PartState state, std::string detail) {
    facts_.source =
        std::make_shared<const SourceStatus>(SourceStatus{state, std::move(detail), 1, 0, 2});
  }
  // Returns what the next `steps` seconds log.
  std::string Lines(int steps = 1) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < steps; ++i) {
      facts_.now += seconds(1);
      grid_->read_at = facts_.now;
      const ConditionBasis basis = BasisOf(facts_);
      log_.Note(facts_, basis, Judge(basis));
    }
    return testing::internal::GetCapturedStderr();
  }
  static int64_t Count(std::string_view lines) { return std::ranges::count(lines, '\n'); }

  const std::vector<Allocation> allocations_ = {
      {"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(1)}};
  TickFacts facts_;
  std::shared_ptr<Grid> grid_;
  StateLog log_;
};

bool HasPart(std::string_view lines, std::string_view part) {
  return lines.find(part) != std::string_view::npos;
}

TEST_F(StateLogTest, ANodeThatBecomesReadyIsOneLine) {
  SetSource(PartState::kStarting, "opening the driver library");
  facts_.grid = nullptr;
  EXPECT_EQ(Lines(), "");
  facts_.grid = grid_;
  SetSource(PartState::kOk, "fake driver: 2 GPUs");
  const std::string lines = Lines(100);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines,
                      "level=INFO msg=\"device source state changed\" state=ok "
                      "detail=\"fake driver: 2 GPUs\" ready=yes "
                      "verdict=\"ready: 2 GPUs have fresh samples\""))
      << lines;
}

TEST_F(StateLogTest, AnUnresponsiveGpuIsOneLineWithPodCauseAndRemedy) {
  Lines();
  facts_.freshness.awaited.set(1);
  EXPECT_EQ(Lines(), "") << "the next reading may have a value";
  facts_.freshness.awaited.reset();
  facts_.freshness.unresponsive.set(1);
  facts_.freshness.reasons[1] = Absence::kStale;
  const std::string lines = Lines(3'600);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(
      lines,
      "level=WARN msg=\"GPU state changed\" state=unresponsive gpu=1 uuid=" + FakeDriver::Uuid(1) +
          " pod=ml/train-0 cause=\"its samples are older than 5.0 s\" remedy=\"run "
          "nvidia-smi on the node"))
      << lines;
  EXPECT_TRUE(
      HasPart(lines, " source=ok ready=no verdict=\"not ready: GPU 1 without a fresh value"))
      << lines;
  facts_.freshness.unresponsive.reset();
  const std::string after = Lines(10);
  EXPECT_EQ(Count(after), 1) << after;
  EXPECT_TRUE(HasPart(after, "level=INFO msg=\"GPU state changed\" state=ok gpu=1"));
  EXPECT_TRUE(HasPart(after, " ready=yes verdict=\"ready: 2 GPUs have fresh samples\"\n")) << after;
}

TEST_F(StateLogTest, AThrottledGpuIsOneLineAWorseLossAnotherAndItsEndAThird) {
  Lines();
  facts_.freshness.losses[1] = DeviceLoss::kHardwareThermal;
  std::string lines = Lines(100);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines, "level=WARN msg=\"GPU state changed\" state=degraded gpu=1 uuid=" +
                                 FakeDriver::Uuid(1) +
                                 " pod=ml/train-0 cause=\"the board slows it down because it is "
                                 "hot (hw_thermal)\" remedy=\"check the cooling of the node"))
      << lines;
  EXPECT_TRUE(HasPart(lines, " ready=yes verdict=")) << "its values are served";
  facts_.freshness.losses[1] = DeviceLoss::kSoftwareThermal;
  EXPECT_EQ(Lines(10), "") << "a lighter loss needs no other remedy";
  facts_.freshness.losses[1] = DeviceLoss::kRemapPending;
  lines = Lines(10);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines,
                      "cause=\"rows of its memory wait for a reset to be remapped\" "
                      "remedy=\"drain the GPU and reset it\""))
      << lines;
  facts_.freshness.losses[1] = DeviceLoss::kNone;
  lines = Lines(10);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines, "level=INFO msg=\"GPU state changed\" state=ok gpu=1")) << lines;
  EXPECT_TRUE(HasPart(lines, "cause=\"it works fully again\"")) << lines;
}

TEST_F(StateLogTest, ALostGpuIsOneLineAndItsReturnAnother) {
  Lines();
  SetState(1, DeviceState::kLost);
  const std::string lines = Lines(100);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines, "state=lost gpu=1 uuid=" + FakeDriver::Uuid(1) + " pod=ml/train-0"));
  EXPECT_TRUE(HasPart(lines, "remedy=\"read the kernel log for NVRM: Xid;")) << lines;
  EXPECT_TRUE(HasPart(lines, " ready=yes verdict=\"ready: 1 of 2 GPUs served, 1 lost\"\n"))
      << "the other GPU is served";
  SetState(1, DeviceState::kRecovering);
  EXPECT_EQ(Lines(), "");
  SetState(1, DeviceState::kOk);
  facts_.freshness.awaited.set(1);
  EXPECT_EQ(Lines(), "") << "the GPU is not ok before it has a value";
  facts_.freshness.awaited.reset();
  EXPECT_EQ(Count(Lines(10)), 1);
}

TEST_F(StateLogTest, Statement37TheLineOfALostGpuNamesItsLastXidAndItsReturnNamesTheLoss) {
  Lines();
  const std::vector<XidCount> xids = {{.gpu = 0, .code = 13, .total = 1, .last_us = 99'000'000},
                                      {.gpu = 1, .code = 31, .total = 1, .last_us = 70'000'000},
                                      {.gpu = 1, .code = 94, .total = 1, .last_us = 60'000'000}};
  grid_->findings.xids = xids;
  Lines();
  SetState(1, DeviceState::kLost);
  grid_->findings.xids = xids;
  grid_->read_at_wall = WallTime(seconds(100));
  std::string lines = Lines();
  EXPECT_TRUE(HasPart(lines,
                      "cause=\"the driver no longer reaches it: it fell off the bus or was "
                      "unbound; its last XID was 31, 30 s before\" remedy="))
      << lines;
  SetState(1, DeviceState::kOk);
  lines = Lines();
  EXPECT_TRUE(HasPart(lines, "state=ok gpu=1 uuid=" + FakeDriver::Uuid(1) +
                                 " pod=ml/train-0 cause=\"the driver reaches it again, and it "
                                 "gives values\" remedy=\"none is needed\""))
      << lines;
  SetState(0, DeviceState::kLost);
  lines = Lines();
  EXPECT_TRUE(HasPart(lines, "it fell off the bus or was unbound\" remedy=")) << lines;
}

TEST_F(StateLogTest, AHungCallIsOneLineEvenIfItReturnsAndHangsAgain) {
  Lines();
  facts_.running = RunningCall{SourceCall::kRead, seconds(11), true};
  std::string lines = Lines(3);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines,
                      "state=unresponsive detail=\"the call \\\"read\\\" has not returned "
                      "for 11.0 s"))
      << lines;
  EXPECT_TRUE(HasPart(lines, "remedy=\"the driver or the engine hangs: read the kernel log;"));
  facts_.running.reset();
  facts_.awaits_reading = true;
  lines = Lines(3);
  facts_.running = RunningCall{SourceCall::kRead, seconds(12), true};
  lines += Lines(3);
  EXPECT_EQ(lines, "") << "no reading has ended in between";
  facts_.grid_age = seconds(6);
  lines = Lines(60);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines,
                      "msg=\"readiness has changed\" ready=no verdict=\"not ready: the "
                      "newest sample is 6.0 s old and withdrawn\""))
      << lines;
  facts_.running.reset();
  facts_.awaits_reading = false;
  EXPECT_EQ(Lines(), "") << "the newest reading is old";
  facts_.grid_age = seconds(0);
  lines = Lines(60);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines, "state=ok")) << lines;
}

TEST_F(StateLogTest, FactsAboutPodsAreWithdrawnAndReturnWithALineEach) {
  Lines();
  facts_.owners_are_known = false;
  std::string lines = Lines(60);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines,
                      "level=WARN msg=\"owners of GPUs are withdrawn\" gpu=all pod=all "
                      "cause=\"no new list for 60 s: kubelet.sock does not exist. Mount the "
                      "directory, not the file\" remedy=\"remove the cause; device values "
                      "continue, and podgpu retries by itself\" ready=yes"))
      << lines;
  facts_.owners_are_known = true;
  lines = Lines(60);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines, "level=INFO msg=\"owners of GPUs are known again\"")) << lines;

  auto api = std::make_shared<ApiFacts>();
  facts_.api_pods = api;
  EXPECT_EQ(Lines(60), "") << "no list has come yet";
  auto answered = std::make_shared<ApiFacts>();
  answered->value = std::make_shared<const ApiObjects>();
  answered->detail = "the API server at 10.0.0.1:443 does not answer";
  facts_.api_pods = answered;
  lines = Lines(60);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines,
                      "msg=\"labels and uids of pods are withdrawn\" gpu=all pod=all cause=\"no "
                      "new list for 300 s: the API server at 10.0.0.1:443 does not answer\""))
      << lines;
  facts_.usable_pods = answered->value;
  EXPECT_TRUE(HasPart(Lines(), "labels and uids of pods are known again"));
}

TEST_F(StateLogTest, OneReadingWithoutValuesIsNotLogged) {
  Lines();
  facts_.freshness.awaited.set(0);
  facts_.freshness.awaited.set(1);
  EXPECT_FALSE(Judge(BasisOf(facts_)).ready);
  EXPECT_EQ(Lines(2), "");
  facts_.freshness.awaited.reset();
  EXPECT_EQ(Lines(2), "");
}

TEST_F(StateLogTest, AFaultOfAllGpusIsOneLine) {
  Lines();
  facts_.freshness.unresponsive.set(0);
  facts_.freshness.unresponsive.set(1);
  facts_.freshness.reasons.fill(Absence::kNoData);
  const std::string lines = Lines(600);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines,
                      "device source state changed\" state=unresponsive "
                      "detail=\"fake driver: 2 GPUs; no GPU gives a fresh value, since"))
      << lines;
  SetSource(PartState::kUnresponsive, "the engine is begun again. Next look in 1 s");
  EXPECT_EQ(Lines(10), "");
  SetSource(PartState::kOk, "fake driver: 2 GPUs");
  EXPECT_EQ(Lines(10), "") << "the engine answers but still gives no values";
}

TEST_F(StateLogTest, ARebindIsThreeLines) {
  Lines();
  SetState(0, DeviceState::kLost);
  SetState(1, DeviceState::kLost);
  std::string lines = Lines(2);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines, "device source state changed\" state=unresponsive")) << lines;
  EXPECT_TRUE(
      HasPart(lines,
              "ready=no verdict=\"not ready: no GPU is served: the driver has lost or "
              "released them, 2 lost\" remedy=\"none is needed if a GPU is being unbound or "
              "bound: DCGM then releases all GPUs"))
      << lines;
  SetState(0, DeviceState::kOk);
  facts_.freshness.awaited.set(0);
  EXPECT_EQ(Lines(), "") << "GPU 0 has no value yet";
  facts_.freshness.awaited.reset();
  lines = Lines(10);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines, "GPU state changed\" state=lost gpu=1")) << lines;
  EXPECT_TRUE(HasPart(lines, "ready=yes verdict=\"ready: 1 of 2 GPUs served, 1 lost\"")) << lines;
  SetState(1, DeviceState::kOk);
  lines = Lines(10);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines, "GPU state changed\" state=ok gpu=1")) << lines;
}

TEST_F(StateLogTest, AGpuThatStaysSilentAfterAFaultOfAllIsToldWithTheEndOfThatFault) {
  Lines();
  facts_.freshness.unresponsive.set(0);
  facts_.freshness.unresponsive.set(1);
  facts_.freshness.reasons.fill(Absence::kStale);
  std::string lines = Lines(10);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines, "remedy=\"if a diagnosis (dcgmi diag) runs, wait for its end;"))
      << lines;
  facts_.freshness.unresponsive.reset(0);
  EXPECT_EQ(Lines(4), "") << "GPU 1 may follow";
  lines = Lines(10);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines, "GPU state changed\" state=unresponsive gpu=1")) << lines;
  EXPECT_TRUE(HasPart(lines, "1 of 2 GPUs served, 1 unresponsive\"")) << lines;
}

TEST_F(StateLogTest, AnXidIsOneLineWithPodMeaningAndRemedy) {
  Lines();
  grid_->findings.xids = {{.gpu = 1, .code = 79, .total = 2, .last_us = 5}};
  std::string lines = Lines(60);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines, "level=WARN msg=\"a GPU reports an XID\" xid=79 gpu=1 uuid=" +
                                 FakeDriver::Uuid(1) + " pod=ml/train-0 cause="))
      << lines;
  EXPECT_TRUE(HasPart(lines, "action=reboot_node remedy=\"drain the node and reboot it\" events=2"))
      << lines;
  grid_->findings.xids.push_back({.gpu = 0, .code = 31, .total = 1, .last_us = 6});
  lines = Lines(10);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines, "xid=31 gpu=0")) << "another code of another GPU";
  EXPECT_TRUE(HasPart(lines, " pod=none ")) << lines;
}

TEST_F(StateLogTest, ManyXidsAreOneLineEachTenMinutesWithTheirCount) {
  Lines();
  grid_->findings.xids = {{.gpu = 0, .code = 31, .total = 0, .last_us = 5}};
  std::string lines;
  for (int second = 0; second < 3'600; ++second) {
    grid_->findings.xids[0].total += 5;
    lines += Lines();
  }
  EXPECT_EQ(Count(lines), 6) << lines;
  EXPECT_TRUE(HasPart(lines, " events=5\n"));
  EXPECT_TRUE(HasPart(lines, " events=3000\n")) << lines;
}

TEST_F(StateLogTest, ADegradedSourceTellsItsOwnRemedy) {
  Lines();
  SourceStatus status{PartState::kDegraded, "NVML in place of the engine", 1, 0, 2};
  facts_.source = std::make_shared<const SourceStatus>(status);
  EXPECT_TRUE(HasPart(Lines(), " remedy=\"see docs/operations.md; podgpu retries by itself\"\n"));
  SetSource(PartState::kOk, "the engine");
  Lines();
  status.remedy = "install the package datacenter-gpu-manager-4-core";
  facts_.source = std::make_shared<const SourceStatus>(status);
  EXPECT_TRUE(HasPart(Lines(), " remedy=\"install the package datacenter-gpu-manager-4-core\"\n"));
}

TEST_F(StateLogTest, AStateThatChangesEachSecondStaysWithinTheLineBudget) {
  Lines();
  std::string lines;
  for (int second = 0; second < 3'000; ++second) {
    SetState(1, second % 2 == 0 ? DeviceState::kLost : DeviceState::kOk);
    SetSource(second % 3 == 0 ? PartState::kDegraded : PartState::kOk, "fake driver: 2 GPUs");
    lines += Lines();
  }
  EXPECT_LE(Count(lines), 2 * LineBudget::kMostLines) << lines;
  EXPECT_TRUE(HasPart(lines, "this changes often: the next line on it comes in an hour")) << lines;
}

}  // namespace
}  // namespace podgpu
