#include "kube/list_completeness.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::seconds;

const Allocation kTrainer{"ml", "train-0", "main", "nvidia.com/gpu", "GPU-0"};
const Allocation kServer{"web", "chat-0", "main", "nvidia.com/gpu", "GPU-1"};

// A kubelet that answers once a second, over the connection with the given number.
class ListCompletenessTest : public ::testing::Test {
 protected:
  ListVerdict Judge(uint64_t connection, uint32_t pods, std::vector<Allocation> allocations = {},
                    bool lists_own_pod = false) {
    now_ += seconds(1);
    return judge_.Judge({.api_version = "v1",
                         .pod_count = pods,
                         .allocations = std::move(allocations),
                         .claimed = {},
                         .lists_own_pod = lists_own_pod,
                         .connection = connection},
                        now_);
  }

  ListCompleteness judge_{false};
  Instant now_{seconds(1'000)};
};

TEST_F(ListCompletenessTest, AcceptsTheListsOfAKubeletThatKeepsRunning) {
  EXPECT_EQ(Judge(1, 3, {kTrainer}), ListVerdict::kComplete);
  EXPECT_EQ(Judge(1, 2), ListVerdict::kComplete) << "a pod has ended";
  EXPECT_EQ(Judge(1, 4, {kTrainer, kServer}), ListVerdict::kComplete);
}

TEST_F(ListCompletenessTest, AcceptsAListWithTheOwnPodAfterAReconnection) {
  EXPECT_EQ(Judge(1, 3, {kTrainer}, true), ListVerdict::kComplete);
  EXPECT_EQ(Judge(2, 0), ListVerdict::kLacksOwnPod);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Judge(2, 1), ListVerdict::kLacksOwnPod)
        << "only static pods, while the API server is unavailable";
  }
  EXPECT_EQ(Judge(2, 2, {}, true), ListVerdict::kComplete);
  EXPECT_EQ(Judge(2, 1), ListVerdict::kComplete) << "the doubt has ended";
}

TEST_F(ListCompletenessTest, AcceptsAListWithTheOwnPodAtOnce) {
  EXPECT_EQ(Judge(1, 3, {kTrainer}, true), ListVerdict::kComplete);
  EXPECT_EQ(Judge(2, 3, {kTrainer}, true), ListVerdict::kComplete);
}

TEST_F(ListCompletenessTest, RequiresASettledListWhenTheOwnPodWasNeverListed) {
  EXPECT_EQ(Judge(1, 2, {kTrainer, kServer}), ListVerdict::kComplete);
  EXPECT_EQ(Judge(2, 0), ListVerdict::kUnsettled);
  EXPECT_EQ(Judge(2, 1), ListVerdict::kUnsettled);
  for (int i = 0; i < 10; ++i) {  // In any order.
    EXPECT_EQ(i % 2 == 0 ? Judge(2, 2, {kTrainer, kServer}) : Judge(2, 2, {kServer, kTrainer}),
              ListVerdict::kUnsettled)
        << i;
  }
  EXPECT_EQ(Judge(2, 2, {kServer, kTrainer}), ListVerdict::kComplete);
  EXPECT_EQ(Judge(2, 1, {kServer}), ListVerdict::kComplete);
}

TEST_F(ListCompletenessTest, RequiresASettledListWhenAllPodsDisappearAtOnce) {
  EXPECT_EQ(Judge(1, 2, {kTrainer, kServer}), ListVerdict::kComplete);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Judge(1, 0), ListVerdict::kUnsettled) << i;
  }
  EXPECT_EQ(Judge(1, 0), ListVerdict::kComplete) << "the node has no pods";
  EXPECT_EQ(Judge(1, 0), ListVerdict::kComplete);
}

TEST_F(ListCompletenessTest, AnotherReconnectionRestartsTheDoubt) {
  EXPECT_EQ(Judge(1, 1, {kTrainer}), ListVerdict::kComplete);
  now_ += seconds(60);
  EXPECT_EQ(Judge(2, 0), ListVerdict::kUnsettled);
  now_ += seconds(9);
  EXPECT_EQ(Judge(3, 0), ListVerdict::kUnsettled);
  EXPECT_EQ(Judge(3, 0), ListVerdict::kUnsettled);
  now_ += seconds(10);
  EXPECT_EQ(Judge(3, 0), ListVerdict::kComplete);
}

TEST_F(ListCompletenessTest, AListThatKeepsChangingIsAcceptedAfterAMinute) {
  EXPECT_EQ(Judge(1, 2, {kTrainer, kServer}), ListVerdict::kComplete);
  for (uint32_t i = 0; i < 60; ++i) {  // A pod starts or ends each second.
    EXPECT_EQ(Judge(2, 1 + i % 2, {kTrainer}), ListVerdict::kUnsettled) << i;
  }
  EXPECT_EQ(Judge(2, 0), ListVerdict::kUnsettled) << "an empty list must stay the same";
  EXPECT_EQ(Judge(2, 1, {kTrainer}), ListVerdict::kComplete);
}

TEST_F(ListCompletenessTest, DoubtsAFirstListWithoutPodsInsideAPod) {
  judge_ = ListCompleteness(true);
  EXPECT_EQ(Judge(1, 0), ListVerdict::kUnsettled);
  EXPECT_EQ(Judge(1, 2, {kTrainer}, true), ListVerdict::kComplete);
}

}  // namespace
}  // namespace podgpu
