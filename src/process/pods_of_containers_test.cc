// Processes whose cgroup holds only a container id: they get the pod of that container where a list
// of pods names it; otherwise they are outside Kubernetes.
#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "process/process_accounts.h"

namespace podgpu {
namespace {

constexpr DeviceNumber kOnlyGpu{0};
constexpr ProcessKey kLonely{.pid = 7, .start_ticks = 100};

// One GPU with one process, in the container "c7"; its cgroup does not contain the pod.
class PodsOfContainersTest : public ::testing::Test {
 protected:
  // A reading a second later.
  void Draw(uint64_t energy_mj) {
    reading_.at += std::chrono::seconds(1);
    DeviceReading& gpu = reading_.devices.front();
    gpu.at = reading_.at;
    *gpu.counter_mj += energy_mj;
    accounts_.Take(reading_);
  }
  const ProcessRow& row() const { return accounts_.table().devices().at(kOnlyGpu).at(kLonely); }
  uint64_t OfPod(std::string_view uid) {
    const PodNumber pod = accounts_.pods().NumberOf(uid, reading_.at);
    const EnergyByMethod* const energy = accounts_.ledger().Pod({pod, kOnlyGpu});
    return energy == nullptr ? 0 : SumMj(*energy);
  }
  uint64_t OutsideKubernetes() const {
    return accounts_.ledger().Device(kOnlyGpu)->outside_kubernetes_mj;
  }
  uint64_t OfRows() const { return SumMj(accounts_.ledger().Device(kOnlyGpu)->by_method); }

  static std::shared_ptr<const ProcessIdentity> InContainer() {
    auto identity = std::make_shared<ProcessIdentity>();
    identity->key = kLonely;
    identity->place.container_id = "c7";
    return identity;
  }

  ProcessAccounts accounts_{{}, {}};
  ProcessReading reading_{
      .at = Instant(std::chrono::hours(1)),
      .devices = {{.device = kOnlyGpu,
                   .counter_mj = 1'000,
                   .processes = {{.pid = kLonely.pid, .identity = InContainer()}}}}};
};

TEST_F(PodsOfContainersTest, AProcessGetsThePodOfItsContainer) {
  accounts_.TakeContainers({{"c6", "pod-b"}, {"c7", "pod-a"}});
  Draw(0);
  Draw(500);
  EXPECT_TRUE(row().listed);
  EXPECT_EQ(row().identity->place, (CgroupPlace{.pod_uid = "pod-a", .container_id = "c7"}));
  EXPECT_EQ(OfPod("pod-a"), 500U);
  EXPECT_EQ(OutsideKubernetes(), 0U);
}

TEST_F(PodsOfContainersTest, AProcessWhoseContainerNothingNamesIsOutsideKubernetes) {
  accounts_.TakeContainers({{"c6", "pod-b"}});
  Draw(0);
  Draw(500);
  EXPECT_FALSE(row().listed);
  EXPECT_EQ(OutsideKubernetes(), 500U);
  EXPECT_EQ(OfRows(), 0U);
}

TEST_F(PodsOfContainersTest, AProcessThatIsNamedLaterLeavesItsFirstEnergyOutside) {
  accounts_.TakeContainers({});
  Draw(0);
  Draw(500);
  const uint64_t generation = accounts_.generation();
  accounts_.TakeContainers({{"c7", "pod-a"}});
  Draw(300);
  Draw(40);
  EXPECT_TRUE(row().listed);
  EXPECT_NE(accounts_.generation(), generation) << "it has series now";
  EXPECT_EQ(OutsideKubernetes(), 500U) << "a counter never falls";
  EXPECT_EQ(OfPod("pod-a"), 340U);
}

// An ended pod is on no list any more.
TEST_F(PodsOfContainersTest, AProcessKeepsItsPodWhenTheListNoLongerHasIt) {
  accounts_.TakeContainers({{"c7", "pod-a"}});
  Draw(0);
  accounts_.TakeContainers({});
  Draw(500);
  EXPECT_TRUE(row().listed);
  EXPECT_EQ(OfPod("pod-a"), 500U);
}

// A machine with Docker alone.
TEST_F(PodsOfContainersTest, WithoutKubernetesAContainerHasRows) {
  Draw(0);
  Draw(500);
  EXPECT_TRUE(row().listed);
  EXPECT_EQ(OfRows(), 500U);
}

// podgpu may read processes before the kubelet has answered for the first time.
TEST_F(PodsOfContainersTest, AContainerLosesItsRowsWhenTheNodeIsFoundToBeOfKubernetes) {
  Draw(0);
  Draw(500);
  const uint64_t generation = accounts_.generation();
  accounts_.TakeContainers({});
  Draw(300);
  EXPECT_FALSE(row().listed);
  EXPECT_NE(accounts_.generation(), generation);
  EXPECT_EQ(OutsideKubernetes(), 300U);
  ASSERT_TRUE(accounts_.ledger().ended().contains({kNoPod, kOnlyGpu}))
      << "the rows still add up to the GPU";
  EXPECT_EQ(SumMj(accounts_.ledger().ended().at({kNoPod, kOnlyGpu})), 500U);
  EXPECT_EQ(OfRows(), 500U);
  Draw(20);
  EXPECT_EQ(accounts_.table().forgotten().size(), 0U) << "it is forgotten once";
}

TEST_F(PodsOfContainersTest, AProcessOnTwoListsLosesItsRowsOnce) {
  std::vector<ListedProcess>& lists = reading_.devices.front().processes;
  lists.push_back(lists.front());
  lists.back().graphics = true;
  Draw(0);
  Draw(500);
  accounts_.TakeContainers({});
  Draw(300);
  EXPECT_EQ(accounts_.table().forgotten().size(), 1U);
  EXPECT_EQ(SumMj(accounts_.ledger().ended().at({kNoPod, kOnlyGpu})), 500U);
}

TEST_F(PodsOfContainersTest, WithTheScopeAllAContainerHasRowsAndItsPodTakesItsEnergyOver) {
  accounts_ = ProcessAccounts({.all_processes = true}, {});
  accounts_.TakeContainers({});
  Draw(0);
  Draw(500);
  EXPECT_TRUE(row().listed);
  accounts_.TakeContainers({{"c7", "pod-a"}});
  Draw(300);
  EXPECT_EQ(row().identity->place.pod_uid, "pod-a");
  EXPECT_EQ(OfPod("pod-a"), 800U);
}

TEST_F(PodsOfContainersTest, AKnownProcessCostsNoAllocation) {
  for (const PodsOfContainers& pods : {PodsOfContainers{{"c7", "pod-a"}}, PodsOfContainers{}}) {
    accounts_ = ProcessAccounts({}, {});
    accounts_.TakeContainers(pods);
    for (int i = 0; i < 3; ++i) {
      Draw(10);
    }
    const Allocations before = AllocationsOfThisThread();
    Draw(10);
    EXPECT_EQ((AllocationsOfThisThread() - before).count, 0U);
  }
}

}  // namespace
}  // namespace podgpu
