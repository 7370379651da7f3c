#include "usage/pod_xid_counts.h"

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "tests/node_fixture.h"

namespace podgpu {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Rows = std::vector<std::string>;

Owner Holder(const std::string& pod, const std::string& replica = "") {
  Owner owner;
  owner.pod_namespace = "ml";
  owner.pod = pod;
  owner.container = "main";
  owner.replica = replica;
  return owner;
}

class PodXidCountsTest : public ::testing::Test {
 protected:
  // Sets the owners of column `entity`.
  void Give(size_t entity, std::vector<Owner> holders) {
    auto owners = std::make_shared<Owners>(*owners_);
    owners->by_entity.resize(topology_->entities.size());
    owners->by_entity[entity] = std::move(holders);
    owners_ = owners;
  }
  // Makes a reading with these totals of XIDs since the source was opened.
  Rows Read(std::vector<XidCount> xids = {}) {
    for (const XidCount& xid : xids) {
      std::erase_if(findings_.xids, [&](const XidCount& old) {
        return old.gpu == xid.gpu && old.code == xid.code;
      });
      findings_.xids.push_back(xid);
    }
    std::ranges::sort(findings_.xids, {},
                      [](const XidCount& xid) { return std::pair(xid.gpu, xid.code); });
    now_ += seconds(1);
    counts_.Take(Reading(), owners_, now_);
    return Shown();
  }
  Grid Reading() const {
    Grid grid(topology_, {});
    grid.read_at = now_;
    grid.findings = findings_;
    return grid;
  }
  // "gpu/code pod count", and "shared".
  Rows Shown() const {
    std::vector<Value> slots;
    counts_.AppendTo(slots);
    EXPECT_EQ(slots.size(), counts_.rows().size());
    Rows rows;
    for (size_t i = 0; i < slots.size(); ++i) {
      const PodXid& row = counts_.rows()[i];
      rows.push_back(std::to_string(row.gpu_id) + "/" + std::to_string(row.code) + " " + row.pod +
                     " " + std::to_string(slots[i].int64()) + (row.shared ? " shared" : ""));
    }
    return rows;
  }

  std::shared_ptr<const Topology> topology_ = MakeTopology(2, 0);
  std::shared_ptr<const Owners> owners_ = std::make_shared<const Owners>();
  Findings findings_;
  Instant now_{};
  PodXidCounts counts_;
};

TEST_F(PodXidCountsTest, CountForTheContainerThatHoldsTheGpu) {
  Give(0, {Holder("train-0")});
  EXPECT_EQ(Read({{0, 31, 0, 1, 5}}), Rows()) << "it happened before podgpu started";
  EXPECT_EQ(Read({{0, 31, 2, 3, 6}, {1, 79, 1, 1, 6}}), Rows({"0/31 train-0 2"}))
      << "no container holds GPU 1";
  const uint64_t generation = counts_.generation();
  EXPECT_EQ(Read({{0, 31, 3, 4, 7}}), Rows({"0/31 train-0 3"}));
  EXPECT_EQ(counts_.generation(), generation) << "a changed number needs no new line";
  EXPECT_EQ(Read({{0, 0, 1, 1, 8}}), Rows({"0/31 train-0 3"})) << "code 0 is no error";
}

TEST_F(PodXidCountsTest, CountForEachOfSeveralHoldersOnce) {
  Give(0, {Holder("a", "0"), Holder("a", "1"), Holder("b", "2")});
  Give(1, {Holder("c", "0")});
  Read();
  EXPECT_EQ(Read({{0, 79, 1, 1, 5}, {1, 31, 1, 1, 5}}),
            Rows({"0/79 a 1 shared", "0/79 b 1 shared", "1/31 c 1 shared"}));
}

TEST_F(PodXidCountsTest, OwnersOfInstancesCountAsHoldersOfTheGpu) {
  topology_ = MakeTopology(1, 2);
  Give(2, {Holder("small")});
  Read();
  EXPECT_EQ(Read({{0, 95, 1, 1, 5}}), Rows({"0/95 small 1"}));
  Give(1, {Holder("other")});
  Read();
  EXPECT_EQ(Read({{0, 95, 2, 2, 6}}),
            Rows({"0/95 other 1 shared", "0/95 small 1", "0/95 small 1 shared"}));
}

TEST_F(PodXidCountsTest, CountForTheHoldersAtThePreviousReading) {
  Give(0, {Holder("old")});
  Read();
  Give(0, {Holder("new")});
  EXPECT_EQ(Read({{0, 43, 1, 1, 5}}), Rows({"0/43 old 1"}));
  EXPECT_EQ(Read({{0, 43, 2, 2, 6}}), Rows({"0/43 new 1", "0/43 old 1"}));
  Give(1, {Holder("first")});
  EXPECT_EQ(Read({{1, 13, 1, 1, 6}}), Rows({"0/43 new 1", "0/43 old 1", "1/13 first 1"}))
      << "no container held it before";
}

TEST_F(PodXidCountsTest, APageBetweenTwoReadingsChangesNothing) {
  Give(0, {Holder("train-0")});
  Read();
  const Grid reading = Reading();
  Give(0, {});
  counts_.Take(reading, owners_, now_);
  EXPECT_EQ(Read({{0, 31, 1, 1, 5}}), Rows({"0/31 train-0 1"})) << "it held the GPU at the reading";
}

TEST_F(PodXidCountsTest, StayForAnHourAfterTheContainerHasEnded) {
  Give(0, {Holder("train-0")});
  Read();
  Read({{0, 31, 1, 1, 5}});
  now_ += hours(2);
  EXPECT_EQ(Read(), Rows({"0/31 train-0 1"})) << "the row is still there";
  Read({{0, 31, 2, 2, 6}});
  Give(0, {});
  now_ += minutes(59);
  EXPECT_EQ(Read(), Rows({"0/31 train-0 2"}));
  now_ += minutes(2);
  EXPECT_EQ(Read(), Rows());
}

TEST_F(PodXidCountsTest, FollowAGpuThroughNewNumbersAndARestartedSource) {
  Give(1, {Holder("train-1")});
  Read();
  EXPECT_EQ(Read({{1, 31, 4, 4, 5}}), Rows({"1/31 train-1 4"}));
  auto swapped = std::make_shared<Topology>(*topology_);
  std::swap(swapped->gpus[0].uuid, swapped->gpus[1].uuid);
  topology_ = swapped;
  owners_ = std::make_shared<const Owners>();
  Give(0, {Holder("train-1")});
  findings_.xids.clear();
  EXPECT_EQ(Read({{0, 31, 4, 4, 5}}), Rows({"1/31 train-1 4"})) << "nothing is new";
  EXPECT_EQ(Read({{0, 31, 1, 1, 6}}), Rows({"0/31 train-1 1", "1/31 train-1 4"})) << "from 0 again";
}

TEST_F(PodXidCountsTest, AreBounded) {
  Read();
  for (int i = 0; i < 400; ++i) {
    Give(0, {Holder("pod-" + std::to_string(i))});
    Read();
    Read({{0, 31, static_cast<uint64_t>(i) + 1, 1, 5}});
  }
  EXPECT_EQ(counts_.rows().size(), PodXidCounts::kMostRows);
  const auto has = [&](const std::string& pod) {
    return std::ranges::count(counts_.rows(), pod, &PodXid::pod) == 1;
  };
  EXPECT_TRUE(has("pod-399"));
  EXPECT_TRUE(has("pod-144"));
  EXPECT_FALSE(has("pod-143")) << "the oldest rows leave";
}

TEST_F(PodXidCountsTest, OnlyANewRowAllocatesMemory) {
  Give(0, {Holder("train-0")});
  Read({{0, 31, 1, 1, 5}, {1, 79, 1, 1, 5}});
  now_ += hours(2);  // Now Take must check whether a container still holds the GPU.
  findings_.xids[0].total = 9;
  const Grid reading = Reading();
  const Allocations before = AllocationsOfThisThread();
  counts_.Take(reading, owners_, now_);
  EXPECT_EQ((AllocationsOfThisThread() - before).count, 0U);
  EXPECT_EQ(Shown(), Rows({"0/31 train-0 9"}));
}

}  // namespace
}  // namespace podgpu
