#include "exporter/refresher.h"

#include <gtest/gtest.h>

#include "base/manual_clock.h"
#include "base/worker.h"
#include "exporter/fake_kubelet.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

class RefresherTest : public ::testing::Test {
 protected:
  RefresherTest() : refresher_(kubelet_, {seconds(1), true}, clock_, wakeup_) {}
  ~RefresherTest() override {
    kubelet_.Release();
    thread_.RequestStop();
    thread_.JoinWithin(std::chrono::hours(1));
  }
  void Start() {
    thread_.Start([this](const std::stop_token& stop) { refresher_.Run(stop); });
    clock_.AwaitSleepers(1);
  }
  void Step() {
    clock_.Advance(seconds(1));
    clock_.AwaitSleepers(1);
  }
  PodFacts facts() const { return *refresher_.facts().Get(); }

  ManualClock clock_;
  Wakeup wakeup_;
  FakeKubelet kubelet_;
  KubeletRefresher refresher_;
  Worker thread_;
};

const Allocation kAllocation{"ml", "train-0", "main", "nvidia.com/gpu", "GPU-0"};

TEST_F(RefresherTest, StartsWithoutAnAnswer) {
  EXPECT_EQ(facts().state, PartState::kStarting);
  EXPECT_EQ(facts().answer, nullptr);
}

TEST_F(RefresherTest, KeepsTheSameObjectWhileTheAnswerIsTheSame) {
  kubelet_.AnswerWith({kAllocation});
  Start();
  const std::shared_ptr<const PodAllocations> first = facts().answer;
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(facts().detail, "pod-resources v1 answers: 1 pods, 1 device ids given");
  Step();
  EXPECT_EQ(facts().answer, first);
  kubelet_.AnswerWith({});
  Step();
  EXPECT_NE(facts().answer, first);
  EXPECT_EQ(kubelet_.calls(), 3);
}

TEST_F(RefresherTest, AFailureKeepsTheLastAnswerAndItsTime) {
  kubelet_.AnswerWith({kAllocation});
  Start();
  const Instant answered = facts().answered_at;
  kubelet_.Answer(absl::UnavailableError("/k.sock: connection refused"));
  Step();
  EXPECT_EQ(facts().state, PartState::kDegraded);
  EXPECT_EQ(facts().detail, "/k.sock: connection refused");
  EXPECT_EQ(facts().answered_at, answered);
  EXPECT_EQ(facts().answer->allocations.size(), 1U);
  EXPECT_EQ(facts().failures, 1U);
  kubelet_.AnswerWith({kAllocation});
  Step();
  EXPECT_EQ(facts().state, PartState::kOk);
  EXPECT_GT(facts().answered_at, answered);
}

TEST_F(RefresherTest, WaitsForAKubeletThatWasNeverThere) {
  kubelet_.Answer(absl::NotFoundError("/k.sock does not exist"));
  Start();
  Step();
  EXPECT_EQ(facts().state, PartState::kWaiting);
  EXPECT_EQ(facts().failures, 2U);
  EXPECT_EQ(facts().answer, nullptr);
}

}  // namespace
}  // namespace podgpu
