// GET /api/v1/status of a real node: shared and partitioned GPUs, hidden namespaces.
#include "report/node_status.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

// Three pods share GPU 0 by time, GPU 1 has one pod, GPU 2 has MIG, GPU 3 is free.
constexpr char kAllKinds[] = R"(format: 1
name: all-kinds
seed: 6
gpus:
  - {class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 4}}
  - {class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [3g.40gb, 1g.10gb]}
  - {class: h100-sxm5-80gb}
pods:
  - name: a
    namespace: ml
    containers:
      - {name: main, devices: ["gpu0::0"], processes: [{pid: 51, load: {sm: 10%}, memory: 1GiB}]}
  - name: b
    namespace: ml
    containers:
      - {name: main, devices: ["gpu0::1"], processes: [{pid: 52, load: {sm: 30%}, memory: 2GiB}]}
  - name: c
    namespace: secret
    containers:
      - {name: main, devices: ["gpu0::2"], processes: [{pid: 53, load: {sm: 20%}, memory: 3GiB}]}
  - name: alone
    namespace: ml
    containers:
      - {name: main, gpus: [1], processes: [{pid: 55, load: {sm: 50%}, memory: 1GiB}]}
  - {name: slice-0, namespace: vision, containers: [{name: main, devices: [gpu2/mig0]}]}
)";

class NodeStatusOfANode : public FailureFixture {
 protected:
  NodeStatusOfANode() : FailureFixture(kAllKinds, {"--api-server"}) {}

  void Start(const std::vector<std::string>& more_flags = {}) {
    ASSERT_TRUE(node_.ready()) << node_.output();
    std::vector<std::string> flags = {"-c=200",
                                      "--stale-after=4s",
                                      "--source=nvml",
                                      "--process-metrics=on",
                                      "--process-interval=200ms",
                                      "--proc-root=" + node_.directory() + "/proc"};
    flags.insert(flags.end(), more_flags.begin(), more_flags.end());
    exporter_.emplace(node_, flags, node_.LinesOf("api/env"));
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  }

  // Waits for a status for which `holds` is true.
  NodeStatus Await(const std::function<bool(const NodeStatus&)>& holds) const {
    NodeStatus status;
    EXPECT_TRUE(exporter_->AwaitPage("/api/v1/status?processes=1&history=1",
                                     [&](const std::string& json) {
                                       auto read = ReadNodeStatus(json);
                                       EXPECT_TRUE(read.ok()) << read.status() << json;
                                       status = read.ok() ? *std::move(read) : NodeStatus();
                                       return read.ok() && holds(status);
                                     }))
        << exporter_->Get("/api/v1/status?processes=1");
    return status;
  }

  static bool HasShares(const NodeStatus& status) {
    return status.gpus.size() == 4 && status.gpus[0].shares.size() == 4 &&
           status.gpus[0].shares[0].use.power_watts.value_or(0) > 1 &&
           status.gpus[0].shares[1].use.energy_joules.value_or(0) > 1 &&
           status.gpus[1].sm_active_ratio.value_or(0) > 0.1 && status.processes.size() == 4;
  }
};

double Shown(double watts) { return std::round(watts * 100) / 100; }

TEST_F(NodeStatusOfANode, Statement15WattsOfSharesAddUpToTheDevice) {
  Start();
  const NodeStatus status = Await(HasShares);
  const StatusGpu& shared = status.gpus[0];
  double sum = 0;
  for (const StatusShare& share : shared.shares) {
    sum += Shown(share.use.power_watts.value_or(0));
  }
  EXPECT_NEAR(sum, Shown(*shared.power_watts), 0.001);
  EXPECT_EQ(shared.shares[0].holder->pod, "a");
  EXPECT_TRUE(shared.shares[0].use.is_apportioned);
  EXPECT_EQ(shared.shares[0].use.method, "sm_share");
  EXPECT_EQ(shared.shares[0].use.memory_bytes, 1ull << 30);
  EXPECT_GT(shared.shares[1].use.power_watts, shared.shares[0].use.power_watts);
  EXPECT_FALSE(shared.shares[3].holder) << "the rest is last";
  double of_pods = 0;
  double of_gpus = 0;
  for (const StatusPod& pod : status.pods) {
    of_pods += Shown(pod.use.power_watts.value_or(0));
  }
  for (const StatusGpu& gpu : status.gpus) {
    of_gpus += Shown(gpu.power_watts.value_or(0));
  }
  EXPECT_NEAR(of_pods, of_gpus, 0.001);
  EXPECT_EQ(status.pods.back().pod, "");
  EXPECT_FALSE(status.history.at(1).sm.empty());
}

TEST_F(NodeStatusOfANode, ShowsInstancesOfAPartitionedGpu) {
  Start();
  const NodeStatus status = Await(HasShares);
  const StatusGpu& split = status.gpus[2];
  ASSERT_EQ(split.instances.size(), 2u);
  const auto held = std::ranges::find(split.instances, "3g.40gb", &StatusInstance::profile);
  ASSERT_NE(held, split.instances.end());
  ASSERT_EQ(held->holders.size(), 1u);
  EXPECT_EQ(held->holders[0].pod, "slice-0");
  EXPECT_GT(held->memory_total_bytes.value_or(0), 1ull << 34);
  const auto free = std::ranges::find(split.instances, "1g.10gb", &StatusInstance::profile);
  ASSERT_NE(free, split.instances.end());
  EXPECT_TRUE(free->holders.empty());
}

TEST_F(NodeStatusOfANode, HidesNamespacesAndLeavesMetricsAsTheyAre) {
  Start({"--api-namespaces=ml"});
  ASSERT_TRUE(exporter_->Await("/metrics", "\nDCGM_FI_PROF_DRAM_ACTIVE{"));
  ASSERT_TRUE(exporter_->Await("/metrics", "\npodgpu_allocation_info{"));
  const std::set<std::string> before = DeviceSeries();
  const NodeStatus status = Await([](const NodeStatus& now) {
    return now.gpus.size() == 4 && now.gpus[0].shares.size() == 3 &&
           now.gpus[0].shares[2].use.power_watts.value_or(0) > 1;
  });
  EXPECT_EQ(status.gpus[0].hidden_holders, 1u);
  EXPECT_EQ(exporter_->Get("/api/v1/status?processes=1").find("secret"), std::string::npos);
  EXPECT_EQ(DeviceSeries(), before) << "who looks at the status adds no series";
}

}  // namespace
}  // namespace podgpu
