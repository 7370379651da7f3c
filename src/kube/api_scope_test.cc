#include <condition_variable>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "kube/api_mirror.h"
#include "kube/testing/fake_api_server.h"

namespace podgpu {
namespace {

// The labels of all pods, with a call for each change.
TEST(ApiScope, TellsEachChangeOfTheLabelsInTheWholeCluster) {
  const SystemFiles files;
  FakeApiServer server;
  const auto put = [&](const std::string& name, const std::string& zone) {
    server.PutPod("ml", name, "u", R"({"zone":")" + zone + "\"}");
  };
  put("a", "1");
  put("b", "1");
  std::mutex mutex;
  std::condition_variable noted;
  std::vector<std::string> changes;
  ApiMirror mirror(server.Options(), ApiCollection::kPods, ApiScope{}, files);
  mirror.Observe([&](const std::string& key, const ApiObject* now) {
    const std::scoped_lock lock(mutex);
    changes.push_back(key + "=" + (now == nullptr ? "gone" : now->labels.at(0).second));
    noted.notify_all();
  });
  std::jthread thread([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      mirror.Follow(stop, [] {});
    }
  });
  server.AwaitWatches(1);
  put("a", "2");
  server.Delete(kFakePods, "ml/b");
  {
    std::unique_lock lock(mutex);
    noted.wait(lock, [&] { return changes.size() >= 4; });
    EXPECT_EQ(changes, (std::vector<std::string>{"ml/a=1", "ml/b=1", "ml/a=2", "ml/b=gone"}));
  }
  EXPECT_EQ(server.requests().front(), "GET /api/v1/pods?limit=500");
}

}  // namespace
}  // namespace podgpu
