#include "cluster/fleet_documents.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::seconds;

// One node with one GPU, in use to `percent` by a pod.
class FleetDocumentsTest : public testing::Test {
 protected:
  void Read(double percent, const std::string& pod) {
    NodeReport report;
    report.node = "node-1";
    report.owners_known = true;
    ReportedGpu gpu;
    gpu.uuid = "GPU-a";
    gpu.state = "ok";
    gpu.use.values[static_cast<size_t>(UseMeasure::kUtilization)] = UseValue{percent, 0};
    gpu.use.owners = {{"ml", pod, "main", "nvidia.com/gpu", ""}};
    report.gpus = {gpu};
    NodeEntry node;
    node.address.id = "node-1:9400";
    node.last = FetchResult::kOk;
    node.report = std::make_shared<const NodeReport>(std::move(report));
    auto fleet = std::make_shared<Fleet>();
    fleet->nodes = {node};
    fleet_ = std::move(fleet);
  }

  // `later`: time since the node was read.
  std::shared_ptr<const ClusterFacts> Facts(seconds later = seconds(0)) {
    auto facts = std::make_shared<ClusterFacts>();
    facts->now = Instant() + seconds(1'000) + later;
    facts->wall_now = WallTime(seconds(1'700'000'000)) + later;
    facts->fleet = fleet_;
    facts->list = list_;
    facts->states = {state_};
    facts->map = MakeClusterMap(*fleet_, facts->states);
    return facts;
  }

  // The epoch in the bytes of an answer.
  static std::string EpochIn(const Document& document) {
    constexpr std::string_view kKey = "\"epoch\":\"";
    constexpr size_t kDigits = 16;
    return document.bytes.substr(document.bytes.find(kKey) + kKey.size(), kDigits);
  }

  NodeState state_ = NodeState::kOk;
  std::shared_ptr<const Fleet> fleet_;
  const std::shared_ptr<const NodeList> list_ = std::make_shared<const NodeList>();
  FleetDocuments documents_;
};

TEST_F(FleetDocumentsTest, AreMadeOncePerReadingForAllClients) {
  Read(40, "train-0");
  const auto all = documents_.Of(Facts(), {});
  const auto some = documents_.Of(Facts(), {.pod_namespace = "other"});
  EXPECT_NE(all->etag, some->etag);
  EXPECT_EQ(documents_.Of(Facts(seconds(1)), {}), all) << "no node has been read since";
  EXPECT_EQ(documents_.Of(Facts(seconds(1)), {.pod_namespace = "other"}), some);
  state_ = NodeState::kUnresponsive;
  const auto later = documents_.Of(Facts(seconds(2)), {});
  EXPECT_NE(later->etag, all->etag);
  for (int i = 0; i < 40; ++i) {
    documents_.Of(Facts(seconds(2)), {.pod_namespace = "n" + std::to_string(i)});
  }
  EXPECT_EQ(documents_.Of(Facts(seconds(2)), {})->etag, later->etag);
}

TEST_F(FleetDocumentsTest, AreADeltaForAClientWithTheTablesOfTheEpoch) {
  Read(40, "train-0");
  const auto first = documents_.Of(Facts(), {});
  const std::string epoch = EpochIn(*first);
  const auto same = documents_.Of(Facts(), {.epoch = epoch});
  EXPECT_NE(same, first);
  EXPECT_EQ(same->etag, first->etag) << "nothing has changed: the client gets 304 for either";
  Read(90, "train-0");
  const auto delta = documents_.Of(Facts(seconds(15)), {.epoch = epoch});
  EXPECT_EQ(EpochIn(*delta), epoch);
  EXPECT_NE(delta->etag, first->etag);
  EXPECT_NE(delta->bytes.find("\"activity_percent\":[90]"), std::string::npos) << delta->bytes;
  EXPECT_EQ(delta->bytes.find("train-0"), std::string::npos) << delta->bytes;
  EXPECT_EQ(documents_.Of(Facts(seconds(15)), {.epoch = epoch}), delta) << "viewers share it";
}

TEST_F(FleetDocumentsTest, AreWholeForAClientWithOtherTables) {
  Read(40, "train-0");
  const std::string epoch = EpochIn(*documents_.Of(Facts(), {}));
  Read(40, "train-1");
  const auto whole = documents_.Of(Facts(), {.epoch = epoch});
  EXPECT_NE(EpochIn(*whole), epoch);
  EXPECT_NE(whole->bytes.find("train-1"), std::string::npos) << whole->bytes;
  EXPECT_EQ(documents_.Of(Facts(), {.epoch = "0123456789abcdef"}), whole);
  EXPECT_EQ(documents_.Of(Facts(), {}), whole);
}

TEST(FleetQuery, HasANamespaceAndAnEpoch) {
  EXPECT_EQ(ParseFleetQuery("").value().pod_namespace, "");
  EXPECT_EQ(ParseFleetQuery("namespace=team-b").value().pod_namespace, "team-b");
  const StatusOr<FleetQuery> both = ParseFleetQuery("epoch=0123456789abcdef&namespace=ml");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->pod_namespace, "ml");
  EXPECT_EQ(both->epoch, "0123456789abcdef");
  EXPECT_EQ(ParseFleetQuery("epoch=").value().epoch, "");
  const std::pair<std::string, std::string> refused[] = {
      {"namespace=a%20b", "is the name of a namespace"},
      {"namespace=" + std::string(64, 'a'), "is the name of a namespace"},
      {"epoch=12", "is the 16 digits"},
      {"epoch=0123456789ABCDEF", "is the 16 digits"},
      {"pod=a", "the only parameters are"},
  };
  for (const auto& [query, why] : refused) {
    const StatusOr<FleetQuery> parsed = ParseFleetQuery(query);
    ASSERT_FALSE(parsed.ok()) << query;
    EXPECT_NE(std::string(parsed.status().message()).find(why), std::string::npos) << query;
  }
}

}  // namespace
}  // namespace podgpu
