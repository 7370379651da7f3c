#include "sim/fleet/world.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "sim/testing/world.h"

namespace podgpu::sim {
namespace {

// The shipped scenario "demo".
TestWorld DemoWorld() {
  std::ifstream file("sim/scenarios/demo.yaml");
  return TestWorld(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::string OwnersOf(const std::vector<ReportedOwner>& owners) {
  std::string text;
  for (const ReportedOwner& owner : owners) {
    text += owner.pod_namespace + "/" + owner.pod + "/" + owner.container + " " + owner.resource +
            owner.claim + "\n";
  }
  return text;
}

TEST(FleetWorld, ReportsOwnersAndUtilisationOfEachDevice) {
  const TestWorld world = DemoWorld();
  const NodeReport report = FleetWorld(*world, 100).ReportOf(3, 0);
  EXPECT_EQ(report.node, "gpu-node-0004");
  EXPECT_EQ(report.verdict, "ready: 8 of 8 GPUs served");
  ASSERT_EQ(report.gpus.size(), 8U);
  EXPECT_EQ(OwnersOf(report.gpus[0].use.owners), "research/llama-train-3/trainer nvidia.com/gpu\n");
  EXPECT_EQ(report.gpus[4].use.owners.size(), 4U);  // Time-sliced.
  const std::vector<ReportedInstance>& instances = report.gpus[6].instances;
  const auto largest = std::ranges::find(instances, "3g.40gb", &ReportedInstance::profile);
  ASSERT_NE(largest, instances.end());
  EXPECT_EQ(OwnersOf(largest->use.owners), "vision/vision-batch-3/worker nvidia.com/mig-3g.40gb\n");
  EXPECT_TRUE(report.gpus[7].use.owners.empty());
  EXPECT_TRUE(report.gpus[0].use.of(UseMeasure::kSmActive).has_value());
  EXPECT_FALSE(report.gpus[6].use.of(UseMeasure::kUtilization).has_value());  // In MIG mode.
  EXPECT_TRUE(largest->use.of(UseMeasure::kSmActive).has_value());
}

TEST(FleetWorld, MakesReportsThatTheClusterRoleAccepts) {
  const TestWorld world = DemoWorld();
  const FleetWorld fleet(*world, 5'000);
  for (const size_t node : {0U, 1U, 17U, 4'999U}) {
    const NodeReport report = fleet.ReportOf(node, 3'600 * kSecondUs);
    const StatusOr<NodeReport> read = ReadNodeReport(WriteNodeReport(report));
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->gpus.size(), report.gpus.size());
    for (size_t i = 0; i < report.gpus.size(); ++i) {
      EXPECT_EQ(read->gpus[i].uuid, report.gpus[i].uuid);
      EXPECT_EQ(read->gpus[i].use.owners, report.gpus[i].use.owners);
      EXPECT_EQ(read->gpus[i].instances.size(), report.gpus[i].instances.size());
    }
  }
}

TEST(FleetWorld, ReportsChangeOncePerSecond) {
  const TestWorld world = DemoWorld();
  const FleetWorld fleet(*world, 10);
  EXPECT_EQ(fleet.ReportOf(2, 5 * kSecondUs), fleet.ReportOf(2, 6 * kSecondUs - 1));
  std::set<double> values;
  for (int second = 0; second < 20; ++second) {
    const NodeReport report = fleet.ReportOf(2, second * kSecondUs);
    values.insert(report.gpus[0].use.of(UseMeasure::kSmActive).value_or(UseValue{}).value);
  }
  EXPECT_GT(values.size(), 1U);
}

TEST(FleetWorld, GivesEveryNodeItsOwnBoardsAndPods) {
  const TestWorld world = DemoWorld();
  const FleetWorld fleet(*world, 500);
  std::map<std::string, int> seen;
  for (size_t node = 0; node < 500; ++node) {
    const NodeReport report = fleet.ReportOf(node, 0);
    std::set<std::string> own;
    for (const ReportedGpu& gpu : report.gpus) {
      own.insert(gpu.uuid);
      for (const ReportedOwner& owner : gpu.use.owners) {
        own.insert(owner.pod_namespace + "/" + owner.pod);
      }
      for (const ReportedInstance& instance : gpu.instances) {
        own.insert(instance.uuids.begin(), instance.uuids.end());
      }
    }
    for (const std::string& name : own) {
      ++seen[name];
    }
  }
  EXPECT_TRUE(std::ranges::all_of(seen, [](const auto& entry) { return entry.second == 1; }));
}

TEST(FleetWorld, CountsTheProcessesOfEachDevice) {
  const TestWorld world(R"(
format: 1
name: processes
gpus:
  - {count: 3, class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [{profile: 3g.40gb}, {profile: 1g.10gb}]}
pods:
  - name: pair
    namespace: ml
    containers:
      - name: main
        gpus: [0]
        processes:
          - {pid: 11, load: {sm: 40%}, memory: 1GiB}
          - {pid: 12, load: {sm: 1%}, memory: 1GiB}
  - name: part
    namespace: ml
    containers:
      - {name: main, devices: [gpu3/mig0], processes: [{pid: 13, load: {sm: 9%}, memory: 1GiB}]}
  - name: waiting
    namespace: ml
    containers: [{name: main, gpus: [1]}]
faults: [{at: 1h, kind: gpu_lost, gpu: 0}]
)");
  const auto counts = [&](TimeUs t) {
    std::string text;
    const auto add = [&text](const DeviceUse& use) {
      text += use.processes ? std::to_string(*use.processes) + " " : "- ";
    };
    for (const ReportedGpu& gpu : FleetWorld(*world, 1).ReportOf(0, t).gpus) {
      add(gpu.use);
      std::ranges::for_each(gpu.instances, add, &ReportedInstance::use);
    }
    return text;
  };
  EXPECT_EQ(counts(10 * kSecondUs), "2 0 0 1 0 1 ");
  EXPECT_EQ(counts(2 * 3'600 * kSecondUs), "- 0 0 1 0 1 ") << "of a lost GPU nothing is known";
}

TEST(FleetWorld, ShowsALostGpuWithoutValues) {
  const TestWorld world(R"(
format: 1
name: lost
gpus: [{count: 2, class: h100-sxm5-80gb}]
faults: [{at: 0s, kind: gpu_lost, gpu: 1}]
)");
  const NodeReport report = FleetWorld(*world, 1).ReportOf(0, kSecondUs);
  EXPECT_EQ(report.verdict, "ready: 1 of 2 GPUs served");
  EXPECT_EQ(report.gpus[0].state, "ok");
  EXPECT_EQ(report.gpus[1].state, "lost");
  EXPECT_FALSE(report.gpus[1].use.of(UseMeasure::kMemoryTotal).has_value());
}

TEST(FleetWorld, NamesPodsAsControllersDo) {
  EXPECT_EQ(FleetPodName("trainer-0", 7, 100), "trainer-7");
  EXPECT_EQ(FleetPodName("trainer-3", 7, 100), "trainer-307");
  EXPECT_EQ(FleetPodName("notebook", 7, 100), "notebook-7");
  EXPECT_EQ(FleetPodName("chat-a-5d4f", 7, 100), "chat-a-5d4f-7");
  EXPECT_EQ(FleetUuid("GPU-00000001-aaaa", 0), "GPU-00000001-aaaa");
  EXPECT_EQ(FleetUuid("GPU-00000001-aaaa", 1), "GPU-9e3779b0-aaaa");
}

}  // namespace
}  // namespace podgpu::sim
