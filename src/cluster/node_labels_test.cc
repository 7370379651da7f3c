#include "cluster/node_labels.h"

#include <functional>

#include <gtest/gtest.h>

#include "base/wakeup.h"
#include "base/worker.h"
#include "kube/testing/fake_api_server.h"

namespace podgpu {
namespace {

constexpr std::string_view kNodes = "/api/v1/nodes";

// A clock on which waiting takes no time.
class ImpatientClock final : public Clock {
 public:
  Instant Now() const override { return SystemClock().Now(); }
  WallTime WallNow() const override { return WallTime(); }

 private:
  bool Wait(Instant /*deadline*/, const std::stop_token& stop, Wakeup* /*wakeup*/) override {
    return !stop.stop_requested();
  }
};

// The reader over a real connection to a simulated API server.
class NodeLabelsTest : public testing::Test {
 protected:
  ~NodeLabelsTest() override {
    thread_.RequestStop();
    thread_.JoinWithin(std::chrono::hours(1));
  }
  void Start(std::vector<std::string> keys) {
    reader_ =
        std::make_unique<NodeLabelReader>(GroupLabelsOption{std::move(keys), server_.Options(), 0},
                                          files_, clock_, [this] { changed_.Nudge(); });
    thread_.Start([this](const std::stop_token& stop) { reader_->Run(stop); }, "node-labels");
  }
  void Await(const std::function<bool(const NodeLabels&)>& holds) {
    const std::stop_token never;
    SystemClock real;
    while (!holds(*reader_->labels().Get())) {
      changed_.SleepUntil(real, real.Now() + std::chrono::seconds(1), never);
    }
  }
  // Waits for "node=value,-; " of each node.
  void AwaitLabels(const std::string& expected) {
    Await([&](const NodeLabels& labels) {
      std::string text;
      for (const auto& [node, values] : labels.of_node) {
        text += node;
        for (const auto& value : values) {
          text += " " + value.value_or("-");
        }
        text += "; ";
      }
      return labels.is_ok && text == expected;
    });
  }
  void PutNode(const std::string& name, const std::string& labels) {
    server_.Put(kNodes, "/" + name, R"("name":")" + name + R"(","labels":{)" + labels + "}",
                R"(,"status":{"nodeInfo":{"kubeletVersion":"v1.33.0"}})");
  }

  FakeApiServer server_;
  SystemFiles files_;
  ImpatientClock clock_;
  Wakeup changed_;
  std::unique_ptr<NodeLabelReader> reader_;
  Worker thread_;
};

TEST_F(NodeLabelsTest, AreListedOnceAndThenWatched) {
  PutNode("gpu-1", R"("pool":"a","example.com/rack":"r1","other":"x")");
  PutNode("gpu-2", R"("pool":"")");
  Start({"pool", "example.com/rack"});
  AwaitLabels("gpu-1 a r1; gpu-2  -; ");
  PutNode("gpu-2", R"("example.com/rack":"r2")");
  AwaitLabels("gpu-1 a r1; gpu-2 - r2; ");
  server_.Delete(kNodes, "/gpu-1");
  AwaitLabels("gpu-2 - r2; ");
  const std::vector<std::string> requests = server_.requests();
  ASSERT_EQ(requests.size(), 2U) << "one list, one watch";
  EXPECT_EQ(requests[0], "GET /api/v1/nodes?limit=500");
}

TEST_F(NodeLabelsTest, NameTheRightThatIsMissingAndKeepWhatWasRead) {
  constexpr int kForEver = 1'000'000;
  PutNode("gpu-1", R"("pool":"a")");
  server_.Refuse(kForEver, 403);
  Start({"pool"});
  Await([](const NodeLabels& labels) { return labels.failures > 0; });
  EXPECT_FALSE(reader_->labels().Get()->is_known);
  EXPECT_EQ(
      reader_->labels().Get()->detail,
      "the API server answers 403 to list nodes: \"Refused by order of the test\". Grant list "
      "and watch of nodes by a ClusterRole; the labels of nodes are not known");
  server_.Refuse(0, 403);
  AwaitLabels("gpu-1 a; ");
  server_.SetDown(true);
  Await([](const NodeLabels& labels) { return !labels.is_ok; });
  const auto kept = reader_->labels().Get();
  EXPECT_TRUE(kept->is_known);
  EXPECT_EQ(kept->of_node.size(), 1U);
  EXPECT_TRUE(kept->detail.ends_with("; the labels read before stay")) << kept->detail;
  PutNode("gpu-3", R"("pool":"b")");
  server_.SetDown(false);
  AwaitLabels("gpu-1 a; gpu-3 b; ");
}

TEST(GroupLabels, AreKeysOfLabels) {
  EXPECT_EQ(ParseGroupLabels("pool, topology.kubernetes.io/rack").value(),
            (std::vector<std::string>{"pool", "topology.kubernetes.io/rack"}));
  const std::pair<std::string, std::string> refused[] = {
      {"", "\"\" is not the key of a label"},
      {"a b", "is not the key of a label"},
      {"/a", "is not the key of a label"},
      {"a/", "is not the key of a label"},
      {"a/b/c", "is not the key of a label"},
      {std::string(64, 'x'), "is not the key of a label"},
      {"pool,rack,pool", "\"pool\" occurs twice"},
      {"a,b,c,d,e,f,g,h,i", "has 9 keys; at most 8 are read"},
  };
  for (const auto& [text, why] : refused) {
    const auto keys = ParseGroupLabels(text);
    ASSERT_FALSE(keys.ok()) << text;
    EXPECT_NE(std::string(keys.status().message()).find(why), std::string::npos)
        << keys.status().message();
  }
}

}  // namespace
}  // namespace podgpu
