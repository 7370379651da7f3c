#include "refresh/refresher.h"

#include <gtest/gtest.h>

#include "base/process_usage.h"
#include "base/testing/manual_clock.h"
#include "base/worker.h"
#include "kube/testing/fake_kubelet.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

class RefresherTest : public ::testing::Test {
 protected:
  RefresherTest()
      : refresher_(kubelet_, {.period = seconds(1), .quiet_period = seconds(1)}, clock_, wakeup_) {}
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
  EXPECT_EQ(facts().value, nullptr);
}

TEST_F(RefresherTest, KeepsTheSameObjectWhileTheAnswerIsTheSame) {
  kubelet_.AnswerWith({kAllocation});
  Start();
  const std::shared_ptr<const PodAllocations> first = facts().value;
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(facts().detail, "pod-resources v1 answers: 1 pod, 1 device id given");
  Step();
  EXPECT_EQ(facts().value, first);
  kubelet_.Answer(PodAllocations{"v1", 1, {}});
  Step();
  EXPECT_NE(facts().value, first);
  EXPECT_EQ(kubelet_.calls(), 3);
}

TEST(KubeletPace, IsSlowerOnceTheListHasBeenTheSameForAMinute) {
  ManualClock clock;
  Wakeup wakeup;
  FakeKubelet kubelet;
  kubelet.AnswerWith({kAllocation});
  KubeletRefresher refresher(kubelet, {.period = seconds(10), .quiet_period = seconds(30)}, clock,
                             wakeup);
  Worker thread;
  thread.Start([&](const std::stop_token& stop) { refresher.Run(stop); });
  clock.AwaitSleepers(1);
  const auto calls_in = [&](int tens_of_seconds) {
    const int before = kubelet.calls();
    for (int i = 0; i < tens_of_seconds; ++i) {
      clock.Advance(seconds(10));
      clock.AwaitSleepers(1);
    }
    return kubelet.calls() - before;
  };
  EXPECT_EQ(calls_in(6), 6);
  EXPECT_EQ(calls_in(6), 2);
  kubelet.Answer(PodAllocations{"v1", 1, {}});
  EXPECT_EQ(calls_in(3), 1) << "the change is seen with the next request";
  EXPECT_EQ(calls_in(6), 6);
  EXPECT_EQ(calls_in(6), 2);
  kubelet.Answer(absl::UnavailableError("/k.sock: connection refused"));
  EXPECT_EQ(calls_in(3), 1);
  EXPECT_EQ(calls_in(3), 3) << "a kubelet that returns is found soon";
  thread.RequestStop();
  thread.JoinWithin(std::chrono::hours(1));
}

TEST_F(RefresherTest, AsksAtOnceWhenItIsNudged) {
  Start();
  EXPECT_EQ(kubelet_.calls(), 1);
  refresher_.next_request().Nudge();
  clock_.AwaitSleepers(1);
  EXPECT_EQ(kubelet_.calls(), 2) << "no time has passed";
}

TEST_F(RefresherTest, AnUnchangedAnswerRenewsItsAgeAndWakesNoTick) {
  kubelet_.AnswerWith({kAllocation});
  Start();
  const PodFacts first = facts();
  wakeup_.SleepUntil(clock_, clock_.Now(), {});  // Takes the nudge of the first answer.
  Step();
  EXPECT_EQ(facts().value, first.value);
  EXPECT_EQ(facts().detail, first.detail);
  EXPECT_EQ(facts().good_at, first.good_at + seconds(1));
  EXPECT_EQ(facts().asked_at, first.asked_at + seconds(1));
  Alarm alarm;
  const Wakeup::Listener listener(&wakeup_, alarm);
  EXPECT_FALSE(listener.is_nudged());
}

TEST_F(RefresherTest, TheSameAnswerAfterAFailureIsGoodAgain) {
  kubelet_.AnswerWith({kAllocation});
  const auto same = *kubelet_.List();
  Start();
  const PodFacts first = facts();
  kubelet_.Answer(absl::UnavailableError("/k.sock: connection refused"));
  Step();
  EXPECT_EQ(facts().state, PartState::kDegraded);
  kubelet_.AnswerAgain(same);
  Step();
  EXPECT_EQ(facts().state, PartState::kOk);
  EXPECT_EQ(facts().detail, first.detail);
  EXPECT_EQ(facts().value, first.value);
}

TEST_F(RefresherTest, KeepsTheLastAnswerAndItsTimeAfterAFailure) {
  kubelet_.AnswerWith({kAllocation});
  Start();
  const Instant answered = facts().good_at;
  kubelet_.Answer(absl::UnavailableError("/k.sock: connection refused"));
  Step();
  EXPECT_EQ(facts().state, PartState::kDegraded);
  EXPECT_EQ(facts().detail, "/k.sock: connection refused");
  EXPECT_EQ(facts().good_at, answered);
  EXPECT_EQ(facts().value->allocations.size(), 1U);
  EXPECT_EQ(facts().failures, 1U);
  kubelet_.AnswerWith({kAllocation});
  Step();
  EXPECT_EQ(facts().state, PartState::kOk);
  EXPECT_GT(facts().good_at, answered);
}

// Over another connection the kubelet lists no pod, then one without devices, then all.
TEST_F(RefresherTest, KeepsTheLastListUntilANewOneIsComplete) {
  const auto answer = [this](uint64_t connection, uint32_t pods,
                             std::vector<Allocation> allocations) {
    kubelet_.Answer(PodAllocations{.api_version = "v1",
                                   .pod_count = pods,
                                   .allocations = std::move(allocations),
                                   .connection = connection});
  };
  answer(1, 2, {kAllocation});
  Start();
  const Instant answered = facts().good_at;
  answer(2, 0, {});
  Step();
  EXPECT_EQ(facts().state, PartState::kDegraded);
  EXPECT_TRUE(facts().is_incomplete);
  EXPECT_TRUE(facts().detail.starts_with("the kubelet's list is incomplete: it has 0 pods; "))
      << facts().detail;
  EXPECT_EQ(facts().value->allocations.size(), 1U);
  EXPECT_EQ(facts().good_at, answered);
  EXPECT_EQ(facts().failures, 0U);
  answer(2, 1, {});
  Step();
  EXPECT_TRUE(facts().is_incomplete);
  answer(2, 2, {kAllocation});
  for (int second = 0; second < 10; ++second) {
    Step();
    EXPECT_TRUE(facts().is_incomplete) << second;
  }
  Step();
  EXPECT_EQ(facts().state, PartState::kOk);
  EXPECT_FALSE(facts().is_incomplete);
  EXPECT_GT(facts().good_at, answered);
}

// With a long period the second request would come much later.
TEST(KubeletRefresher, AsksEachSecondWhileTheListIsIncomplete) {
  ManualClock clock;
  Wakeup wakeup;
  FakeKubelet kubelet;
  KubeletRefresher refresher(kubelet, {.period = seconds(10), .in_pod = true}, clock, wakeup);
  Worker thread;
  thread.Start([&](const std::stop_token& stop) { refresher.Run(stop); });
  clock.AwaitSleepers(1);
  EXPECT_TRUE(refresher.facts().Get()->is_incomplete) << "a list without pods, asked from a pod";
  EXPECT_EQ(refresher.facts().Get()->state, PartState::kWaiting);
  PodAllocations all{.api_version = "v1", .pod_count = 1, .allocations = {kAllocation}};
  all.lists_own_pod = true;
  kubelet.Answer(all);
  clock.Advance(seconds(1));
  clock.AwaitSleepers(1);
  EXPECT_EQ(refresher.facts().Get()->state, PartState::kOk);
  clock.Advance(seconds(1));
  EXPECT_EQ(kubelet.calls(), 2) << "the usual pace from then on";
  thread.RequestStop();
  thread.JoinWithin(std::chrono::hours(1));
}

TEST_F(RefresherTest, WaitsForAKubeletThatHasNeverAnswered) {
  kubelet_.Answer(absl::NotFoundError("/k.sock does not exist"));
  Start();
  Step();
  EXPECT_EQ(facts().state, PartState::kWaiting);
  EXPECT_EQ(facts().failures, 2U);
  EXPECT_EQ(facts().value, nullptr);
}

// A sanitizer keeps freed memory; under it the test only reads the lists.
#if defined(PODGPU_ADDRESS_SANITIZER) || defined(PODGPU_THREAD_SANITIZER)
constexpr bool kReturnsFreedMemory = false;
#else
constexpr bool kReturnsFreedMemory = true;
#endif

// Without ReturnFreeMemory the allocator keeps up to 64 MiB per thread after freeing a huge list.
TEST_F(RefresherTest, ReturnsMemoryAfterAHugeList) {
  constexpr int64_t kMebibyte = int64_t{1} << 20;
  const auto resident = [] { return ReadProcessUsage().resident_bytes.value_or(0); };
  kubelet_.AnswerWith({kAllocation});
  Start();
  const int64_t before = resident();
  std::vector<Allocation> huge;
  for (int i = 0; i < 200'000; ++i) {
    huge.push_back({"a-namespace-with-a-long-name", "pod-of-many-" + std::to_string(1'000'000 + i),
                    "main", "nvidia.com/gpu", "GPU-00000000-0000-0000-" + std::to_string(i)});
  }
  kubelet_.AnswerWith(std::move(huge));
  Step();
  EXPECT_EQ(facts().value->allocations.size(), 200'000U);
  const int64_t peak = resident();
  EXPECT_TRUE(peak > before + 32 * kMebibyte || !kReturnsFreedMemory) << before << " to " << peak;
  kubelet_.AnswerWith({kAllocation});
  Step();
  Step();
  const int64_t after = resident();
  RecordProperty("before_mib", static_cast<int>(before / kMebibyte));
  RecordProperty("peak_mib", static_cast<int>(peak / kMebibyte));
  RecordProperty("after_mib", static_cast<int>(after / kMebibyte));
  EXPECT_TRUE(after < before + 8 * kMebibyte || !kReturnsFreedMemory)
      << before << " to " << peak << " to " << after;
}

}  // namespace
}  // namespace podgpu
