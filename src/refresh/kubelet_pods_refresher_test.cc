#include "refresh/kubelet_pods_refresher.h"

#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "base/worker.h"
#include "kube/testing/fake_api_server.h"

namespace podgpu {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string ListOf(const std::vector<std::string>& names) {
  std::string items;
  for (const std::string& name : names) {
    items += std::string(items.empty() ? "" : ",") + R"({"metadata":{"namespace":"ml","name":")" +
             name + R"(","uid":"u-)" + name + R"("}})";
  }
  return R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":[)" + items + "]}";
}

// A refresher over a real connection; the test controls the clock.
class KubeletPodsRefresherTest : public ::testing::Test {
 protected:
  KubeletPodsRefresherTest() {
    options_.kubelet =
        ParseKubeletPodsUrl("https://127.0.0.1:" + std::to_string(server_.port())).value();
    const ApiServerOptions server = server_.Options();
    options_.kubelet.server.token_path = server.token_path;
    options_.kubelet.server.certificate_path = server.certificate_path;
    options_.own_pod = {.name = "podgpu-x", .name_space = "ml"};
  }
  ~KubeletPodsRefresherTest() override {
    thread_.RequestStop();
    thread_.JoinWithin(hours(1));
  }
  // Starts it and waits for its first request.
  void Start() {
    refresher_.emplace(files_, options_, clock_, wakeup_);
    thread_.Start([this](const std::stop_token& stop) { refresher_->Run(stop); });
    clock_.AwaitSleepers(1);
  }
  // Lets it ask once more.
  void GoOn(Duration wait) {
    const size_t asked = server_.requests().size();
    clock_.Advance(wait);
    server_.AwaitRequests(asked + 1);
    clock_.AwaitSleepers(1);
  }
  std::string Log() {
    thread_.RequestStop();
    thread_.JoinWithin(hours(1));
    return testing::internal::GetCapturedStderr();
  }
  ApiFacts facts() const { return *refresher_->facts().Get(); }

  FakeApiServer server_;
  SystemFiles files_;
  KubeletPodsRefresherOptions options_;
  ManualClock clock_;
  Wakeup wakeup_;
  std::optional<KubeletPodsRefresher> refresher_;
  Worker thread_;
};

TEST_F(KubeletPodsRefresherTest, AsksAtItsPaceAndPublishesChanges) {
  server_.Serve("/pods", ListOf({"a"}));
  Start();
  EXPECT_EQ(facts().state, PartState::kOk);
  EXPECT_EQ(facts().detail, "the kubelet lists 1 pod");
  EXPECT_TRUE(facts().is_of_kubelet);
  const std::shared_ptr<const ApiObjects> first = facts().value;
  GoOn(seconds(10));
  EXPECT_EQ(facts().value, first) << "the same list is not published again";
  server_.Serve("/pods", ListOf({"a", "b"}));
  GoOn(seconds(10));
  EXPECT_EQ(facts().value->size(), 2U);
  EXPECT_EQ(first->size(), 1U) << "a list that was published never changes";
  EXPECT_EQ(facts().requests, 3U);
}

TEST_F(KubeletPodsRefresherTest, KeepsTheLastListAndLogsEachCauseOnce) {
  testing::internal::CaptureStderr();
  server_.Serve("/pods", ListOf({"a"}));
  Start();
  server_.RefuseInText(2, 403, "Forbidden");
  GoOn(seconds(10));
  EXPECT_EQ(facts().state, PartState::kDegraded);
  EXPECT_EQ(facts().failures, 1U);
  EXPECT_EQ(facts().value->size(), 1U);
  EXPECT_EQ(facts().good_at, clock_.Now());
  GoOn(hours(1));
  server_.RefuseInText(1, 401, "Unauthorized");
  GoOn(hours(1));
  EXPECT_EQ(facts().failures, 3U);
  GoOn(hours(1));
  EXPECT_EQ(facts().state, PartState::kOk);
  const std::string log = Log();
  const auto count = [&log](const std::string& part) {
    int found = 0;
    for (size_t at = log.find(part); at != std::string::npos; at = log.find(part, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("kubelet pod list state changed"), 4) << log;
  EXPECT_EQ(count("Grant get of nodes/pods"), 1) << log;
  EXPECT_EQ(count("authentication.webhook.enabled"), 1) << log;
}

TEST_F(KubeletPodsRefresherTest, AsksOnceAMinuteWithoutTheRight) {
  server_.RefuseInText(1'000, 403, "Forbidden");
  Start();
  EXPECT_EQ(facts().state, PartState::kWaiting);
  EXPECT_EQ(facts().value, nullptr);
  const size_t asked = server_.requests().size();
  clock_.Advance(seconds(29));
  clock_.AwaitSleepers(1);
  EXPECT_EQ(server_.requests().size(), asked);
  GoOn(seconds(31));
}

// podgpu's own pod is on every complete list.
TEST_F(KubeletPodsRefresherTest, KeepsTheLastListWhileARestartedKubeletListsSomePods) {
  server_.Serve("/pods", ListOf({"a", "podgpu-x"}));
  Start();
  server_.Serve("/pods", ListOf({}));
  GoOn(seconds(10));
  EXPECT_EQ(facts().state, PartState::kDegraded);
  EXPECT_EQ(facts().value->size(), 2U);
  EXPECT_NE(facts().detail.find("has just started"), std::string::npos) << facts().detail;
  server_.Serve("/pods", ListOf({"b", "podgpu-x"}));
  GoOn(seconds(1));
  EXPECT_EQ(facts().state, PartState::kOk);
  EXPECT_TRUE(facts().value->contains("ml/b"));
  EXPECT_FALSE(facts().value->contains("ml/a"));
}

}  // namespace
}  // namespace podgpu
