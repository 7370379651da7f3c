#include "pages/node_page.h"

#include <gtest/gtest.h>

#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

// Two GPUs; two pods hold the first one, which has samples of memory copies and SMs.
class NodePageTest : public ::testing::Test {
 protected:
  NodePageTest() {
    auto owners = std::make_shared<Owners>();
    owners->by_entity.resize(2);
    Owner owner;
    owner.pod_namespace = "ml";
    owner.pod = "train";
    owner.container = "main";
    owner.resource = "nvidia.com/gpu";
    owner.replica = "1";
    owners->by_entity[0].push_back(owner);
    owner.replica = "2";
    owners->by_entity[0].push_back(owner);
    owner.pod_namespace = "secret";
    owners->by_entity[0].push_back(owner);
    owners_ = std::move(owners);
    auto condition = std::make_shared<Condition>();
    condition->ready = true;
    condition->owners_known = true;
    condition->verdict = "ready: 2 GPUs have fresh samples";
    for (uint32_t i = 0; i < 2; ++i) {
      condition->devices.push_back({i, "ok", FakeDriver::Uuid(i), "", "", ""});
    }
    condition_ = std::move(condition);
  }

  std::shared_ptr<const Snapshot> Main(uint64_t tick, const Value& copies, const Value& activity) {
    auto grid = std::make_shared<Grid>(std::make_shared<Topology>(FakeDriver::Gpus(2)),
                                       std::vector<const Field*>{FindField(204), FindField(1002)});
    grid->at(FieldRow{0}, EntityId{0}) = copies;
    grid->at(FieldRow{1}, EntityId{0}) = activity;
    return std::make_shared<const Snapshot>(
        SnapshotParts{std::make_shared<const SeriesPlan>(), std::move(grid), owners_, {}, tick});
  }

  std::shared_ptr<const NodeDocument> Of(const std::shared_ptr<const Snapshot>& snapshot) {
    return page_.Of({snapshot, condition_, node_, visible_});
  }

  const std::string node_ = "n";
  VisibleNamespaces visible_;
  std::shared_ptr<const Owners> owners_;
  std::shared_ptr<const Condition> condition_;
  NodePage page_;
};

TEST_F(NodePageTest, ShowsOwnersAndUseOfADevice) {
  const auto main = Main(1, Value::OfInt64(37, 120), Value::OfDouble(0.5, 900));
  const NodeReport report = MakeNodeReport({main, condition_, node_, visible_});
  ASSERT_EQ(report.gpus.size(), 2U);
  const ReportedGpu& gpu = report.gpus[0];
  EXPECT_EQ(gpu.uuid, FakeDriver::Uuid(0));
  EXPECT_EQ(gpu.model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu.state, "ok");
  EXPECT_EQ(gpu.use.of(UseMeasure::kMemoryCopy), (UseValue{37, 120}));
  EXPECT_EQ(gpu.use.of(UseMeasure::kSmActive), (UseValue{0.5, 900}));
  EXPECT_EQ(gpu.use.of(UseMeasure::kTensorActive), std::nullopt);
  const std::vector<ReportedOwner> owners = {{"ml", "train", "main", "nvidia.com/gpu", ""},
                                             {"secret", "train", "main", "nvidia.com/gpu", ""}};
  EXPECT_EQ(gpu.use.owners, owners) << "replicas count as one owner";
  EXPECT_EQ(report.gpus[1].use, DeviceUse());
}

TEST_F(NodePageTest, HidesNamespacesThatAreNotShown) {
  visible_.chosen = {"ml"};
  const auto main = Main(1, Value(), Value());
  const NodeReport report = MakeNodeReport({main, condition_, node_, visible_});
  EXPECT_EQ(report.gpus[0].use.owners.size(), 1U);
  EXPECT_EQ(report.gpus[0].use.hidden_owners, 1U);
  EXPECT_EQ(WriteNodeReport(report).find("secret"), std::string::npos);
}

TEST_F(NodePageTest, TellsWhatEachPodUsesOfItsGpu) {
  UseCopy copy;
  copy.is_known = true;
  copy.uuids = {FakeDriver::Uuid(1), FakeDriver::Uuid(0)};
  for (const char* const name : {"secret", "ml"}) {
    CopiedPod& pod = copy.pods.emplace_back();
    pod.key.device = DeviceNumber{1};
    pod.pod_namespace = name;
    pod.pod = "train";
    pod.sm_percent = 30;
    pod.energy[0] = 2'500;
  }
  const auto main = Main(1, Value(), Value());
  const auto report_of = [&] {
    return MakeNodeReport({main, condition_, node_, visible_, [&] { return copy; }});
  };
  const std::vector<ReportedPodUse> pods = {{"ml", "train", 30, {}, 2.5},
                                            {"secret", "train", 30, {}, 2.5}};
  EXPECT_EQ(report_of().gpus[0].use.pods, pods);
  EXPECT_TRUE(report_of().gpus[1].use.pods.empty());
  visible_.chosen = {"ml"};
  EXPECT_EQ(report_of().gpus[0].use.pods.size(), 1U);
}

TEST_F(NodePageTest, LeavesOutImpossibleValues) {
  const auto main = Main(1, Value::OfInt64(2147483632), Value::OfAbsence(Absence::kStale));
  const NodeReport report = MakeNodeReport({main, condition_, node_, visible_});
  EXPECT_EQ(report.gpus[0].use.values, DeviceUse().values);
}

TEST_F(NodePageTest, IsMadeOncePerSnapshotAndItsTagDependsOnItsContent) {
  const auto main = Main(1, Value::OfInt64(37), Value());
  const auto first = Of(main);
  EXPECT_EQ(Of(main), first);
  const auto equal = Of(Main(2, Value::OfInt64(37), Value()));
  EXPECT_NE(equal, first);
  EXPECT_EQ(equal->document->etag, first->document->etag);
  EXPECT_NE(Of(Main(3, Value::OfInt64(38), Value()))->document->etag, first->document->etag);
}

TEST_F(NodePageTest, HasNoDevicesBeforeTheFirstReading) {
  EXPECT_EQ(Of(nullptr), nullptr);
  const auto document = Of(std::make_shared<const Snapshot>(
      SnapshotParts{std::make_shared<const SeriesPlan>(), nullptr, nullptr, {}, 1}));
  EXPECT_NE(document->document->bytes.find("\"devices\":[]"), std::string::npos)
      << document->document->bytes;
}

}  // namespace
}  // namespace podgpu
