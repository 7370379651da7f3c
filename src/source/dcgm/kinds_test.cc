// Observed behaviour of DCGM 4.6.0's watches: GPUs that are unbound, boards without a profiler,
// more profiling fields than a message holds.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "source/testing/dcgm_node.h"

namespace podgpu {
namespace {

using abi::DCGM_FE_GPU;
using std::chrono::seconds;

constexpr uint16_t kInforomValid = 84;

// Ids of the first profiling fields that are read on GPUs.
std::vector<uint16_t> ProfilingIds(size_t count) {
  std::vector<uint16_t> ids;
  for (const Field& field : Catalogue()) {
    const bool fits = field.profiling && field.level == FieldLevel::kGpu;
    if (fits && field.id >= 1000 && field.id < 1100 && ids.size() < count) {
      ids.push_back(field.id);
    }
  }
  EXPECT_EQ(ids.size(), count);
  return ids;
}

// Two H100 and an A100, which has no profiler.
void MakeMixed(Node& node) {
  node.dcgm.gpus[1].model = "NVIDIA A100-SXM4-80GB";
  node.dcgm.without_profiler = {1};
  node.dcgm.profiling_fields = {kGraphicsActive};
  for (const uint32_t gpu : {0U, 1U, 2U}) {
    node.dcgm.SetInt64(DCGM_FE_GPU, gpu, kTemperatureId, 40 + gpu);
    node.dcgm.SetDouble(DCGM_FE_GPU, gpu, kGraphicsActive, 0.5);
  }
}

TEST(DcgmKinds, OnlyBoardsWithoutAProfilerLackProfiling) {
  Node node(3);
  MakeMixed(node);
  const auto grid = node.Start({kTemperatureId, kGraphicsActive});
  ASSERT_TRUE(node.source().Read(*grid).ok());
  for (uint16_t gpu = 0; gpu < 3; ++gpu) {
    EXPECT_EQ(Cell(*grid, kTemperatureId, gpu).int64(), 40 + gpu);
  }
  EXPECT_EQ(Cell(*grid, kGraphicsActive, 0).real(), 0.5);
  EXPECT_EQ(Cell(*grid, kGraphicsActive, 1).absence(), Absence::kNotWatched);
  EXPECT_EQ(Cell(*grid, kGraphicsActive, 2).real(), 0.5);
  EXPECT_EQ(node.watched.reason,
            "no profiling fields on NVIDIA A100-SXM4-80GB: DCGM -33: This request is serviced by a "
            "module of DCGM that is not currently loaded");
  const int watches = node.dcgm.CountOf("dcgmWatchFields");
  node.clock.Advance(seconds(1));
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(node.dcgm.CountOf("dcgmWatchFields"), watches)
      << "refused fields are not dropped watches";
}

TEST(DcgmKinds, TriesAgainOnlyWhatABoardRefused) {
  Node node(3);
  MakeMixed(node);
  const auto grid = node.Start({kTemperatureId, kGraphicsActive});
  node.dcgm.without_profiler.clear();
  node.dcgm.ForgetCalls();
  const StatusOr<WatchResult> again =
      node.source().Watch(grid->topology(), Fields({kTemperatureId, kGraphicsActive}), seconds(1));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->reason, "");
  EXPECT_EQ(node.dcgm.CountOf("dcgmWatchFields"), 1);
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kGraphicsActive, 1).real(), 0.5);
}

TEST(DcgmKinds, WatchesMoreProfilingFieldsThanAMessageHolds) {
  Node node(1);
  const std::vector<uint16_t> ids = ProfilingIds(70);
  node.dcgm.profiling_fields = {ids.begin(), ids.end()};
  node.Start(ids);
  EXPECT_EQ(node.watched.reason, "");
  for (const uint16_t id : ids) {
    EXPECT_TRUE(node.dcgm.IsWatched(DCGM_FE_GPU, 0, id)) << id;
  }
  EXPECT_EQ(node.dcgm.CountOf("dcgmWatchFields"), 2) << "64 and the rest";
}

TEST(DcgmKinds, NamesTheFieldThatMakesTheEngineRefuseABatch) {
  Node node(1);
  const std::vector<uint16_t> ids = ProfilingIds(60);
  node.dcgm.profiling_fields = {ids.begin(), ids.end()};
  node.dcgm.unwatchable = {ids[17]};
  node.dcgm.unwatchable_code = abi::DCGM_ST_GENERIC_ERROR;
  const auto grid = node.Start(ids);
  EXPECT_EQ(node.watched.reason,
            "the engine refuses field " + std::to_string(ids[17]) + ": DCGM -3: as the fake says");
  ASSERT_TRUE(node.source().Read(*grid).ok());
  for (const uint16_t id : ids) {
    EXPECT_EQ(node.dcgm.IsWatched(DCGM_FE_GPU, 0, id), id != ids[17]) << id;
    EXPECT_EQ(Cell(*grid, id, 0).absence(),
              id == ids[17] ? Absence::kNotWatched : Absence::kNoData);
  }
}

TEST(DcgmKinds, WatchesAGpuAgainAfterItWasUnboundAndBound) {
  Node node(2);
  const auto grid = node.Start({kTemperatureId});
  for (const uint32_t gpu : {0U, 1U}) {
    node.dcgm.SetInt64(DCGM_FE_GPU, gpu, kTemperatureId, 40 + gpu);
  }
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusDetached;
  ASSERT_TRUE(node.source().Discover({}).ok());
  node.dcgm.ForgetEntity(DCGM_FE_GPU, 1);
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperatureId, 1).absence(), Absence::kDeviceLost);
  EXPECT_FALSE(node.dcgm.IsWatched(DCGM_FE_GPU, 1, kTemperatureId)) << "not while it is away";
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusOk;
  const StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok());
  EXPECT_TRUE(SameDevices(*topology, grid->topology())) << "the caller need not watch again";
  EXPECT_TRUE(node.dcgm.IsWatched(DCGM_FE_GPU, 1, kTemperatureId));
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperatureId, 1).int64(), 41);
}

TEST(DcgmKinds, RestoresWatchesThatTheEngineDropped) {
  Node node(2);
  const auto grid = node.Start({kTemperatureId, kPowerId});
  for (const uint32_t gpu : {0U, 1U}) {
    node.dcgm.SetInt64(DCGM_FE_GPU, gpu, kTemperatureId, 40 + gpu);
  }
  node.dcgm.ForgetEntity(DCGM_FE_GPU, 1);
  testing::internal::CaptureStderr();
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperatureId, 1).absence(), Absence::kNotWatched);
  EXPECT_TRUE(node.dcgm.IsWatched(DCGM_FE_GPU, 1, kTemperatureId)) << "at once";
  node.clock.Advance(seconds(1));
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperatureId, 1).int64(), 41);
  EXPECT_EQ(node.dcgm.CountOf("dcgmWatchFields"), 2);
  ASSERT_TRUE(node.source().Read(*grid).ok());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(log, '\n'), 1) << log;
  EXPECT_NE(log.find("sets them again\" gpu=1 uuid=" + grid->topology().gpus[1].uuid + " remedy="),
            std::string::npos)
      << log;
}

TEST(DcgmKinds, SaysNothingOfDroppedWatchesIfTheGpuWasReleased) {
  Node node(2);
  const auto grid = node.Start({kTemperatureId});
  for (const uint32_t gpu : {0U, 1U}) {
    node.dcgm.SetInt64(DCGM_FE_GPU, gpu, kTemperatureId, 40 + gpu);
  }
  node.dcgm.ForgetEntity(DCGM_FE_GPU, 1);
  testing::internal::CaptureStderr();
  ASSERT_TRUE(node.source().Read(*grid).ok());
  for (const auto status : {abi::DcgmEntityStatusDetached, abi::DcgmEntityStatusOk}) {
    node.dcgm.gpus[1].status = status;
    ASSERT_TRUE(node.source().Discover({}).ok());
    node.clock.Advance(seconds(1));
    ASSERT_TRUE(node.source().Read(*grid).ok());
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "the line of the lost GPU tells it";
  EXPECT_EQ(Cell(*grid, kTemperatureId, 1).int64(), 41);
}

TEST(DcgmKinds, SlowsDownWhenTheEngineKeepsDroppingWatches) {
  Node node(2);
  const auto grid = node.Start({kTemperatureId});
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, 40);
  node.dcgm.ForgetCalls();
  for (int second = 0; second < 300; ++second) {
    node.dcgm.sample_time_us = ToMicroseconds(node.clock.WallNow());
    node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, 40);
    node.dcgm.ForgetEntity(DCGM_FE_GPU, 1);
    ASSERT_TRUE(node.source().Read(*grid).ok()) << second;
    node.clock.Advance(seconds(1));
  }
  // After 0, 1, 3, 7, 15, 31, 63 s, then each minute.
  EXPECT_EQ(node.dcgm.CountOf("dcgmWatchFields"), 10);
}

TEST(DcgmKinds, ProfilesABoardThatWasLostWhenTheWatchBegan) {
  Node node(1);
  ASSERT_TRUE(node.source().Discover({}).ok());
  node.dcgm.profiling_fields = {kGraphicsActive};
  node.dcgm.gpus[0].status = abi::DcgmEntityStatusDetached;
  const auto grid = node.Start({kTemperatureId, kGraphicsActive});
  node.dcgm.gpus[0].status = abi::DcgmEntityStatusOk;
  ASSERT_TRUE(node.source().Discover({}).ok());
  EXPECT_TRUE(node.dcgm.IsWatched(DCGM_FE_GPU, 0, kTemperatureId));
  EXPECT_TRUE(node.dcgm.IsWatched(DCGM_FE_GPU, 0, kGraphicsActive));
}

TEST(DcgmKinds, KeepsSlowFieldsForSeveralOfTheirOwnPeriods) {
  Node node(1);
  node.Start({kTemperatureId, kInforomValid});
  EXPECT_EQ(node.dcgm.KeepOf(kTemperatureId), 30);
  EXPECT_EQ(node.dcgm.KeepOf(kInforomValid), 90);
}

TEST(DcgmKinds, WithholdsInstancesThatTheEngineConfuses) {
  Node node(2);
  node.AddMig();
  node.dcgm.instances[0].entity_id = 0;  // Numbered as if it were on GPU 0.
  node.dcgm.instances[1].entity_id = 1;
  node.dcgm.instances.push_back({2, 0, 5, "1g.10gb", {}});  // Right, but no longer trusted.
  for (const uint32_t entity : {0U, 1U}) {
    node.dcgm.SetInt64(abi::DCGM_FE_GPU_I, entity, kTemperatureId, 77);
    node.dcgm.SetInt64(DCGM_FE_GPU, entity, kTemperatureId, 40 + entity);
  }
  const auto grid = node.Start({kTemperatureId});
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperatureId, 0).int64(), 40);
  EXPECT_EQ(Cell(*grid, kTemperatureId, 1).absence(), Absence::kOtherGpu) << "of GPU 0";
  EXPECT_EQ(Cell(*grid, kTemperatureId, 2).int64(), 41);
  EXPECT_EQ(Cell(*grid, kTemperatureId, 3).absence(), Absence::kOtherGpu);
  EXPECT_EQ(Cell(*grid, kTemperatureId, 4).absence(), Absence::kOtherGpu);
  EXPECT_FALSE(node.dcgm.IsWatched(abi::DCGM_FE_GPU_I, 0, kTemperatureId));
  EXPECT_EQ(grid->topology().parts_absence,
            "the values of all MIG instances: the engine has given new numbers to those of GPU 1 "
            "(GPU-1), as it does when a GPU is bound again, and would return values of another GPU "
            "for them. Restart the engine");
  node.dcgm.instances[0].entity_id = 7;
  node.dcgm.instances[1].entity_id = 8;
  const StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok());
  EXPECT_FALSE(SameDevices(*topology, grid->topology())) << "it is watched again";
  EXPECT_EQ(topology->parts_absence, "");
}

TEST(DcgmKinds, AcceptsNumbersOfBoardsWithFourInstances) {
  Node node(3);
  node.dcgm.instances = {
      {4, 1, 1, "1g.6gb", {}}, {5, 1, 2, "1g.6gb", {}}, {8, 2, 1, "4g.24gb", {}}};
  const StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok());
  EXPECT_TRUE(std::ranges::none_of(topology->instances, &GpuInstance::is_misread));
}

}  // namespace
}  // namespace podgpu
