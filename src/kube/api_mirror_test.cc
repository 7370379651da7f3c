#include "kube/api_mirror.h"

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"

namespace podgpu {
namespace {

// A mirror that runs Follow in a loop on its own thread.
class ApiMirrorTest : public ::testing::Test {
 protected:
  ~ApiMirrorTest() override { thread_ = {}; }

  void Start(ApiCollection collection = ApiCollection::kPods) {
    options_ = server_.Options();
    Start(collection, options_);
  }
  void Start(ApiCollection collection, const ApiServerOptions& options,
             const std::optional<ApiScope>& scope = std::nullopt) {
    thread_ = std::jthread([this, collection, options, scope](const std::stop_token& stop) {
      ApiMirror mirror = scope ? ApiMirror(options, collection, *scope, files_)
                               : ApiMirror(options, collection, files_);
      const auto note = [&] {
        const std::scoped_lock lock(mutex_);
        objects_ = mirror.objects();
        noted_.notify_all();
      };
      while (!stop.stop_requested()) {
        const ApiRound round = mirror.Follow(stop, note);
        std::unique_lock lock(mutex_);
        ended_.push_back(round);
        noted_.notify_all();
        noted_.wait(lock, stop, [&] { return rounds_left_ > 0; });
        --rounds_left_;
      }
    });
  }
  // Allows the mirror more calls of Follow.
  void GoOn(int rounds = 1) {
    const std::scoped_lock lock(mutex_);
    rounds_left_ += rounds;
    noted_.notify_all();
  }
  // The keys of the copy, each with the value of its first label.
  std::string Copy() const {
    std::string text;
    for (const auto& [key, object] : objects_) {
      text += (text.empty() ? "" : " ") + key;
      text += object.labels.empty() ? "" : "=" + object.labels.front().second;
    }
    return text;
  }
  void AwaitCopy(const std::string& expected) {
    std::unique_lock lock(mutex_);
    noted_.wait(lock, [&] { return Copy() == expected; });
  }
  ApiRound AwaitEnd(size_t count) {
    std::unique_lock lock(mutex_);
    noted_.wait(lock, [&] { return ended_.size() >= count; });
    return ended_[count - 1];
  }

  FakeApiServer server_;
  SystemFiles files_;
  ApiServerOptions options_;
  std::mutex mutex_;  // Guards all members below: the mirror's thread writes, the test reads.
  std::condition_variable_any noted_;
  ApiObjects objects_;
  std::vector<ApiRound> ended_;
  int rounds_left_ = 0;
  std::jthread thread_;
};

TEST_F(ApiMirrorTest, ListsOnceAndThenWatchesThisNodeOnly) {
  server_.PutPod("ml", "train-0", "u0", R"({"team":"nlp"})");
  Start();
  AwaitCopy("ml/train-0=nlp");
  server_.PutPod("ml", "train-1", "u1");
  AwaitCopy("ml/train-0=nlp ml/train-1");
  server_.PutPod("ml", "train-0", "u0", R"({"team":"cv"})");
  AwaitCopy("ml/train-0=cv ml/train-1");
  server_.Delete(kFakePods, "ml/train-1");
  AwaitCopy("ml/train-0=cv");
  const std::vector<std::string> requests = server_.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0],
            "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dnode-a&limit=500&resourceVersion=0");
  EXPECT_EQ(requests[1],
            "GET /api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dnode-a&resourceVersion=101"
            "&allowWatchBookmarks=true&timeoutSeconds=3600");
}

TEST_F(ApiMirrorTest, ReadsContainersOnlyWhenRequested) {
  const auto put = [this](const std::string& id) {
    server_.Put(kFakePods, "ml/a", R"("namespace":"ml","name":"a")",
                R"(,"spec":{"containers":[{"name":"main"}]},"status":{"containerStatuses":[
                {"name":"main","containerID":"containerd://)" +
                    id + "\"}]}");
  };
  put("");
  Start(ApiCollection::kWholePods);
  AwaitCopy("ml/a");
  put("77");
  const auto id = [this] {
    const std::vector<ApiContainer>& containers = objects_.at("ml/a").containers;
    return containers.size() == 1 ? containers.front().id : "none";
  };
  {
    std::unique_lock lock(mutex_);
    noted_.wait(lock, [&] { return id() == "77"; });
  }
  thread_ = {};
  objects_.clear();
  Start(ApiCollection::kPods);
  AwaitCopy("ml/a");
  EXPECT_EQ(id(), "none");
}

// Like a real server, the simulated one ignores the limit for "resourceVersion=0".
TEST_F(ApiMirrorTest, ReadsTheObjectsOfAScopeInPages) {
  for (const char* const name : {"a", "b", "c", "d", "e"}) {
    server_.PutPod("ml", name, "u", R"({"app":"podgpu"})");
  }
  server_.PutPod("ml", "other", "u", R"({"app":"other"})");
  server_.PutPod("gpu", "f", "u", R"({"app":"podgpu"})");
  server_.PageBy(2);
  Start(ApiCollection::kWholePods, server_.Options(), ApiScope{"ml", "app=podgpu"});
  AwaitCopy("ml/a ml/b ml/c ml/d ml/e");
  server_.AwaitWatches(1);
  const std::vector<std::string> requests = server_.requests();
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[0], "GET /api/v1/namespaces/ml/pods?labelSelector=app%3Dpodgpu&limit=500");
  EXPECT_TRUE(requests[1].starts_with(requests[0] + "&continue=")) << requests[1];
}

TEST_F(ApiMirrorTest, KeepsOnlyTheDataThatFindsNodesForAScope) {
  server_.Put(kFakePods, "ml/a",
              R"("namespace":"ml","name":"a","uid":"u","labels":{"app":"podgpu"})",
              R"(,"spec":{"nodeName":"n","containers":[{"name":"side"},{"name":"podgpu",)"
              R"("resources":{"limits":{"nvidia.com/gpu":"1"}},)"
              R"("ports":[{"name":"metrics","containerPort":9400}]}]},)"
              R"("status":{"phase":"Running","podIP":"10.0.0.1"})");
  Start(ApiCollection::kWholePods, server_.Options(), ApiScope{"ml", "app=podgpu"});
  AwaitCopy("ml/a");
  const ApiObject& pod = objects_.at("ml/a");
  EXPECT_EQ(pod.ip + " " + pod.node, "10.0.0.1 n");
  EXPECT_EQ(pod.uid, "");
  ASSERT_EQ(pod.containers.size(), 1U);
  EXPECT_EQ(pod.containers[0],
            (ApiContainer{.name = "", .id = "", .requests = {}, .ports = {{"metrics", 9400}}}));
}

TEST_F(ApiMirrorTest, AnObjectThatLeavesItsSelectorIsDeleted) {
  server_.PutPod("ml", "a", "u", R"({"app":"podgpu"})");
  Start(ApiCollection::kWholePods, server_.Options(), ApiScope{"ml", "app=podgpu"});
  AwaitCopy("ml/a");
  server_.AwaitWatches(1);
  server_.PutPod("ml", "b", "u", R"({"app":"other"})");
  server_.PutPod("ml", "a", "u", R"({"app":"other"})");
  AwaitCopy("");
  server_.PutPod("ml", "b", "u", R"({"app":"podgpu"})");
  AwaitCopy("ml/b");
}

// An overloaded server as a client sees it: each answer asks for a longer wait.
TEST(FakeApi, RequestsALongerWaitWithEachExcessRequest) {
  FakeApiServer server;
  server.SetRateLimited(true);
  const SystemFiles files;
  ApiMirror mirror(server.Options(), ApiCollection::kPods, files);
  std::vector<int64_t> asked;
  for (int i = 0; i < 5; ++i) {
    const ApiRound round = mirror.Follow({}, [] {});
    EXPECT_EQ(round.status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_NE(round.status.message().find("Too many requests, please try again later."),
              std::string::npos);
    asked.push_back(round.retry_after.value_or(std::chrono::seconds(0)).count());
  }
  EXPECT_EQ(asked, (std::vector<int64_t>{1, 2, 4, 8, 8}));
}

TEST_F(ApiMirrorTest, ListsAgainAtOnceWhenThePagesOfAListHaveExpired) {
  server_.PutPod("ml", "a", "u", R"({"app":"podgpu"})");
  server_.PutPod("ml", "b", "u", R"({"app":"podgpu"})");
  server_.PageBy(1);
  server_.ExpirePages(1);
  Start(ApiCollection::kWholePods, server_.Options(), ApiScope{"ml", "app=podgpu"});
  const ApiRound round = AwaitEnd(1);
  EXPECT_TRUE(round.status.ok()) << round.status;
  EXPECT_TRUE(round.lists_again);
  GoOn();
  AwaitCopy("ml/a ml/b");
}

TEST_F(ApiMirrorTest, ContinuesFromTheLastVersionAfterAWatch) {
  Start();
  server_.AwaitWatches(1);
  server_.PutPod("ml", "a", "u");
  AwaitCopy("ml/a");
  server_.EndWatches();
  EXPECT_TRUE(AwaitEnd(1).status.ok());
  server_.PutPod("ml", "b", "u");
  GoOn();
  AwaitCopy("ml/a ml/b");
  EXPECT_EQ(server_.requests().size(), 3U);
  EXPECT_NE(server_.requests()[2].find(
                "watch=1&fieldSelector=spec.nodeName%3Dnode-a&resourceVersion=101"),
            std::string::npos);
}

TEST_F(ApiMirrorTest, ContinuesFromABookmark) {
  Start();
  server_.AwaitWatches(1);
  server_.SendToWatches(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"777"}}})");
  server_.PutPod("ml", "a", "u");  // Arrives after the bookmark.
  AwaitCopy("ml/a");
  server_.SendToWatches(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"778"}}})");
  server_.EndWatches();
  AwaitEnd(1);
  GoOn();
  server_.AwaitRequests(3);
  EXPECT_EQ(server_.requests().back().find("&limit="), std::string::npos);
}

TEST_F(ApiMirrorTest, ContinuesAWatchThatEndsInsideAnObject) {
  Start();
  server_.AwaitWatches(1);
  server_.PutPod("ml", "a", "u");
  AwaitCopy("ml/a");
  server_.SendToWatches(R"({"type":"ADDED","object":{"metadata":{"na)");
  server_.CutWatches();
  EXPECT_FALSE(AwaitEnd(1).status.ok());
  server_.PutPod("ml", "b", "u");
  GoOn();
  AwaitCopy("ml/a ml/b");
  EXPECT_EQ(server_.requests().size(), 3U) << "no second list";
}

TEST_F(ApiMirrorTest, ListsAgainWhenItsVersionHasExpired) {
  server_.PutPod("ml", "a", "u");
  Start();
  AwaitCopy("ml/a");
  server_.AwaitWatches(1);
  server_.EndWatches();
  AwaitEnd(1);
  server_.Delete(kFakePods, "ml/a");
  server_.PutPod("ml", "b", "u");
  server_.ForgetHistory();
  GoOn();
  const ApiRound round = AwaitEnd(2);
  EXPECT_TRUE(round.status.ok()) << round.status << ": it is not a failure";
  EXPECT_TRUE(round.lists_again);
  GoOn();
  AwaitCopy("ml/b");
}

// Otherwise a server whose cache is behind would be asked in a loop, without a log line.
TEST_F(ApiMirrorTest, FailsWhenAVersionExpiresRightAfterItsList) {
  server_.PutPod("ml", "a", "u");
  server_.ForgetHistory();
  server_.ListVersion("1");
  Start();
  EXPECT_TRUE(AwaitEnd(1).lists_again);
  GoOn();
  const ApiRound round = AwaitEnd(2);
  EXPECT_FALSE(round.lists_again);
  EXPECT_EQ(round.status.code(), absl::StatusCode::kOutOfRange);
}

TEST_F(ApiMirrorTest, ReportsWhetherARefusedRequestWasAllowedBefore) {
  server_.Refuse(1, 403);
  Start();
  EXPECT_FALSE(AwaitEnd(1).was_allowed);
  GoOn();
  server_.AwaitWatches(1);
  server_.Refuse(1, 403);
  server_.EndWatches();
  EXPECT_TRUE(AwaitEnd(2).status.ok());
  GoOn();
  EXPECT_EQ(AwaitEnd(3).status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(AwaitEnd(3).was_allowed);
}

TEST_F(ApiMirrorTest, EndsASilentWatch) {
  options_ = server_.Options();
  EXPECT_EQ(options_.watch_patience, std::chrono::minutes(3)) << "bookmarks come each minute";
  options_.watch_patience = std::chrono::milliseconds(100);
  Start(ApiCollection::kPods, options_);
  const ApiRound round = AwaitEnd(1);
  EXPECT_EQ(round.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(round.status.message(),
            "the watch of pods is silent: neither event nor bookmark for 0 s; starting a new one");
}

TEST_F(ApiMirrorTest, ABookmarkKeepsAQuietWatchAlive) {
  options_ = server_.Options();
  options_.watch_patience = std::chrono::milliseconds(4'000);
  server_.BookmarkEach(std::chrono::milliseconds(20));
  Start(ApiCollection::kPods, options_);
  server_.AwaitBookmarks(300);  // Six seconds of silence otherwise.
  server_.PutPod("ml", "a", "u");
  AwaitCopy("ml/a");
  EXPECT_EQ(server_.requests().size(), 2U) << "one list, one watch";
}

TEST_F(ApiMirrorTest, ListsAgainAfterAnInvalidEvent) {
  Start();
  server_.AwaitWatches(1);
  server_.SendToWatches("<html>a proxy's page</html>");
  EXPECT_EQ(AwaitEnd(1).status.code(), absl::StatusCode::kDataLoss);
  server_.PutPod("ml", "a", "u");
  GoOn();
  AwaitCopy("ml/a");
  EXPECT_NE(server_.requests()[2].find("&limit=500"), std::string::npos);
}

// The sentence of a real server; its end names the right to grant.
TEST_F(ApiMirrorTest, ReportsAWholeRefusal) {
  const std::string sentence =
      R"(pods is forbidden: User \"system:serviceaccount:gpu-monitoring:podgpu\" cannot watch )"
      R"(resource \"pods\" in API group \"\" at the cluster scope)";
  Start();
  server_.AwaitWatches(1);
  server_.SendToWatches(R"({"type":"ERROR","object":{"kind":"Status","code":403,"message":")" +
                        sentence + "\"}}\n");
  EXPECT_NE(AwaitEnd(1).status.message().find("in API group \"\" at the cluster scope"),
            std::string::npos)
      << AwaitEnd(1).status;
}

TEST_F(ApiMirrorTest, ReadsAReplacedToken) {
  server_.AcceptToken("second");
  Start();
  EXPECT_EQ(AwaitEnd(1).status.code(), absl::StatusCode::kUnauthenticated);
  std::ofstream(options_.token_path) << "second\n";
  server_.PutPod("ml", "a", "u");
  GoOn();
  AwaitCopy("ml/a");
}

TEST_F(ApiMirrorTest, ReportsTheServersMessageAndItsRetryTime) {
  server_.Refuse(1, 429, "Retry-After: 17\r\n");
  Start();
  const ApiRound round = AwaitEnd(1);
  EXPECT_EQ(round.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(round.retry_after, std::chrono::seconds(17));
  EXPECT_EQ(round.status.message(),
            "the API server answers 429 to list pods: \"Refused by order of the test\"");
  server_.RefuseInText(1, 429, "Too many requests, please try again later.\n");
  GoOn();
  EXPECT_EQ(AwaitEnd(2).status.message(),
            "the API server answers 429 to list pods: \"Too many requests, please try again "
            "later.\"");
  server_.Refuse(1, 403);
  GoOn();
  EXPECT_EQ(AwaitEnd(3).status.message(),
            "the API server answers 403 to list pods: \"Refused by order of the test\". Grant "
            "list and watch by a ClusterRole");
}

TEST_F(ApiMirrorTest, ReportsMissingCredentials) {
  ApiServerOptions options = server_.Options();
  std::filesystem::remove(options.token_path);
  Start(ApiCollection::kPods, options);
  EXPECT_EQ(AwaitEnd(1).status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(AwaitEnd(1).status.message().find("Set automountServiceAccountToken"),
            std::string::npos);
  std::filesystem::remove(options.certificate_path);
  GoOn();
  const std::string both_missing(AwaitEnd(2).status.message());
  EXPECT_TRUE(both_missing.starts_with("no service account is mounted: ")) << both_missing;
  EXPECT_NE(both_missing.find("/ca.crt"), std::string::npos) << both_missing;
  EXPECT_NE(both_missing.find("Set automountServiceAccountToken: true"), std::string::npos)
      << both_missing;
}

TEST_F(ApiMirrorTest, TrustsOnlyTheClustersAuthorityForTheHost) {
  const FakeApiServer other;
  options_ = server_.Options();
  options_.certificate_path = other.Options().certificate_path;
  Start(ApiCollection::kPods, options_);
  EXPECT_EQ(AwaitEnd(1).status.code(), absl::StatusCode::kUnauthenticated) << AwaitEnd(1).status;
  EXPECT_TRUE(server_.requests().empty()) << "the token was not sent";
}

TEST_F(ApiMirrorTest, StopsWhileItWatches) {
  Start();
  server_.AwaitWatches(1);
  thread_.request_stop();
  thread_.join();
  EXPECT_EQ(ended_.back().status.code(), absl::StatusCode::kCancelled);
}

TEST_F(ApiMirrorTest, RequestsSlicesInTheNewestServedVersion) {
  struct Row {
    std::string versions;
    std::string path;
  };
  const Row rows[] = {
      {R"({"version":"v1"},{"version":"v1beta2"},{"version":"v1beta1"})", "v1"},
      {R"({"version":"v1beta1"},{"version":"v1beta2"})", "v1beta2"},
      {R"({"version":"v1alpha3"},{"version":"v1beta1"})", "v1beta1"},
  };
  size_t requests = 0;
  for (const Row& row : rows) {
    const std::string path = "/apis/resource.k8s.io/" + row.path + "/resourceslices";
    server_.Serve("/apis/resource.k8s.io", R"({"versions":[)" + row.versions + "]}");
    server_.Put(path, "s", R"("name":")" + row.path + "\"",
                R"(,"spec":{"driver":"gpu.nvidia.com","pool":{"name":"p"},"devices":[]})");
    Start(ApiCollection::kResourceSlices);
    AwaitCopy("/" + row.path);
    requests += 3;  // The group, the list, the watch.
    server_.AwaitRequests(requests);
    thread_ = {};
    EXPECT_TRUE(server_.requests().back().starts_with(
        "GET " + path +
        "?watch=1&fieldSelector=spec.nodeName%3Dnode-a%2Cspec.driver%3Dgpu.nvidia.com&"))
        << server_.requests().back();
    server_.Delete(path, "s");
  }
}

TEST_F(ApiMirrorTest, ReportsAClusterWithoutSlices) {
  Start(ApiCollection::kResourceSlices);
  EXPECT_EQ(AwaitEnd(1).status.code(), absl::StatusCode::kUnimplemented);
}

TEST(ApiServer, IsFoundInTheEnvironment) {
  using Variables = std::map<std::string, std::string>;
  const auto find = [](const Variables& variables) {
    return FindApiServer([&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  const auto found = find({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                           {"KUBERNETES_SERVICE_PORT", "6443"},
                           {"NODE_NAME", "n"}});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->host + " " + found->port + " " + found->node, "10.0.0.1 6443 n");
  EXPECT_EQ(find({{"KUBERNETES_SERVICE_HOST", "h"},
                  {"KUBERNETES_SERVICE_PORT", "1"},
                  {"KUBERNETES_SERVICE_PORT_HTTPS", "2"},
                  {"NODE_NAME", "n"}})
                ->port,
            "2");
  EXPECT_NE(find({{"KUBERNETES_SERVICE_HOST", "h"}}).status().message().find("NODE_NAME"),
            std::string::npos);
  EXPECT_NE(find({{"NODE_NAME", "n"}}).status().message().find("KUBERNETES_SERVICE_HOST"),
            std::string::npos);
}

}  // namespace
}  // namespace podgpu
