#include "pages/node_status_page.h"

#include <cmath>

#include <gtest/gtest.h>

#include "pages/status_rows.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint64_t kMebibyte = 1048576;

CopiedPod PodOn(uint32_t gpu, uint32_t number, const std::string& name, uint32_t sm) {
  CopiedPod pod;
  pod.key = {PodNumber{number}, DeviceNumber{gpu}};
  pod.pod_namespace = "infer";
  pod.pod = name;
  pod.container = "server";
  pod.sm_percent = sm;
  pod.memory_bytes = 10 * kMebibyte;
  return pod;
}

CopiedProcess ProcessOn(uint32_t gpu, uint32_t pid, uint32_t pod, uint32_t sm) {
  CopiedProcess process;
  process.key = {{pid, 1}, DeviceNumber{gpu}};
  process.listed = pod != 0;
  process.pod = PodNumber{pod};
  process.name = "python3";
  process.sm_percent = sm;
  return process;
}

// Two GPUs of 80 GB at 388 W, the first with 41 MiB in use.
class NodeStatusPageTest : public ::testing::Test {
 protected:
  NodeStatusPageTest() {
    owners_.by_entity.resize(2);
    condition_.ready = true;
    condition_.owners_known = true;
    condition_.verdict = "ready: 2 GPUs have fresh samples";
    condition_.parts = {{"driver", PartState::kOk, "fake"}, {"kubelet", PartState::kOk, "2 pods"}};
    for (uint32_t i = 0; i < 2; ++i) {
      condition_.devices.push_back({i, "ok", FakeDriver::Uuid(i), "H100", "0000:3b", "owners"});
    }
  }

  void Hold(uint16_t entity, const std::string& name_space, const std::string& pod) {
    Owner owner;
    owner.pod_namespace = name_space;
    owner.pod = pod;
    owner.container = "server";
    owners_.by_entity[entity].push_back(owner);
  }

  NodeStatus Make(const StatusParts& parts = {}) {
    auto grid = std::make_shared<Grid>(std::make_shared<Topology>(topology_), fields_);
    for (size_t row = 0; row < fields_.size(); ++row) {
      for (Value& value : grid->CellsOf(FieldRow{static_cast<uint16_t>(row)})) {
        value = values_[row];
      }
    }
    grid->read_at = now_;
    const auto shared_grid = std::shared_ptr<const Grid>(grid);
    TickFacts facts;
    facts.now = now_;
    facts.stale_after = seconds(10);
    facts.grid = shared_grid;
    facts.owners = std::make_shared<const Owners>(owners_);
    timeline_.Take(facts, wall_);
    const auto snapshot = std::make_shared<const Snapshot>(SnapshotParts{
        std::make_shared<const SeriesPlan>(), shared_grid, facts.owners, {}, ++tick_});
    const auto condition = std::make_shared<const Condition>(condition_);
    const std::function<UseCopy()> copy = [this] { return use_; };
    return MakeNodeStatus({.snapshot = snapshot,
                           .condition = condition,
                           .node = node_,
                           .visible = visible_,
                           .timeline = timeline_,
                           .copy_use = copy,
                           .now = now_,
                           .wall_now = wall_},
                          parts);
  }

  void Advance(Duration time) {
    now_ += time;
    wall_ += std::chrono::duration_cast<WallTime::duration>(time);
  }

  const std::string node_ = "n";
  std::vector<const Field*> fields_ = {FindField(112), FindField(155), FindField(203),
                                       FindField(230), FindField(250), FindField(252),
                                       FindField(409)};
  std::vector<Value> values_ = {Value::OfInt64(0x25),
                                Value::OfDouble(388.004),
                                Value::OfInt64(0),
                                Value::OfAbsence(Absence::kNoData),
                                Value::OfInt64(81920),
                                Value::OfInt64(41),
                                Value::OfAbsence(Absence::kNotSupported)};
  Topology topology_ = FakeDriver::Gpus(2);
  Owners owners_;
  Condition condition_;
  VisibleNamespaces visible_;
  UseCopy use_;
  GpuTimeline timeline_{seconds(1)};
  Instant now_{std::chrono::hours(1)};
  WallTime wall_{std::chrono::hours(500'000)};
  uint64_t tick_ = 0;
};

TEST_F(NodeStatusPageTest, ShowsTheNumbersOfADevice) {
  Hold(0, "ml", "train");
  const NodeStatus status = Make();
  const StatusGpu& gpu = status.gpus.at(0);
  EXPECT_EQ(gpu.uuid, FakeDriver::Uuid(0));
  EXPECT_EQ(gpu.owners, "owners");
  EXPECT_EQ(gpu.holders, (std::vector<StatusHolder>{{"ml", "train", "server"}}));
  EXPECT_EQ(gpu.power_watts, 388.004);
  EXPECT_EQ(gpu.utilization_ratio, 0);
  EXPECT_EQ(gpu.sm_active_ratio, std::nullopt);
  EXPECT_EQ(gpu.memory_used_bytes, 41 * kMebibyte);
  EXPECT_EQ(gpu.throttle_reasons, (std::vector<std::string>{"power_cap", "sw_thermal"}))
      << "gpu_idle is no problem";
  EXPECT_TRUE(gpu.shares.empty());
  ASSERT_EQ(status.missing.size(), 2u);
  EXPECT_EQ(status.missing[0].what, "energy of owners, and all figures of those that share a GPU");
  EXPECT_EQ(status.missing[0].gpus, "0");
  EXPECT_EQ(status.missing[0].reason, "processes are not read; --process-metrics=on reads them");
  EXPECT_EQ(status.missing[1].gpus, "0-1");
  EXPECT_EQ(status.missing[1].explain, "metric=" + status.missing[1].what + "&gpu=0");
}

TEST_F(NodeStatusPageTest, WithoutProcessesTheOnlyHolderHasTheDevicesWatts) {
  Hold(0, "ml", "train");
  const NodeStatus status = Make();
  ASSERT_EQ(status.pods.size(), 2u);
  EXPECT_EQ(status.pods[0].pod, "train");
  EXPECT_EQ(status.pods[0].use.power_watts, 388.004);
  EXPECT_FALSE(status.pods[0].use.is_apportioned);
  EXPECT_EQ(status.pods[0].use.energy_joules, std::nullopt);
  EXPECT_EQ(status.pods[1].pod, "") << "the rest is last";
  EXPECT_EQ(status.pods[1].gpus, std::vector<uint32_t>{1});
  EXPECT_EQ(status.pods[1].use.power_watts, 388);
}

double SumOfWatts(const std::vector<StatusShare>& shares) {
  double sum = 0;
  for (const StatusShare& share : shares) {
    sum += share.use.power_watts.value_or(0);
  }
  return sum;
}

TEST_F(NodeStatusPageTest, Statement15SharesOfADeviceAddUpToItsWatts) {
  struct Row {
    const char* name;
    std::vector<CopiedProcess> processes;
    double first, second, rest;
    bool is_apportioned;
  };
  const Row rows[] = {
      {"by SM time", {ProcessOn(0, 7, 1, 30), ProcessOn(0, 8, 2, 10)}, 291, 97, 0, true},
      {"one process", {ProcessOn(0, 7, 1, 30)}, 388, 0, 0, false},
      {"a third each",
       {ProcessOn(0, 7, 1, 1), ProcessOn(0, 8, 2, 1), ProcessOn(0, 9, 0, 1)},
       129.33,
       129.33,
       129.34,
       true},
      {"all without kernels", {ProcessOn(0, 7, 1, 0), ProcessOn(0, 8, 2, 0)}, 0, 0, 388, false},
      {"no processes", {}, 0, 0, 388, false},
  };
  Hold(0, "infer", "chat-a");
  Hold(0, "infer", "chat-b");
  for (const Row& row : rows) {
    use_.is_known = true;
    use_.uuids = {FakeDriver::Uuid(0), FakeDriver::Uuid(1)};
    use_.pods = {PodOn(0, 1, "chat-a", 30), PodOn(0, 2, "chat-b", 10)};
    use_.processes = row.processes;
    const NodeStatus status = Make({.processes = true});
    const std::vector<StatusShare>& shares = status.gpus[0].shares;
    ASSERT_EQ(shares.size(), 3u) << row.name;
    EXPECT_EQ(shares[0].holder->pod, "chat-a");
    EXPECT_NEAR(*shares[0].use.power_watts, row.first, 0.001) << row.name;
    EXPECT_NEAR(*shares[1].use.power_watts, row.second, 0.001) << row.name;
    EXPECT_FALSE(shares[2].holder) << row.name;
    EXPECT_NEAR(*shares[2].use.power_watts, row.rest, 0.001) << row.name;
    EXPECT_EQ(shares[0].use.is_apportioned, row.is_apportioned) << row.name;
    EXPECT_NEAR(SumOfWatts(shares), 388, 0.001) << row.name;
    EXPECT_EQ(shares[2].use.memory_bytes, 21 * kMebibyte) << row.name;
    EXPECT_EQ(status.processes.size(), row.processes.size()) << row.name;
    double pods = 0;
    for (const StatusPod& pod : status.pods) {
      pods += pod.use.power_watts.value_or(0);
    }
    EXPECT_NEAR(pods, 776, 0.001) << row.name << ": pods and rest are the watts of the node";
  }
}

TEST_F(NodeStatusPageTest, Statement16OnlyApportionedEnergyIsMarked) {
  Hold(0, "infer", "chat-a");
  use_.is_known = true;
  use_.uuids = {FakeDriver::Uuid(0)};
  use_.pods = {PodOn(0, 1, "chat-a", 30)};
  use_.processes = {ProcessOn(0, 7, 1, 30)};
  use_.pods[0].energy = {18'734'520, 0, 0, 0};
  StatusUse use = Make().pods.at(0).use;
  EXPECT_FALSE(use.is_apportioned);
  EXPECT_EQ(use.method, "exclusive");
  EXPECT_EQ(use.energy_joules, 18'734.52);
  use_.pods[0].energy = {18'734'520, 1'000, 0, 0};  // Another process was there once.
  use = Make().pods.at(0).use;
  EXPECT_TRUE(use.is_apportioned);
  EXPECT_EQ(use.method, "sm_share");
}

TEST_F(NodeStatusPageTest, Statement17MarksAnAllocatedDeviceIdleAfterFiveMinutes) {
  Hold(0, "team", "notebook");
  values_[2] = Value::OfInt64(40);
  EXPECT_EQ(Make().gpus[0].idle_since_ms, std::nullopt);
  const int64_t kernel_ms = ToMicroseconds(wall_) / 1000;
  values_[2] = Value::OfInt64(0);
  Advance(minutes(5) - seconds(1));
  EXPECT_EQ(Make().gpus[0].idle_since_ms, std::nullopt);
  Advance(seconds(1));
  const NodeStatus idle = Make();
  EXPECT_EQ(idle.gpus[0].idle_since_ms, kernel_ms);
  EXPECT_FALSE(idle.gpus[0].idle_for_longer);
  EXPECT_EQ(idle.pods[0].idle_since_ms, kernel_ms);
  EXPECT_EQ(idle.gpus[1].idle_since_ms, std::nullopt) << "a free device is not idle";
  values_[2] = Value::OfInt64(3);
  Advance(seconds(1));
  EXPECT_EQ(Make().gpus[0].idle_since_ms, std::nullopt);
}

TEST_F(NodeStatusPageTest, Statement25KeepsIdentityAndReasonOfALostDevice) {
  Hold(0, "ml", "train");
  use_.is_known = true;
  use_.uuids = {FakeDriver::Uuid(0), FakeDriver::Uuid(1)};
  use_.pods = {PodOn(0, 1, "train", 30)};
  use_.processes = {ProcessOn(0, 7, 1, 30)};
  values_[3] = Value::OfInt64(79);
  Make();
  topology_.gpus[0].state = DeviceState::kLost;
  condition_.devices[0].state = "lost";
  condition_.parts[0] = {"driver", PartState::kDegraded, "NVML: 2 GPUs; absent: GPU 0"};
  wall_ = WallTime(std::chrono::hours(500'000) + minutes(1) + seconds(7));
  now_ += minutes(1);
  NodeStatus status = Make({.processes = true});
  EXPECT_EQ(status.gpus[0].uuid, FakeDriver::Uuid(0));
  EXPECT_EQ(status.gpus[0].since_ms, ToMicroseconds(wall_) / 1000);
  EXPECT_EQ(status.gpus[0].memory_used_bytes, std::nullopt);
  ASSERT_EQ(status.faults.size(), 1u) << "the loss explains the driver's state";
  EXPECT_EQ(status.faults[0].text,
            "GPU 0 is lost since 08:01:07 UTC: XID 79, the driver no longer reaches it: it fell "
            "off the bus or was unbound");
  EXPECT_EQ(status.faults[0].explain, "gpu=0");
  condition_.parts[0].remedy = "give it libdcgm";
  EXPECT_EQ(Make().faults.size(), 2u) << "the driver is degraded for another reason too";
  EXPECT_NE(status.faults[0].remedy.find("reboot"), std::string::npos);
  EXPECT_EQ(status.pods[0].pod, "train");
  EXPECT_EQ(status.pods[0].use, StatusUse()) << "no old number stands beside a lost device";
  EXPECT_TRUE(status.processes.empty());
}

// As in a pod without hostPID.
TEST_F(NodeStatusPageTest, TheOnlyHolderHasTheWattsAlsoIfItsProcessCannotBeLookedUp) {
  Hold(0, "ml", "train");
  use_.is_known = true;
  use_.uuids = {FakeDriver::Uuid(0), FakeDriver::Uuid(1)};
  use_.processes = {ProcessOn(0, 7, 0, 30)};
  use_.processes[0].name.clear();
  NodeStatus status = Make();
  EXPECT_TRUE(status.gpus[0].shares.empty());
  ASSERT_FALSE(status.pods.empty());
  EXPECT_EQ(status.pods[0].use.power_watts, status.gpus[0].power_watts);
  use_.processes[0].name = "miner";
  EXPECT_EQ(Make().gpus[0].shares.size(), 2u) << "the pod, and the rest";
}

TEST_F(NodeStatusPageTest, SaysWhySharersHaveNoFigures) {
  Hold(0, "ml", "train");
  Hold(0, "ml", "serve");
  use_.is_known = true;
  use_.uuids = {FakeDriver::Uuid(0), FakeDriver::Uuid(1)};
  const NodeStatus status = Make();
  ASSERT_FALSE(status.missing.empty());
  EXPECT_EQ(status.missing[0].what, "figures of the owners that share a GPU");
  EXPECT_EQ(status.missing[0].gpus, "0");
}

TEST_F(NodeStatusPageTest, ADegradedGpuIsAFaultWithTheCauseAndTheRemedyOfItsLoss) {
  condition_.devices[1].state = "degraded";
  condition_.devices[1].loss = DeviceLoss::kPowerBrake;
  const NodeStatus status = Make();
  ASSERT_EQ(status.faults.size(), 1u);
  EXPECT_EQ(status.faults[0].state, "degraded");
  EXPECT_EQ(status.faults[0].text,
            "GPU 1 is degraded: the node's power supply slows it down (hw_power_brake)");
  EXPECT_EQ(status.faults[0].remedy, "check the power supply of the node");
  EXPECT_EQ(status.faults[0].explain, "gpu=1");
}

TEST_F(NodeStatusPageTest, NamesNoHolderWhileTheKubeletIsGone) {
  Hold(0, "ml", "train");
  condition_.owners_known = false;
  condition_.devices[0].owners = "not known: the kubelet's last answer is too old";
  condition_.parts[1] = {"kubelet", PartState::kDegraded, "it does not answer"};
  const NodeStatus status = Make();
  EXPECT_TRUE(status.gpus[0].holders.empty());
  EXPECT_EQ(status.gpus[0].owners, "not known: the kubelet's last answer is too old");
  ASSERT_EQ(status.faults.size(), 1u);
  EXPECT_EQ(status.faults[0].text, "kubelet: it does not answer");
}

TEST_F(NodeStatusPageTest, HidesNamespacesThatAreNotShown) {
  Hold(0, "infer", "chat-a");
  Hold(0, "secret", "plan");
  visible_.chosen = {"infer"};
  use_.is_known = true;
  use_.uuids = {FakeDriver::Uuid(0), FakeDriver::Uuid(1)};
  use_.pods = {PodOn(0, 1, "chat-a", 30), PodOn(0, 2, "plan", 10)};
  use_.pods[1].pod_namespace = "secret";
  use_.processes = {ProcessOn(0, 7, 1, 30), ProcessOn(0, 8, 2, 10)};
  use_.processes[1].name = "plans.py";
  const NodeStatus status = Make({.processes = true});
  EXPECT_EQ(status.gpus[0].hidden_holders, 1u);
  ASSERT_EQ(status.gpus[0].shares.size(), 2u);
  EXPECT_EQ(status.gpus[0].shares[1].use.power_watts, 97);
  const std::string json = WriteNodeStatus(status);
  EXPECT_EQ(json.find("plan"), std::string::npos) << json;
  EXPECT_EQ(json.find("secret"), std::string::npos) << json;
}

TEST_F(NodeStatusPageTest, AddsHistoryOnRequest) {
  EXPECT_TRUE(Make().history.empty());
  const NodeStatus status = Make({.history = true});
  EXPECT_EQ(status.history_step_ms, 1000);
  ASSERT_EQ(status.history.size(), 2u);
  EXPECT_EQ(status.history[0].utilization, std::vector<int8_t>{0});
}

TEST_F(NodeStatusPageTest, TellsWhatAProcessDoes) {
  use_.is_known = true;
  use_.uuids = {FakeDriver::Uuid(0)};
  use_.processes = {ProcessOn(0, 7, 1, 30), ProcessOn(0, 8, 1, 20), ProcessOn(0, 9, 1, 10),
                    ProcessOn(0, 10, 1, 0)};
  use_.processes[0].computes = true;
  use_.processes[1].draws = true;
  use_.processes[2].computes = use_.processes[2].draws = true;
  const NodeStatus status = Make({.processes = true});
  ASSERT_EQ(status.processes.size(), 4u);
  EXPECT_EQ(status.processes[0].type, "C");
  EXPECT_EQ(status.processes[1].type, "G");
  EXPECT_EQ(status.processes[2].type, "C+G");
  EXPECT_EQ(status.processes[3].type, "") << "the driver's accounting does not tell";
}

TEST(StatusQuery, KnowsTwoParameters) {
  EXPECT_EQ(*ParseStatusQuery(""), StatusParts());
  EXPECT_EQ(*ParseStatusQuery("history=1&processes=1"), (StatusParts{true, true}));
  for (const std::string_view query : {"history=2", "history", "gpu=1", "processes=1&x"}) {
    const auto parts = ParseStatusQuery(query);
    EXPECT_EQ(parts.status().code(), absl::StatusCode::kInvalidArgument) << query;
    EXPECT_EQ(parts.status().message().find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace podgpu
