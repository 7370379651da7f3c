#include "source/dcgm/watches.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "sample/columns.h"
#include "source/testing/dcgm_node.h"

namespace podgpu {
namespace {

using abi::DCGM_FE_GPU;
using abi::DCGM_FE_GPU_I;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(DcgmWatch, WatchesEachDeviceOnceAndReadsItInOneCall) {
  Node node(2);
  node.AddMig();
  const auto grid = node.Start({kTemperatureId, kFbUsed, kDriver});
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, 41);
  node.dcgm.SetInt64(DCGM_FE_GPU, 1, kTemperatureId, 42);
  node.dcgm.SetInt64(DCGM_FE_GPU_I, 8, kFbUsed, 87);
  node.dcgm.SetString(DCGM_FE_GPU, 0, kDriver, "570.133.20");
  node.dcgm.ForgetCalls();
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperatureId, 0).int64(), 41);
  EXPECT_EQ(Cell(*grid, kTemperatureId, 1).int64(), 42);
  EXPECT_EQ(Cell(*grid, kFbUsed, 3).int64(), 87);
  EXPECT_EQ(grid->text(Cell(*grid, kDriver, 0)), "570.133.20");
  EXPECT_EQ(Cell(*grid, kFbUsed, 2).absence(), Absence::kNoData);
  EXPECT_EQ(node.dcgm.calls(), std::vector<std::string>{"dcgmEntitiesGetLatestValues"});
  EXPECT_EQ(node.dcgm.live_flags(), std::vector<uint32_t>{0});
  EXPECT_EQ(node.dcgm.group_count(), 1U);
  EXPECT_EQ(node.dcgm.PeriodOf(kTemperatureId), 1'000'000);
  EXPECT_TRUE(node.watched.reason.empty()) << node.watched.reason;
}

TEST(DcgmWatch, KeepsXidsLongerThanOtherSamples) {
  Node node(1);
  node.Start({kTemperatureId, kXidId});
  EXPECT_EQ(node.dcgm.KeepOf(kTemperatureId), 30);
  EXPECT_EQ(node.dcgm.KeepOf(kXidId), 600);
  const StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(node.source().Watch(*topology, Fields({kTemperatureId, kXidId}), seconds(300)).ok());
  EXPECT_EQ(node.dcgm.KeepOf(kTemperatureId), 900);
  EXPECT_EQ(node.dcgm.KeepOf(kXidId), 900);
}

TEST(DcgmWatch, SamplesCollectionsAtTheirOwnIntervals) {
  Node node(1);
  const auto watch = [&node](const FieldCollections& collections) {
    node.source().SetCollections(std::make_shared<const FieldCollections>(collections));
    node.Start({kTemperatureId, kPowerId, kXidId});
  };
  watch({{"slow", seconds(600), {kPowerId, kXidId}}});
  EXPECT_EQ(node.dcgm.PeriodOf(kTemperatureId), 1'000'000);
  EXPECT_EQ(node.dcgm.KeepOf(kTemperatureId), 30);
  EXPECT_EQ(node.dcgm.PeriodOf(kPowerId), 600'000'000);
  EXPECT_EQ(node.dcgm.KeepOf(kPowerId), 1'800) << "the newest sample must not expire";
  EXPECT_EQ(node.dcgm.PeriodOf(kXidId), 600'000'000);
  watch({{"fast", milliseconds(250), {kPowerId}}});
  EXPECT_EQ(node.dcgm.PeriodOf(kPowerId), 250'000);
  EXPECT_EQ(node.dcgm.KeepOf(kPowerId), 30);
  EXPECT_EQ(node.dcgm.PeriodOf(kXidId), 1'000'000);
  EXPECT_EQ(node.dcgm.KeepOf(kXidId), 600);
}

// The engine repeats the last sample of a slow collection, also of a GPU that it has lost.
TEST(DcgmWatch, ShowsNoSlowValueOfALostGpu) {
  Node node(2);
  node.source().SetCollections(std::make_shared<const FieldCollections>(
      FieldCollections{{"slow", seconds(600), {kPowerId, kXidId}}}));
  const auto grid = node.Start({kTemperatureId, kPowerId, kXidId});
  for (const uint32_t gpu : {0U, 1U}) {
    node.dcgm.SetDouble(DCGM_FE_GPU, gpu, kPowerId, 300);
    node.dcgm.SetInt64(DCGM_FE_GPU, gpu, kTemperatureId, 41);
  }
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusLost;
  ASSERT_TRUE(node.source().Discover({}).ok());
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kPowerId, 0).real(), 300);
  EXPECT_EQ(Cell(*grid, kPowerId, 1).absence(), Absence::kDeviceLost);
}

// The engine of this node does not know the new field, so it samples the old one for both.
TEST(DcgmWatch, SamplesAFieldForTwoCollectionsAtTheShorterInterval) {
  constexpr uint16_t kNewField = 1639;
  Node node(1);
  ASSERT_NE(BaseUnitOf(kNewField), nullptr);
  const uint16_t old_id = BaseUnitOf(kNewField)->old_id;
  node.source().SetCollections(std::make_shared<const FieldCollections>(FieldCollections{
      {"slow", seconds(600), {old_id}}, {"fast", milliseconds(250), {kNewField}}}));
  node.Start({old_id, kNewField});
  EXPECT_EQ(node.dcgm.PeriodOf(old_id), 250'000);
}

TEST(DcgmWatch, ReplacesWhatWasWatchedBefore) {
  Node node(1);
  node.Start({kTemperatureId, kPowerId});
  node.Start({kUtilisation});
  EXPECT_FALSE(node.dcgm.IsWatched(DCGM_FE_GPU, 0, kTemperatureId));
  EXPECT_TRUE(node.dcgm.IsWatched(DCGM_FE_GPU, 0, kUtilisation));
  EXPECT_EQ(node.dcgm.group_count(), 1U);
  EXPECT_EQ(node.dcgm.field_group_count(), 1U);
}

TEST(DcgmWatch, LeavesOutFieldsOfOtherEntitiesAndUnknownOnes) {
  Node node(1);
  node.dcgm.unknown_fields = {kPowerId};
  const auto grid = node.Start({kPowerId, kTemperatureId, kCpuUtilisation});
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kPowerId, 0).absence(), Absence::kNotSupported);
  EXPECT_EQ(grid->ColumnsOf(*grid->RowOf(kCpuUtilisation)).count, 0U);
  EXPECT_EQ(Cell(*grid, kTemperatureId, 0).absence(), Absence::kNoData);
}

TEST(DcgmWatch, AcceptsExactlyTheLevelsOfGpus) {
  Node node(1);
  std::vector<uint16_t> ids;
  for (const Field& field : Catalogue()) {
    // An engine of 4.6.0 does not know fields in base units (base_units_test.cc).
    if (field.type != FieldType::kNone && !field.profiling && BaseUnitOf(field.id) == nullptr) {
      ids.push_back(field.id);
    }
  }
  const auto grid = node.Start(ids);
  ASSERT_TRUE(node.source().Read(*grid).ok());
  for (const Field* field : grid->fields()) {
    const bool is_read = field->level == FieldLevel::kNone || field->level == FieldLevel::kGlobal ||
                         field->level == FieldLevel::kGpu || field->level == FieldLevel::kVgpu ||
                         field->level == FieldLevel::kGpuInstance ||
                         field->level == FieldLevel::kComputeInstance;
    const bool is_filtered = field->id >= 1000 && field->id < 1100;
    if (!is_filtered) {
      EXPECT_EQ(node.dcgm.IsWatched(DCGM_FE_GPU, 0, field->id), is_read) << field->name;
    }
    if (IsPartLevel(field->level)) {
      EXPECT_EQ(grid->ColumnsOf(*grid->RowOf(field->id)).count, 0U) << field->name;
    } else if (!is_filtered) {
      EXPECT_EQ(Cell(*grid, field->id, 0).absence(),
                is_read ? Absence::kNoData : Absence::kNotSupported)
          << field->name;
    }
  }
}

TEST(DcgmWatch, PutsAtMost127FieldsIntoAGroup) {
  Node node(1);
  std::vector<uint16_t> ids;
  for (const Field& field : Catalogue()) {
    if (field.level == FieldLevel::kGpu && field.type == FieldType::kInt64 && !field.profiling &&
        field.id < 1000 && ids.size() < 200) {
      ids.push_back(field.id);
      node.dcgm.SetInt64(DCGM_FE_GPU, 0, field.id, field.id);
    }
  }
  ASSERT_EQ(ids.size(), 200U);
  const auto grid = node.Start(ids);
  node.dcgm.ForgetCalls();
  ASSERT_TRUE(node.source().Read(*grid).ok());
  for (const uint16_t id : ids) {
    EXPECT_EQ(Cell(*grid, id, 0).int64(), id);
  }
  EXPECT_EQ(node.dcgm.CountOf("dcgmEntitiesGetLatestValues"), 2);
}

TEST(DcgmWatch, SplitsManyDevicesForAnOldEngine) {
  for (const abi::DcgmGeneration generation : {abi::DcgmGeneration::k3, abi::DcgmGeneration::k4}) {
    Node node(16);
    node.dcgm.generation = generation;
    for (uint32_t i = 0; i < 112; ++i) {
      node.dcgm.instances.push_back({i, i / 7, i % 7, "1g.10gb", {}});
      node.dcgm.SetInt64(DCGM_FE_GPU_I, i, kFbUsed, i);
    }
    const auto grid = node.Start({kFbUsed});
    EXPECT_EQ(node.dcgm.group_count(), generation == abi::DcgmGeneration::k3 ? 2U : 1U);
    node.dcgm.ForgetCalls();
    ASSERT_TRUE(node.source().Read(*grid).ok());
    ASSERT_EQ(grid->topology().entities.size(), 128U);
    for (uint16_t column = 0; column < 128; ++column) {
      const GpuInstance* instance = grid->topology().InstanceOf({column});
      if (instance != nullptr) {
        EXPECT_EQ(Cell(*grid, kFbUsed, column).int64(), instance->entity_id);
      }
    }
    EXPECT_EQ(node.dcgm.CountOf("dcgmEntitiesGetLatestValues"),
              generation == abi::DcgmGeneration::k3 ? 2 : 1);
  }
}

TEST(DcgmWatch, WatchesTheProfilingFieldsThatAGpuSupports) {
  Node node(2);
  node.dcgm.profiling_fields = {kGraphicsActive};
  const auto grid = node.Start({kTemperatureId, kGraphicsActive, kTensorActive});
  EXPECT_FALSE(node.watched.profiling_refused);
  node.dcgm.SetDouble(DCGM_FE_GPU, 1, kGraphicsActive, 0.5);
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kGraphicsActive, 1).real(), 0.5);
  EXPECT_EQ(Cell(*grid, kTensorActive, 1).absence(), Absence::kNotSupported);
  EXPECT_EQ(node.dcgm.CountOf("dcgmProfGetSupportedMetricGroups"), 1)
      << "one GPU of a model is asked for all";
}

TEST(DcgmWatch, ContinuesWithoutProfiling) {
  const struct {
    const char* label;
    std::function<void(FakeDcgm&)> prepare;
    Absence expected;
    std::string reason;
  } rows[] = {
      {"no module", [](FakeDcgm&) {}, Absence::kNotWatched,
       "no profiling fields: DCGM -33: This request is serviced by a module of DCGM that is not "
       "currently loaded"},
      {"no symbol", [](FakeDcgm& dcgm) { dcgm.without = {abi::DcgmCapability::kProfiling}; },
       Absence::kNotWatched, ""},
      {"refused by the watch",
       [](FakeDcgm& dcgm) {
         dcgm.profiling_fields = {kGraphicsActive};
         dcgm.unwatchable = {kGraphicsActive};
         dcgm.unwatchable_code = abi::DCGM_ST_MODULE_NOT_LOADED;
       },
       Absence::kNotWatched,
       "the engine refuses field 1001: DCGM -33: This request is serviced by a module of DCGM that "
       "is not currently loaded"},
      {"refused by the profiler",
       [](FakeDcgm& dcgm) {
         dcgm.profiling_fields = {kGraphicsActive};
         dcgm.unwatchable = {kGraphicsActive};
         dcgm.unwatchable_code = abi::DCGM_ST_PROFILING_NOT_SUPPORTED;
       },
       Absence::kNotSupported, "the engine refuses field 1001: DCGM -36: as the fake says"},
  };
  for (const auto& row : rows) {
    Node node(1);
    row.prepare(node.dcgm);
    node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, 41);
    const auto grid = node.Start({kTemperatureId, kGraphicsActive});
    ASSERT_TRUE(node.source().Read(*grid).ok()) << row.label;
    EXPECT_TRUE(node.watched.profiling_refused) << row.label;
    EXPECT_FALSE(node.watched.is_fault) << row.label << ": the node just has none";
    EXPECT_EQ(node.watched.reason, row.reason.empty() ? "no profiling fields: libdcgm.so.4 lacks "
                                                        "dcgmProfGetSupportedMetricGroups"
                                                      : row.reason)
        << row.label;
    EXPECT_EQ(Cell(*grid, kTemperatureId, 0).int64(), 41) << row.label;
    EXPECT_EQ(Cell(*grid, kGraphicsActive, 0).absence(), row.expected) << row.label;
  }
}

// The engine rolls such a watch back, so none of its fields may count as watched.
TEST(DcgmWatch, TreatsCodeMinus33ForOtherFieldsAsARefusal) {
  Node node(1);
  node.dcgm.unwatchable = {kPowerId};
  node.dcgm.unwatchable_code = abi::DCGM_ST_MODULE_NOT_LOADED;
  const auto grid = node.Start({kTemperatureId, kPowerId, kUtilisation});
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_TRUE(node.dcgm.IsWatched(DCGM_FE_GPU, 0, kTemperatureId));
  EXPECT_TRUE(node.dcgm.IsWatched(DCGM_FE_GPU, 0, kUtilisation));
  EXPECT_EQ(Cell(*grid, kPowerId, 0).absence(), Absence::kNotWatched);
  EXPECT_FALSE(node.watched.profiling_refused);
  EXPECT_NE(node.watched.reason.find("the engine refuses field 155: DCGM -33"), std::string::npos)
      << node.watched.reason;
}

// Each single field and each pair among eight is refused: all others are watched.
TEST(DcgmWatch, FindsRefusedFieldsByHalving) {
  const std::vector<uint16_t> ids = {100, 101, 140, 150, 155, 156, 203, 252};
  for (size_t a = 0; a < ids.size(); ++a) {
    for (size_t b = a; b < ids.size(); ++b) {
      Node node(1);
      node.dcgm.unwatchable = {ids[a], ids[b]};
      const auto grid = node.Start(ids);
      ASSERT_TRUE(node.source().Read(*grid).ok());
      for (const uint16_t id : ids) {
        const bool is_refused = node.dcgm.unwatchable.contains(id);
        EXPECT_EQ(node.dcgm.IsWatched(DCGM_FE_GPU, 0, id), !is_refused);
        EXPECT_EQ(Cell(*grid, id, 0).absence(),
                  is_refused ? Absence::kNotPermitted : Absence::kNoData);
      }
      EXPECT_FALSE(node.watched.profiling_refused);
      EXPECT_NE(node.watched.reason.find("the engine refuses field " + std::to_string(ids[a]) +
                                         ": DCGM -29: as the fake says"),
                std::string::npos)
          << node.watched.reason;
    }
  }
}

TEST(DcgmWatch, RefusesAFieldThatOnlyTheEngineLacks) {
  Node node(1);
  node.dcgm.engine_unknown = {kPowerId};
  const auto grid = node.Start({kTemperatureId, kPowerId, kUtilisation});
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kPowerId, 0).absence(), Absence::kNotSupported);
  EXPECT_EQ(Cell(*grid, kUtilisation, 0).absence(), Absence::kNoData);
}

TEST(DcgmWatch, ReportsTheFailureAndLeavesNoGroups) {
  const struct {
    std::string symbol;
    abi::dcgmReturn_t code;
    absl::StatusCode expected;
    std::string message;
  } rows[] = {
      {"dcgmProfGetSupportedMetricGroups", -21, absl::StatusCode::kUnavailable,
       "does not list its profiling fields (DCGM -21: The connection to the host engine is not "
       "valid any longer)"},
      {"dcgmGroupCreate", -24, absl::StatusCode::kResourceExhausted,
       "cannot create a device group (DCGM -24: as the fake says). Another client may hold all of "
       "its 64 groups"},
      {"dcgmGroupAddEntity", -11, absl::StatusCode::kUnavailable,
       "cannot add a device to its group (DCGM -11: as the fake says)"},
      {"dcgmFieldGroupCreate", -24, absl::StatusCode::kResourceExhausted,
       "does not watch the fields (DCGM -24: as the fake says)"},
      {"dcgmWatchFields", -56, absl::StatusCode::kFailedPrecondition,
       "does not watch the fields (DCGM -56: as the fake says)"},
  };
  for (const auto& row : rows) {
    Node node(1);
    const StatusOr<Topology> topology = node.source().Discover({});
    ASSERT_TRUE(topology.ok());
    node.dcgm.Fail(row.symbol, row.code, 1);
    const StatusOr<WatchResult> result =
        node.source().Watch(*topology, Fields({kTemperatureId, kGraphicsActive}), seconds(1));
    EXPECT_EQ(result.status().code(), row.expected) << row.symbol;
    EXPECT_EQ(Text(result.status()), "the host engine host:5555 " + row.message);
    EXPECT_EQ(node.dcgm.group_count(), 0U) << row.symbol;
    EXPECT_EQ(node.dcgm.field_group_count(), 0U) << row.symbol;
  }
}

TEST(DcgmWatch, LeavesALostGpuOutUntilItIsBack) {
  Node node(2);
  ASSERT_TRUE(node.source().Discover({}).ok());
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusLost;
  const auto grid = node.Start({kTemperatureId});
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperatureId, 41);
  node.dcgm.SetInt64(DCGM_FE_GPU, 1, kTemperatureId, 42);
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperatureId, 0).int64(), 41);
  EXPECT_EQ(Cell(*grid, kTemperatureId, 1).absence(), Absence::kDeviceLost);
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusOk;
  const StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok());
  EXPECT_TRUE(SameDevices(*topology, grid->topology())) << "the caller need not watch again";
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperatureId, 1).int64(), 42);
}

TEST(DcgmWatch, ReportsWhyAReturnedDeviceIsNotWatched) {
  for (const char* symbol : {"dcgmGroupAddEntity", "dcgmWatchFields"}) {
    Node node(2);
    ASSERT_TRUE(node.source().Discover({}).ok());
    node.dcgm.gpus[1].status = abi::DcgmEntityStatusLost;
    node.Start({kTemperatureId});
    node.dcgm.gpus[1].status = abi::DcgmEntityStatusOk;
    node.dcgm.Fail(symbol, abi::DCGM_ST_TIMEOUT, 1);
    EXPECT_TRUE(LostConnection(node.source().Discover({}).status())) << symbol;
  }
}

TEST(DcgmWatch, LeavesOutADeviceThatDisappearedAfterDiscover) {
  Node node(2);
  const StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok());
  node.dcgm.gpus.pop_back();
  ASSERT_TRUE(node.source().Watch(*topology, Fields({kTemperatureId}), seconds(1)).ok());
  Grid grid(std::make_shared<Topology>(*topology), Fields({kTemperatureId}));
  ASSERT_TRUE(node.source().Read(grid).ok());
  EXPECT_EQ(Cell(grid, kTemperatureId, 1).absence(), Absence::kNotFound);
}

TEST(DcgmWatch, AddsADeviceThatTheEngineDidNotKnowBefore) {
  Node node(1);
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, kTemperatureId, 40);
  node.dcgm.Fail("dcgmGroupAddEntity", abi::DCGM_ST_BADPARAM, 1);
  std::unique_ptr<Grid> grid = node.Start({kTemperatureId});
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperatureId, 0).absence(), Absence::kNotFound);
  ASSERT_TRUE(node.source().Discover({}).ok());
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_TRUE(Cell(*grid, kTemperatureId, 0).present());
}

TEST(DcgmWatch, RetriesWhenTheListOfProfilingFieldsIsInvalid) {
  Node node(1);
  node.Start({kTemperatureId, kGraphicsActive});  // The fake has no such module.
  EXPECT_TRUE(node.watched.profiling_refused);
  node.dcgm.profiling_fields = {kGraphicsActive};
  FakeFault garbage;
  garbage.spoil = [](std::span<const FakeOut> outs) {
    static_cast<abi::dcgmProfGetMetricGroups_v3*>(outs[0].bytes)->numMetricGroups = 11;
  };
  node.dcgm.Inject("dcgmProfGetSupportedMetricGroups", garbage);
  node.Start({kTemperatureId, kGraphicsActive});
  EXPECT_EQ(node.watched.reason,
            "no profiling fields: the engine's list of them is empty or invalid");
  node.dcgm.Heal("dcgmProfGetSupportedMetricGroups");
  node.Start({kTemperatureId, kGraphicsActive});
  EXPECT_FALSE(node.watched.profiling_refused);
}

}  // namespace
}  // namespace podgpu
