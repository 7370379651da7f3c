#include "sim/fleet/plan.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace podgpu::sim {
namespace {

size_t CountOfBehaviour(const std::vector<FleetBehaviour>& behaviours, FleetBehaviour behaviour) {
  return static_cast<size_t>(std::ranges::count(behaviours, behaviour));
}

TEST(FleetPlan, HasExactlyTheRequestedShares) {
  for (const size_t nodes : {20U, 100U, 618U, 1'000U, 5'000U, 20'000U}) {
    const std::vector<FleetBehaviour> behaviours =
        PlanBehaviours(nodes, {.hanging = 10, .refusing = 10, .garbage = 5});
    ASSERT_EQ(behaviours.size(), nodes);
    EXPECT_EQ(CountOfBehaviour(behaviours, FleetBehaviour::kHangs), (nodes + 5) / 10) << nodes;
    EXPECT_EQ(CountOfBehaviour(behaviours, FleetBehaviour::kRefuses), (nodes + 5) / 10) << nodes;
    EXPECT_EQ(CountOfBehaviour(behaviours, FleetBehaviour::kGarbage), (nodes * 5 + 50) / 100)
        << nodes;
  }
}

TEST(FleetPlan, RoundsSharesInSmallFleets) {
  EXPECT_TRUE(PlanBehaviours(0, {.hanging = 50}).empty());
  const std::vector<FleetBehaviour> one = PlanBehaviours(1, {.hanging = 1, .refusing = 1});
  EXPECT_EQ(one, std::vector<FleetBehaviour>{FleetBehaviour::kHangs});
  const std::vector<FleetBehaviour> all = PlanBehaviours(7, {.garbage = 100});
  EXPECT_EQ(CountOfBehaviour(all, FleetBehaviour::kGarbage), 7U);
  const std::vector<FleetBehaviour> none = PlanBehaviours(100, {});
  EXPECT_EQ(CountOfBehaviour(none, FleetBehaviour::kAnswers), 100U);
}

TEST(FleetPlan, SpreadsTheBadOnesOverTheFleet) {
  const std::vector<FleetBehaviour> behaviours = PlanBehaviours(1'000, {.hanging = 10});
  for (size_t begin = 0; begin < behaviours.size(); begin += 100) {
    const auto part = behaviours.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto hanging = std::count(part, part + 100, FleetBehaviour::kHangs);
    EXPECT_GE(hanging, 5) << begin;
    EXPECT_LE(hanging, 15) << begin;
  }
}

TEST(FleetPlan, GivesEachNodeAnAddressAndANameOfItsOwn) {
  std::set<std::string> addresses;
  std::set<std::string> names;
  for (size_t node = 0; node < kMostFleetNodes; ++node) {
    addresses.insert(FleetAddress(node));
    names.insert(FleetNodeName(node));
  }
  EXPECT_EQ(addresses.size(), kMostFleetNodes);
  EXPECT_EQ(names.size(), kMostFleetNodes);
  EXPECT_EQ(FleetAddress(0), "127.16.0.1");
  EXPECT_EQ(FleetAddress(251), "127.16.1.2");
  EXPECT_EQ(FleetNodeName(251), "gpu-node-0252");
}

TEST(FleetPlan, WritesTheFileOfNodesAndMarksTheBadOnes) {
  EXPECT_EQ(FleetNodesFile("demo",
                           {FleetBehaviour::kAnswers, FleetBehaviour::kHangs,
                            FleetBehaviour::kRefuses, FleetBehaviour::kGarbage},
                           9400),
            "# podgpu-sim fleet: 4 nodes of the scenario demo, all of them invented.\n"
            "127.16.0.1:9400\n"
            "127.16.0.2:9400  # hangs\n"
            "127.16.0.3:9400  # refuses\n"
            "127.16.0.4:9400  # answers garbage\n");
}

TEST(FleetPlan, PutsNodesIntoRacksAndRacksIntoPools) {
  const auto text = [](size_t node) {
    std::string labels;
    for (const FleetLabel& label : FleetNodeLabels(node)) {
      labels += label.key + "=" + label.value + " ";
    }
    return labels;
  };
  EXPECT_EQ(text(0), "kubernetes.io/hostname=gpu-node-0001 pool=pool-a rack=rack-01 ");
  EXPECT_EQ(text(15), "kubernetes.io/hostname=gpu-node-0016 pool=pool-a rack=rack-01 ");
  EXPECT_EQ(text(64), "kubernetes.io/hostname=gpu-node-0065 pool=pool-b rack=rack-05 ");
  EXPECT_EQ(text(256), "kubernetes.io/hostname=gpu-node-0257 pool=pool-a rack=rack-17 ");
}

}  // namespace
}  // namespace podgpu::sim
