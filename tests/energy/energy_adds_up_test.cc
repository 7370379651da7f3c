// Energy on every page adds up to the millijoule, for any times of reading and any fault.
#include <string>

#include <gtest/gtest.h>

#include "tests/energy/energy_checker.h"
#include "tests/energy/process_node.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint16_t kPower = 155;
constexpr uint16_t kEnergyCounter = 156;

// GPU 0 is shared by two lasting processes, some short ones, and one outside containers; GPU 1 is
// split into instances; GPU 2 has one process.
constexpr char kRestlessNode[] = R"(format: 1
name: restless
epoch: 2025-03-01T12:00:00Z
seed: 9
gpus:
  - {class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 8}}
  - {class: h100-sxm5-80gb, mig: [3g.40gb, 2g.20gb]}
  - {class: h100-sxm5-80gb}
pods:
  - name: a
    containers:
      - name: main
        devices: ["gpu0::0"]
        processes:
          - {pid: 31, memory: 9GiB, load: {phases: [{for: 2s, sm: 50%, mem: 20%}, {for: 1s}]}}
  - name: b
    containers:
      - {name: main, devices: ["gpu0::1"], processes: [{pid: 32, memory: 9GiB, load: {sm: 20%}}]}
  - name: c
    containers:
      - {name: main, gpus: [2], processes: [{pid: 33, memory: 9GiB, load: {sm: 50%}}]}
  - name: d
    containers:
      - {name: main, devices: [gpu1/mig0], processes: [{pid: 35, memory: 9GiB, load: {sm: 85%}}]}
churn:
  - template: brief
    every: 5s
    life: 2500ms
    start: 400ms
    devices: ["gpu0::2"]
    memory: 2GiB
    load: {sm: 30%, mem: 10%}
  - template: longer
    every: 13s
    life: 11s
    start: 1700ms
    devices: ["gpu0::3"]
    memory: 2GiB
    load: {phases: [{for: 700ms, sm: 20%, mem: 10%}, {for: 400ms}]}
  - template: sliced
    every: 9s
    life: 8s
    start: 300ms
    devices: [gpu1/mig1]
    memory: 2GiB
    load: {sm: 40%, mem: 10%}
orphans:
  - {pid: 34, gpu: 0, memory: 1GiB, load: {sm: 5%}}
)";

struct PaceRow {
  const char* name;
  bool by_dcgm;
  milliseconds period;    // Of device fields.
  seconds time;           // How long pages are checked.
  const char* more = "";  // Added to the scenario.
  bool restarts = false;  // The counters restart from 0.
  IdleEnergy idle_energy = IdleEnergy::kUnattributed;
  bool gets_stuck = false;  // The driver blocks readings.
};

constexpr PaceRow kPaceRows[] = {
    {"NvmlAtTheDefaultPace", false, seconds(30), seconds(34)},
    {"NvmlEachSecond", false, seconds(1), seconds(20)},
    {"NvmlFasterThanProcesses", false, milliseconds(300), seconds(20)},
    {"DcgmAtTheDefaultPace", true, seconds(30), seconds(34)},
    {"DcgmEachSecond", true, seconds(1), seconds(20)},
    {"IdleEnergyOfWhoHoldsTheGpu", false, seconds(1), seconds(20), "", false,
     IdleEnergy::kAllocated},
    {"DriverReload", false, seconds(1), seconds(20),
     "faults: [{at: 6s, kind: driver_reload, for: 5s}]\n", true},
    {"DriverReloadAtTheDefaultPace", false, seconds(30), seconds(34),
     "faults: [{at: 6s, kind: driver_reload, for: 5s}]\n", true},
    {"LostGpu", false, seconds(1), seconds(24),
     "faults: [{at: 6s, kind: gpu_lost, gpu: 0, for: 6s}]\n"},
    {"CounterThatFails", true, seconds(1), seconds(20),
     "faults: [{at: 6s, kind: error, calls: [nvmlDeviceGetTotalEnergyConsumption], code: 999, "
     "for: 6s}]\n"},
    {"ListsThatFail", false, seconds(1), seconds(20),
     "faults: [{at: 6s, kind: error, calls: [nvmlDeviceGet*RunningProcesses*], code: 999, for: "
     "6s}]\n"},
    {"SamplesThatFail", false, seconds(30), seconds(20),
     "faults: [{at: 6s, kind: error, calls: [nvmlDeviceGetProcess*Utilization*], code: 999, for: "
     "6s}]\n"},
    {"ClockSetBack", true, seconds(1), seconds(20),
     "faults: [{at: 6s, kind: clock_jump, s: -3600}]\n"},
    {.name = "DriverThatHangs",
     .by_dcgm = false,
     .period = seconds(1),
     .time = seconds(24),
     .more = "faults: [{at: 6s, kind: hang, for: 7s}]\n",
     .gets_stuck = true},
    {.name = "DriverThatHangsBelowDcgm",
     .by_dcgm = true,
     .period = seconds(1),
     .time = seconds(24),
     .more = "faults: [{at: 6s, kind: hang, for: 7s}]\n",
     .gets_stuck = true},
    {.name = "CounterThatHangs",
     .by_dcgm = false,
     .period = seconds(1),
     .time = seconds(24),
     .more = "faults: [{at: 6s, kind: hang, calls: [nvmlDeviceGetTotalEnergyConsumption], for: "
             "7s}]\n",
     .gets_stuck = true},
    {.name = "ListsThatHangAtTheDefaultPace",
     .by_dcgm = true,
     .period = seconds(30),
     .time = seconds(34),
     .more = "faults: [{at: 6s, kind: hang, calls: [nvmlDeviceGet*RunningProcesses*], for: 7s}]\n",
     .gets_stuck = true},
};

class EnergyAddsUp : public testing::TestWithParam<PaceRow> {
 protected:
  static ProcessOptions Options(const PaceRow& row) {
    ProcessOptions options;
    options.table.retention = seconds(7);
    if (row.idle_energy != IdleEnergy::kUnattributed) {
      options.ledger = {.idle_power_mw = 60'000, .idle_energy = row.idle_energy};
    }
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(All, EnergyAddsUp, testing::ValuesIn(kPaceRows),
                         [](const auto& row) { return row.param.name; });

TEST_P(EnergyAddsUp, OnAnyPage) {
  const PaceRow& row = GetParam();
  ProcessNode node(
      std::string(kRestlessNode) + row.more, Options(row),
      {.fields = {kPower, kEnergyCounter}, .by_dcgm = row.by_dcgm, .period = row.period});
  EnergyChecker checker;
  for (Duration passed{}; passed < row.time; passed += milliseconds(100)) {
    node.PassAtPace(milliseconds(100));
    for (const std::string& complaint : checker.Check(node.page()->text())) {
      ADD_FAILURE() << std::chrono::duration<double>(passed).count() << " s: " << complaint;
    }
    ASSERT_FALSE(HasFailure()) << node.page()->text();
  }
  const auto pages = static_cast<size_t>(row.time / milliseconds(100));
  EXPECT_GT(checker.compared(), pages) << "three GPUs are compared most of the time";
  EXPECT_GT(checker.ended_rows(), 0U);
  EXPECT_EQ(checker.restarts() > 0, row.restarts);
  EXPECT_EQ(node.stuck_readings() > 0, row.gets_stuck);
}

// As with an operator's recording rules: pods start and end, rows disappear, and no energy is lost.
TEST(EnergyOfChurn, AddsUpOnEachPageOfTenMinutes) {
  ProcessOptions options;
  options.table.retention = seconds(20);
  ProcessNode node(kRestlessNode, options,
                   {.fields = {kPower, kEnergyCounter}, .period = seconds(30)});
  EnergyChecker checker;
  size_t pages = 0;
  for (Duration passed{}; passed < minutes(10); passed += milliseconds(700)) {
    node.PassAtPace(milliseconds(700));
    ++pages;
    for (const std::string& complaint : checker.Check(node.page()->text())) {
      ADD_FAILURE() << std::chrono::duration<double>(passed).count() << " s: " << complaint;
    }
    ASSERT_FALSE(HasFailure()) << node.page()->text();
  }
  EXPECT_GT(checker.compared(), 2 * pages);
  EXPECT_GT(checker.ended_rows(), pages);
  EXPECT_EQ(checker.restarts(), 0U);
}

TEST(EnergyCheckerTest, FindsEachKindOfError) {
  const std::string head =
      "# HELP podgpu_gpu_energy_by_method_joules_total x\n"
      "# TYPE podgpu_gpu_energy_by_method_joules_total counter\n"
      "podgpu_gpu_energy_by_method_joules_total{UUID=\"A\",method=\"exclusive\"} 1.5\n"
      "podgpu_gpu_energy_by_method_joules_total{UUID=\"A\",method=\"unattributed\"} 0.25\n"
      "# HELP podgpu_process_energy_joules_total x\n"
      "# TYPE podgpu_process_energy_joules_total counter\n"
      "podgpu_process_energy_joules_total{pod_uid=\"u\",UUID=\"A\",method=\"exclusive\"} ";
  const std::string counter =
      "\n# HELP podgpu_gpu_energy_joules_total x\n# TYPE podgpu_gpu_energy_joules_total counter\n"
      "podgpu_gpu_energy_joules_total{UUID=\"A\"} ";
  EnergyChecker checker;
  EXPECT_TRUE(checker.Check(head + "1.5" + counter + "100\n").empty());
  EXPECT_EQ(checker.Check(head + "1.499" + counter + "100\n").size(), 2U)
      << "the pod's sum fell as well";
  EXPECT_EQ(checker.Check(head + "1.5" + counter + "100.001\n").size(), 1U);
  EXPECT_EQ(checker.Check(head + "1.5" + counter + "100.0001\n").size(), 1U)
      << "not a whole number of millijoules";
  EXPECT_TRUE(checker.Check(head + "1.5" + counter + "7\n").empty());
  EXPECT_EQ(checker.restarts(), 1U);
}

}  // namespace
}  // namespace podgpu
