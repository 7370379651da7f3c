#include "source/dcgm/source.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "source/testing/dcgm_node.h"

namespace podgpu {
namespace {

using abi::DCGM_FE_GPU;
using abi::DCGM_FE_GPU_I;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(DcgmRead, ReportsTheBlanksOfALostGpuAsLost) {
  Node node(2);
  const auto grid = node.Start({kTemperatureId});
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusLost;
  for (const uint32_t gpu : {0U, 1U}) {
    node.dcgm.SetInt64(DCGM_FE_GPU, gpu, kTemperatureId, abi::DCGM_INT64_BLANK);
  }
  ASSERT_TRUE(node.source().Discover({}).ok());
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperatureId, 0).absence(), Absence::kBlank);
  EXPECT_EQ(Cell(*grid, kTemperatureId, 1).absence(), Absence::kDeviceLost);
}

TEST(DcgmRead, StampsTheGridAndTheAges) {
  Node node(1);
  const auto grid = node.Start({kTemperatureId});
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, 41);
  node.clock.Advance(milliseconds(2500));
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(grid->read_at, node.clock.Now());
  EXPECT_EQ(grid->read_at_wall, node.clock.WallNow());
  EXPECT_EQ(Cell(*grid, kTemperatureId, 0).age_ms(), 2500U);
}

TEST(DcgmRead, StoresValuesCorrectlyInAnyReplyOrder) {
  Node node(2);
  node.AddMig();
  node.dcgm.reverse_replies = true;
  const auto grid = node.Start({kTemperatureId, kPowerId, kFbUsed});
  for (const auto& [group, id] : std::vector<std::pair<int, uint32_t>>{
           {DCGM_FE_GPU, 0}, {DCGM_FE_GPU, 1}, {DCGM_FE_GPU_I, 7}, {DCGM_FE_GPU_I, 8}}) {
    node.dcgm.SetInt64(group, id, kTemperatureId, id * 10);
    node.dcgm.SetInt64(group, id, kFbUsed, id * 10 + 1);
  }
  ASSERT_TRUE(node.source().Read(*grid).ok());
  const uint32_t ids[] = {0, 1, 7, 8};
  for (uint16_t column = 0; column < 4; ++column) {
    EXPECT_EQ(Cell(*grid, kTemperatureId, column).int64(), ids[column] * 10);
    EXPECT_EQ(Cell(*grid, kFbUsed, column).int64(), ids[column] * 10 + 1);
  }
}

// The reply takes 4 KB per value.  A call of a remote engine is a round trip, so it asks for more.
TEST(DcgmRead, AsksAnEmbeddedEngineForFewerValuesPerCall) {
  const std::vector<uint16_t> ids = {100, 101, 110, 111, 112, 113, 114, 140, 150, 155, 156, 157,
                                     160, 161, 162, 163, 164, 190, 202, 203, 235, 236, 237, 238,
                                     240, 241, 242, 243, 244, 245, 246, 247, 250, 251, 252, 253};
  const std::pair<DcgmEndpoint, int> rows[] = {
      {{DcgmEndpoint::Kind::kEmbedded, ""}, 3},  // 36 fields of 3, 3 and 2 devices.
      {{DcgmEndpoint::Kind::kTcp, "host:5555"}, 1},
      {{DcgmEndpoint::Kind::kUnixSocket, "/engine.sock"}, 1}};
  for (const auto& [endpoint, calls] : rows) {
    Node node(8, endpoint);
    for (uint32_t gpu = 0; gpu < 8; ++gpu) {
      node.dcgm.SetInt64(abi::DCGM_FE_GPU, gpu, kTemperatureId, 40 + gpu);
    }
    const std::unique_ptr<Grid> grid = node.Start(ids);
    ASSERT_NE(grid, nullptr);
    node.dcgm.ForgetCalls();
    ASSERT_TRUE(node.source().Read(*grid).ok());
    EXPECT_EQ(node.dcgm.CountOf("dcgmEntitiesGetLatestValues"), calls);
    for (uint16_t gpu = 0; gpu < 8; ++gpu) {
      EXPECT_EQ(Cell(*grid, kTemperatureId, gpu).int64(), 40 + gpu);
    }
  }
}

TEST(DcgmRead, DoesNotReuseValuesOfTheLastReply) {
  Node node(1);
  const auto grid = node.Start({kTemperatureId, kFbUsed});
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, 41);
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kFbUsed, 87);
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_TRUE(Cell(*grid, kFbUsed, 0).present());
  node.dcgm.omit_last_reply = true;
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_TRUE(Cell(*grid, kTemperatureId, 0).present());
  EXPECT_EQ(Cell(*grid, kFbUsed, 0).absence(), Absence::kNoData);
}

TEST(DcgmRead, IgnoresValuesThatWereNotRequested) {
  Node node(1);
  const auto grid = node.Start({kTemperatureId, kFbUsed});
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, 41);
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kFbUsed, 87);
  node.dcgm.Tamper(DCGM_FE_GPU, 0, kTemperatureId,
                   [](abi::dcgmFieldValue_v2& raw) { raw.entityId = 31; });
  node.dcgm.Tamper(DCGM_FE_GPU, 0, kFbUsed, [](abi::dcgmFieldValue_v2& raw) { raw.fieldId = 9; });
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperatureId, 0).absence(), Absence::kNoData);
  EXPECT_EQ(Cell(*grid, kFbUsed, 0).absence(), Absence::kNoData);
}

// What a caller does after each whole-call failure, and that this is enough.
TEST(DcgmRead, ReconnectsAfterALostConnection) {
  for (const abi::dcgmReturn_t code : {-21, -11, -5, -14, -10}) {
    for (const DcgmEndpoint& place :
         {DcgmEndpoint{}, DcgmEndpoint{DcgmEndpoint::Kind::kUnixSocket, "/run/x"}}) {
      Node node(1, place);
      auto grid = node.Start({kTemperatureId});
      node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, 41);
      node.dcgm.Fail("dcgmEntitiesGetLatestValues", code, 1);
      const Status status = node.source().Read(*grid);
      EXPECT_TRUE(LostConnection(status)) << code << ": " << status;
      EXPECT_TRUE(LostConnection(node.source().Read(*grid))) << "still not connected";
      EXPECT_TRUE(LostConnection(
          node.source().Watch(grid->topology(), Fields({kTemperatureId}), seconds(1)).status()));
      grid = node.Start({kTemperatureId});
      ASSERT_TRUE(node.source().Read(*grid).ok()) << code;
      EXPECT_EQ(Cell(*grid, kTemperatureId, 0).int64(), 41) << code;
    }
  }
}

TEST(DcgmRead, RefusesToReadBeforeAWatch) {
  Node node(1);
  const StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok());
  Grid grid(std::make_shared<Topology>(*topology), Fields({kTemperatureId}));
  const Status status = node.source().Read(grid);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Text(status),
            "the host engine host:5555 has nothing to watch yet: Watch comes before Read");
}

TEST(DcgmRead, KeepsTheConnectionAfterAnotherFailure) {
  Node node(1);
  const auto grid = node.Start({kTemperatureId});
  node.dcgm.Fail("dcgmEntitiesGetLatestValues", abi::DCGM_ST_GENERIC_ERROR, 1);
  const Status status = node.source().Read(*grid);
  EXPECT_EQ(Text(status),
            "the host engine host:5555 does not answer for 1 fields of 1 devices (DCGM -3: as the "
            "fake says)");
  EXPECT_FALSE(LostConnection(status));
  EXPECT_TRUE(node.source().Read(*grid).ok());
}

TEST(DcgmRead, CanBeInterruptedWhileTheEngineHangs) {
  Node node(1);
  const auto grid = node.Start({kTemperatureId});
  node.dcgm.Hang("dcgmEntitiesGetLatestValues");
  Status status;
  std::jthread reader([&] { status = node.source().Read(*grid); });
  node.dcgm.AwaitHanging();
  node.source().Interrupt();
  EXPECT_EQ(node.source().Describe(), "dcgm 4.6.0, remote engine host:5555");
  reader.join();
  EXPECT_TRUE(LostConnection(status)) << status;
  EXPECT_EQ(node.dcgm.CountOf("dcgmShutdown"), 0);
  EXPECT_NE(node.Start({kTemperatureId}), nullptr);
}

}  // namespace
}  // namespace podgpu
