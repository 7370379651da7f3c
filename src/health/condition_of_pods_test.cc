// What a condition says of the pods of a node.
#include <gtest/gtest.h>

#include "attribution/join.h"
#include "health/condition.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

TickFacts FactsWithPods() {
  TickFacts facts;
  facts.config = std::make_shared<const ConfigNotes>();
  return facts;
}

TEST(ConditionOfPods, DescribesTheOwnersOfEachGpu) {
  auto topology = std::make_shared<Topology>(FakeDriver::Gpus(3));
  TickFacts facts = FactsWithPods();
  facts.stale_after = seconds(10);
  facts.source = std::make_shared<const SourceStatus>();
  auto pods = std::make_shared<PodFacts>();
  pods->value = std::make_shared<const PodAllocations>();
  facts.pods = pods;
  facts.owners_are_known = true;
  facts.grid = std::make_shared<const Grid>(topology, std::vector<const Field*>{});
  const std::vector<Allocation> allocations = {
      {"ml", "a", "c", "nvidia.com/gpu", FakeDriver::Uuid(0) + "::0"},
      {"ml", "a", "c", "nvidia.com/gpu", FakeDriver::Uuid(0) + "::1"},
      {"ml", "b", "c", "nvidia.com/gpu", FakeDriver::Uuid(1) + "::0"},
      {"ml", "d", "c", "nvidia.com/gpu", FakeDriver::Uuid(1) + "::1"}};
  facts.owners = std::make_shared<const Owners>(Join(*topology, allocations, {}));
  const Condition condition = Judge(BasisOf(facts));
  EXPECT_EQ(condition.devices[0].owners, "ml/a (c)");
  EXPECT_EQ(condition.devices[1].owners, "2 owners, shared");
  EXPECT_EQ(condition.devices[2].owners, "free");

  // The instances of a lost GPU are not listed, and a pod may hold one.
  auto lost = std::make_shared<Topology>(*topology);
  lost->gpus[2].mig_enabled = true;
  lost->gpus[2].state = DeviceState::kLost;
  TickFacts later = facts;
  later.grid = std::make_shared<const Grid>(lost, std::vector<const Field*>{});
  EXPECT_EQ(Judge(BasisOf(later)).devices[2].owners,
            "not known: its MIG instances cannot be listed");

  auto incomplete = std::make_shared<PodFacts>(*pods);
  incomplete->is_incomplete = true;
  facts.pods = incomplete;
  EXPECT_EQ(Judge(BasisOf(facts)).devices[0].owners, "ml/a (c)") << "from the previous list";
  EXPECT_EQ(Judge(BasisOf(facts)).devices[2].owners, "not known: the kubelet's list is incomplete");
  facts.owners_are_known = false;
  EXPECT_EQ(Judge(BasisOf(facts)).devices[2].owners,
            "not known: the kubelet's last answer is too old");
  EXPECT_TRUE(Judge(BasisOf(facts)).verdict.ends_with("; owners are withdrawn"));
  facts.owners_are_known = true;
  facts.pods = pods;

  const VisibleNamespaces others{{"team-b"}};
  facts.visible = &others;
  const Condition for_others = Judge(BasisOf(facts));
  EXPECT_EQ(for_others.devices[0].owners, "in another namespace");
  EXPECT_EQ(for_others.devices[1].owners, "2 owners, shared");
  const VisibleNamespaces own{{"team-b", "ml"}};
  facts.visible = &own;
  EXPECT_EQ(Judge(BasisOf(facts)).devices[0].owners, "ml/a (c)");
}

TEST(ConditionOfPods, SaysHowLongFactsAboutPodsStay) {
  TickFacts facts = FactsWithPods();
  facts.source = std::make_shared<const SourceStatus>();
  auto pods = std::make_shared<PodFacts>();
  pods->value = std::make_shared<const PodAllocations>();
  pods->state = PartState::kDegraded;
  pods->detail = "no socket";
  facts.pods = pods;
  facts.pods_age = seconds(40);
  facts.owners_stay_for = seconds(60);
  facts.owners_are_known = true;
  auto api = std::make_shared<ApiFacts>();
  api->value = std::make_shared<const ApiObjects>();
  api->state = PartState::kDegraded;
  api->detail = "no answer";
  facts.api_pods = api;
  facts.usable_pods = api->value;
  facts.metadata_stays_for = seconds(300);
  const auto details = [&] {
    const Condition condition = Judge(BasisOf(facts));
    return condition.parts.at(1).detail + " | " + condition.parts.back().detail;
  };
  EXPECT_EQ(details(),
            "no socket. Owners are 40.0 s old; they are withdrawn after 60.0 s | no answer. Labels "
            "and uids of pods are withdrawn 300.0 s after the last list");
  facts.owners_are_known = false;
  facts.pods_age = seconds(61);
  facts.usable_pods = nullptr;
  EXPECT_EQ(details(),
            "no socket. Owners are withdrawn: the last list is 61.0 s old, and they stay for 60.0 "
            "s after it | no answer. Labels and uids of pods are withdrawn: the last list is more "
            "than 300.0 s old");

  // A thread that hangs leaves its last answer as it was.
  auto silent = std::make_shared<PodFacts>(*pods);
  silent->state = PartState::kOk;
  facts.pods = silent;
  EXPECT_EQ(Judge(BasisOf(facts)).parts.at(1).state, PartState::kDegraded);
}

}  // namespace
}  // namespace podgpu
