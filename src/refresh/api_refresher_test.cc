#include "refresh/api_refresher.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "base/worker.h"
#include "kube/testing/fake_api_server.h"

namespace podgpu {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A clock on which waiting takes no time; it records how long the refresher wanted to wait.
class NotingClock final : public Clock {
 public:
  Instant Now() const override {
    const std::scoped_lock lock(mutex_);
    return now_;
  }
  WallTime WallNow() const override { return WallTime(); }
  void Advance(Duration step) {
    const std::scoped_lock lock(mutex_);
    now_ += step;
  }
  std::vector<Duration> waits() const {
    const std::scoped_lock lock(mutex_);
    return waits_;
  }

 private:
  bool Wait(Instant deadline, const std::stop_token& stop, Wakeup* /*wakeup*/) override {
    const std::scoped_lock lock(mutex_);
    waits_.push_back(deadline - now_);
    now_ = deadline;
    return !stop.stop_requested();
  }

  mutable std::mutex
      mutex_;  // Guards all members below; the test reads them while the refresher waits.
  Instant now_{};
  std::vector<Duration> waits_;
};

// A refresher over a real connection.
class ApiRefresherTest : public ::testing::Test {
 protected:
  ApiRefresherTest() { options_.server = server_.Options(); }
  ~ApiRefresherTest() override {
    thread_.RequestStop();
    thread_.JoinWithin(hours(1));
  }
  void Start() {
    refresher_ = std::make_unique<ApiRefresher>(files_, options_, clock_, wakeup_);
    thread_.Start([this](const std::stop_token& stop) { refresher_->Run(stop); });
  }
  ApiFacts facts() const { return *refresher_->facts().Get(); }
  // Waits for facts that fulfil `holds`; the refresher nudges at each change.
  void AwaitFacts(const std::function<bool(const ApiFacts&)>& holds) {
    const std::stop_token never;
    while (!holds(facts())) {
      wakeup_.SleepUntil(real_, real_.Now() + seconds(1), never);
    }
  }

  FakeApiServer server_;
  SystemFiles files_;
  ApiRefresherOptions options_;
  NotingClock clock_;
  SystemClock real_;
  Wakeup wakeup_;
  std::unique_ptr<ApiRefresher> refresher_;
  Worker thread_;
};

TEST_F(ApiRefresherTest, PublishesWhatTheServerLists) {
  server_.PutPod("ml", "train-0", "u0");
  Start();
  AwaitFacts([](const ApiFacts& f) { return f.state == PartState::kOk; });
  EXPECT_EQ(facts().detail, "the API server lists 1 pod of this node");
  const std::shared_ptr<const ApiObjects> first = facts().value;
  server_.PutPod("ml", "train-1", "u1");
  AwaitFacts([](const ApiFacts& f) { return f.value->size() == 2; });
  EXPECT_EQ(first->size(), 1U) << "published facts never change";
}

TEST_F(ApiRefresherTest, SendsNoRequestInAnHourAfterTheFirstList) {
  server_.PutPod("ml", "train-0", "u0");
  Start();
  server_.AwaitWatches(1);
  for (int second = 0; second < 3'600; ++second) {
    clock_.Advance(seconds(1));
  }
  server_.PutPod("ml", "train-1", "u1");
  AwaitFacts([](const ApiFacts& f) { return f.value != nullptr && f.value->size() == 2; });
  EXPECT_EQ(server_.requests().size(), 2U) << "one list, one watch";
}

TEST_F(ApiRefresherTest, WaitsLongerAfterEachFailureAndRecoversAtOnce) {
  server_.Refuse(8, 503);
  Start();
  AwaitFacts([](const ApiFacts& f) { return f.state == PartState::kOk; });
  EXPECT_EQ(facts().failures, 8U);
  const std::vector<Duration> waits = clock_.waits();
  ASSERT_EQ(waits.size(), 8U);
  for (const Duration wait : waits) {
    EXPECT_GE(wait, milliseconds(400));
    EXPECT_LE(wait, seconds(30));
  }
  EXPECT_LE(waits.front(), milliseconds(800));
  EXPECT_GE(waits.back(), seconds(15)) << "half of the longest wait at least";
}

TEST_F(ApiRefresherTest, WaitsAsLongAsTheServerAsks) {
  server_.Refuse(1, 429, "Retry-After: 90\r\n");
  Start();
  AwaitFacts([](const ApiFacts& f) { return f.state == PartState::kOk; });
  EXPECT_GE(clock_.waits().front(), seconds(90));
}

TEST_F(ApiRefresherTest, WaitsAMinuteWhereAPersonMustGrantARight) {
  server_.Refuse(1, 403);
  Start();
  AwaitFacts([](const ApiFacts& f) { return f.state == PartState::kOk; });
  EXPECT_GE(clock_.waits().front(), seconds(30));
  EXPECT_LE(clock_.waits().front(), seconds(60));
}

// A starting API server refuses requests, since it has not loaded its rights yet.
TEST_F(ApiRefresherTest, RetriesSoonWhereTheRightWasGrantedBefore) {
  Start();
  server_.AwaitWatches(1);
  clock_.Advance(seconds(100));
  server_.Refuse(2, 403);
  server_.CutWatches();
  AwaitFacts([](const ApiFacts& f) { return f.failures == 3 && f.state == PartState::kOk; });
  for (const Duration wait : clock_.waits()) {
    EXPECT_LE(wait, milliseconds(3'200));
  }
}

TEST_F(ApiRefresherTest, ListsAtOnceAfterAnOutageThatOutlivedItsVersion) {
  server_.PutPod("ml", "train-0", "u0");
  Start();
  server_.AwaitWatches(1);
  clock_.Advance(seconds(100));
  server_.Refuse(1'000'000, 503);
  server_.CutWatches();
  AwaitFacts([](const ApiFacts& f) { return f.failures >= 10; });  // Waits have grown to 30 s.
  server_.PutPod("ml", "train-1", "u1");
  server_.ForgetHistory();
  server_.Refuse(0, 503);
  AwaitFacts([](const ApiFacts& f) { return f.value->size() == 2; });
  EXPECT_EQ(clock_.waits().size(), facts().failures)
      << "an expired version is not a failure, and the list follows without a wait";
}

TEST_F(ApiRefresherTest, KeepsTheLastObjectsAndWhenTheyWereLastGood) {
  server_.PutPod("ml", "train-0", "u0");
  Start();
  server_.AwaitWatches(1);
  AwaitFacts([](const ApiFacts& f) { return f.state == PartState::kOk; });
  clock_.Advance(seconds(100));
  server_.Refuse(1, 500);
  server_.CutWatches();
  AwaitFacts([](const ApiFacts& f) { return f.failures == 2 && f.state == PartState::kOk; });
  EXPECT_EQ(facts().good_at, Instant(seconds(100)));
  EXPECT_EQ(facts().value->size(), 1U);
}

TEST_F(ApiRefresherTest, RemembersWhenANameBeganToMeanAnotherPod) {
  server_.PutPod("ml", "train-0", "u0");
  Start();
  server_.AwaitWatches(1);
  AwaitFacts([](const ApiFacts& f) { return f.value != nullptr && f.value->size() == 1; });
  EXPECT_EQ(facts().renewed, (RenewedAt{{"ml/train-0", clock_.Now()}}));
  clock_.Advance(seconds(7));
  server_.Delete(sim::kPodsPath, "ml/train-0");
  AwaitFacts([](const ApiFacts& f) { return f.value->empty(); });
  server_.PutPod("ml", "train-0", "u1");
  AwaitFacts([](const ApiFacts& f) { return f.value->size() == 1; });
  EXPECT_EQ(facts().renewed, (RenewedAt{{"ml/train-0", clock_.Now()}}));
}

TEST_F(ApiRefresherTest, AWatchThatEndsAtOnceCausesNoBusyLoop) {
  Start();
  server_.AwaitWatches(1);
  server_.EndWatches();
  server_.AwaitRequests(3);
  ASSERT_EQ(clock_.waits().size(), 1U);
  EXPECT_GE(clock_.waits().front(), milliseconds(400));
}

TEST_F(ApiRefresherTest, IsOffWithAReasonWithoutAServer) {
  options_.server = absl::FailedPreconditionError("NODE_NAME is not set");
  Start();
  EXPECT_EQ(facts().state, PartState::kDegraded);
  EXPECT_EQ(facts().detail, "off: NODE_NAME is not set");
  EXPECT_EQ(facts().value, nullptr);
}

}  // namespace
}  // namespace podgpu
