#include "attribution/owner_facts.h"

#include <memory>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

constexpr char kOnlyGpu[] = "GPU-11111111-0000-4000-8000-000000000001";

// One GPU, which the kubelet gives to ml/train-0; the API server has a pod of that name.
class OwnerFactsTest : public ::testing::Test {
 protected:
  OwnerFactsTest() {
    topology_.gpus.resize(1);
    topology_.gpus[0].uuid = kOnlyGpu;
    topology_.entities.push_back({});
    facts_.pods = std::make_shared<const PodAllocations>(
        PodAllocations{"v1", 1, {{"ml", "train-0", "main", "nvidia.com/gpu", kOnlyGpu}}});
    pod_.name_space = "ml";
    pod_.name = "train-0";
    pod_.uid = "u-1";
  }

  std::vector<Owner> Owners() {
    facts_.api_pods =
        std::make_shared<const ApiObjects>(ApiObjects{{pod_.name_space + "/" + pod_.name, pod_}});
    return MakeOwners(topology_, facts_, {}).by_entity[0];
  }

  Topology topology_;
  OwnerFacts facts_;
  ApiObject pod_;
};

TEST_F(OwnerFactsTest, TakesThePodsUidFromTheApiServer) {
  ASSERT_EQ(Owners().size(), 1U);
  EXPECT_EQ(Owners()[0].pod_uid, "u-1");
}

// Kubelets before 1.34 list a finished pod until they admit another one.
TEST_F(OwnerFactsTest, APodThatHasFinishedHoldsNothing) {
  pod_.has_ended = true;
  EXPECT_TRUE(Owners().empty());
}

TEST_F(OwnerFactsTest, IgnoresAPodThatIsYoungerThanTheKubeletsAnswer) {
  facts_.younger_pods = {"ml/other", "ml/train-0"};
  ASSERT_EQ(Owners().size(), 1U);
  EXPECT_EQ(Owners()[0].pod_uid, "");
  pod_.has_ended = true;
  EXPECT_EQ(Owners().size(), 1U) << "a different pod has ended";
}

TEST_F(OwnerFactsTest, KeepsTheKubeletsDataOfAPodThatTheApiServerDoesNotList) {
  pod_.name = "train-1";
  ASSERT_EQ(Owners().size(), 1U);
  EXPECT_EQ(Owners()[0].pod_uid, "");
}

}  // namespace
}  // namespace podgpu
