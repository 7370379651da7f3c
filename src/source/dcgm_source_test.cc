#include "source/dcgm_source.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "base/manual_clock.h"
#include "source/testing/fake_dcgm_table.h"
#include "source/testing/fake_nvml_table.h"

namespace podgpu {
namespace {

using abi::DCGM_FE_GPU;
using abi::DCGM_FE_GPU_I;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint16_t kDriver = 1;  // Of the system, but asked of a device.
constexpr uint16_t kTemperature = 150;
constexpr uint16_t kPower = 155;
constexpr uint16_t kUtilisation = 203;
constexpr uint16_t kXid = 230;
constexpr uint16_t kFbUsed = 252;
constexpr uint16_t kGraphicsActive = 1001;
constexpr uint16_t kTensorActive = 1004;
constexpr uint16_t kCpuUtilisation = 1100;

std::vector<const Field*> Fields(std::vector<uint16_t> ids) {
  std::ranges::sort(ids);
  std::vector<const Field*> fields;
  for (const uint16_t id : ids) {
    fields.push_back(FindField(id));
    EXPECT_NE(fields.back(), nullptr) << id;
  }
  return fields;
}

// A node, its fakes and a source over them.
struct Node {
  explicit Node(int gpu_count, DcgmEndpoint endpoint = {DcgmEndpoint::Kind::kTcp, "host:5555"})
      : place(std::move(endpoint)) {
    for (int i = 0; i < gpu_count; ++i) {
      AddGpu(static_cast<uint32_t>(i));
    }
  }

  void AddGpu(uint32_t id) {
    const std::string number = std::to_string(id);
    dcgm.gpus.push_back({.gpu_id = id,
                         .uuid = "GPU-" + number,
                         .pci_bus_id = "00000000:0" + number + ":00.0",
                         .model = "NVIDIA H100 80GB HBM3",
                         .serial = "165" + number,
                         .vbios_version = "96.00"});
    nvml.gpus.push_back({"GPU-" + number, id + 10, {}});
  }

  // GPU 1 in MIG mode with two instances.
  void AddMig() {
    dcgm.gpus[1].mig_enabled = true;
    dcgm.instances = {{7, 1, 3, "3g.40gb", {{70, 0}}}, {8, 1, 9, "1g.10gb", {{80, 0}}}};
    nvml.gpus[1].mig_devices = {{true, 3, 0, "MIG-x"}, {true, 9, 0, "MIG-y"}};
  }

  DcgmSource& source() {
    if (!made) {
      made = std::make_unique<DcgmSource>(
          dcgm.Library(), place, milliseconds(1000),
          NvmlIdentity([this]() -> StatusOr<abi::NvmlLibrary> { return nvml.Library(); }), clock);
    }
    return *made;
  }

  // Discovers and watches; the grid for it.
  std::unique_ptr<Grid> Start(const std::vector<uint16_t>& ids) {
    StatusOr<Topology> topology = source().Discover();
    EXPECT_TRUE(topology.ok()) << topology.status();
    if (!topology.ok()) {
      return nullptr;
    }
    auto shared = std::make_shared<const Topology>(*std::move(topology));
    StatusOr<WatchResult> result = source().Watch(*shared, Fields(ids), seconds(1));
    EXPECT_TRUE(result.ok()) << result.status();
    watched = result.ok() ? *result : WatchResult{};
    return std::make_unique<Grid>(shared, Fields(ids));
  }

  FakeDcgm dcgm;
  FakeNvml nvml;
  ManualClock clock;
  DcgmEndpoint place;
  std::unique_ptr<DcgmSource> made;
  WatchResult watched;
};

const Value& Cell(const Grid& grid, uint16_t field, uint16_t column) {
  return grid.at(*grid.RowOf(field), EntityId{column});
}

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST(DcgmDiscover, TellsGpusAndInstances) {
  Node node(2);
  node.AddMig();
  const StatusOr<Topology> topology = node.source().Discover();
  ASSERT_TRUE(topology.ok()) << topology.status();
  ASSERT_EQ(topology->gpus.size(), 2U);
  const Gpu& gpu = topology->gpus[1];
  EXPECT_EQ(gpu.gpu_id, 1U);
  EXPECT_EQ(gpu.uuid, "GPU-1");
  EXPECT_EQ(gpu.pci_bus_id, "00000000:01:00.0");
  EXPECT_EQ(gpu.model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu.serial, "1651");
  EXPECT_EQ(gpu.vbios_version, "96.00");
  EXPECT_TRUE(gpu.mig_enabled);
  EXPECT_FALSE(topology->gpus[0].mig_enabled);
  EXPECT_EQ(gpu.state, DeviceState::kOk);
  EXPECT_EQ(gpu.minor_number, 11U);
  EXPECT_EQ(topology->driver_version, "570.133.20");
  ASSERT_EQ(topology->instances.size(), 2U);
  EXPECT_EQ(topology->instances[0].profile, "3g.40gb");
  EXPECT_EQ(topology->instances[0].gpu_instance_id, 3U);
  EXPECT_EQ(topology->instances[0].entity_id, 7U);
  EXPECT_EQ(topology->instances[1].compute_instances[0].mig_uuid, "MIG-y");
  EXPECT_EQ(topology->entities.size(), 4U);
  EXPECT_EQ(topology->epoch, 0U);
}

TEST(DcgmDiscover, AsksForIdentityAndNamesOnceWhileNothingChanges) {
  Node node(2);
  node.AddMig();
  const StatusOr<Topology> first = node.source().Discover();
  ASSERT_TRUE(first.ok());
  node.dcgm.ForgetCalls();
  const StatusOr<Topology> second = node.source().Discover();
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(SameDevices(*first, *second));
  EXPECT_EQ(node.dcgm.CountOf("dcgmGetDeviceAttributes"), 0);
  EXPECT_EQ(node.dcgm.CountOf("dcgmEntitiesGetLatestValues"), 0);
}

TEST(DcgmDiscover, SeesANewLayoutWithItsNamesAndModes) {
  Node node(2);
  ASSERT_TRUE(node.source().Discover().ok());
  node.AddMig();
  StatusOr<Topology> topology = node.source().Discover();
  ASSERT_TRUE(topology.ok());
  EXPECT_TRUE(topology->gpus[1].mig_enabled);
  EXPECT_EQ(topology->instances[1].profile, "1g.10gb");
  node.dcgm.instances[1].gpu_instance_id = 13;
  node.dcgm.instances[1].profile = "1g.20gb";
  topology = node.source().Discover();
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->instances[1].profile, "1g.20gb");
}

TEST(DcgmDiscover, NamesFiftySixInstancesInParts) {
  Node node(8);
  for (uint32_t i = 0; i < 56; ++i) {
    node.dcgm.instances.push_back({i, i / 7, i % 7, "1g." + std::to_string(i), {}});
  }
  const StatusOr<Topology> topology = node.source().Discover();
  ASSERT_TRUE(topology.ok()) << topology.status();
  ASSERT_EQ(topology->instances.size(), 56U);
  for (uint32_t i = 0; i < 56; ++i) {
    EXPECT_EQ(topology->instances[i].profile, "1g." + std::to_string(i));
  }
  EXPECT_EQ(node.dcgm.live_flags(), (std::vector<uint32_t>{1, 1}));
}

TEST(DcgmDiscover, KnowsNoInstancesWhereTheEngineHasNone) {
  const struct {
    const char* label;
    std::function<void(FakeDcgm&)> prepare;
  } rows[] = {
      {"no NVML in the engine",
       [](FakeDcgm& dcgm) { dcgm.Fail("dcgmGetGpuInstanceHierarchy", -56); }},
      {"not supported", [](FakeDcgm& dcgm) { dcgm.Fail("dcgmGetGpuInstanceHierarchy", -6); }},
      {"no symbol", [](FakeDcgm& dcgm) { dcgm.without = {abi::DcgmCapability::kMig}; }},
  };
  for (const auto& row : rows) {
    Node node(2);
    node.AddMig();
    row.prepare(node.dcgm);
    const StatusOr<Topology> topology = node.source().Discover();
    ASSERT_TRUE(topology.ok()) << row.label << topology.status();
    EXPECT_EQ(topology->entities.size(), 2U) << row.label;
  }
}

TEST(DcgmDiscover, TakesAnEmptyNode) {
  Node node(0);
  const auto grid = node.Start({kTemperature});
  ASSERT_NE(grid, nullptr);
  EXPECT_TRUE(grid->topology().entities.empty());
  EXPECT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(node.dcgm.CountOf("dcgmEntitiesGetLatestValues"), 0);
}

TEST(DcgmDiscover, MapsTheEnginesWordsForADevice) {
  const struct {
    abi::DcgmEntityStatus_t status;
    DeviceState expected;
  } rows[] = {{abi::DcgmEntityStatusUnknown, DeviceState::kDegraded},
              {abi::DcgmEntityStatusOk, DeviceState::kOk},
              {abi::DcgmEntityStatusUnsupported, DeviceState::kDegraded},
              {abi::DcgmEntityStatusInaccessible, DeviceState::kDegraded},
              {abi::DcgmEntityStatusLost, DeviceState::kLost},
              {abi::DcgmEntityStatusFake, DeviceState::kOk},
              {abi::DcgmEntityStatusDisabled, DeviceState::kDegraded},
              {abi::DcgmEntityStatusDetached, DeviceState::kLost},
              {99, DeviceState::kDegraded}};
  for (const auto& row : rows) {
    Node node(1);
    node.dcgm.gpus[0].status = row.status;
    const StatusOr<Topology> topology = node.source().Discover();
    ASSERT_TRUE(topology.ok()) << row.status;
    EXPECT_EQ(topology->gpus[0].state, row.expected) << row.status;
  }
}

TEST(DcgmDiscover, RemembersALostGpuUntilItIsBack) {
  Node node(2);
  ASSERT_TRUE(node.source().Discover().ok());
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusLost;
  StatusOr<Topology> topology = node.source().Discover();
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->gpus[1].state, DeviceState::kLost);
  EXPECT_EQ(topology->gpus[1].uuid, "GPU-1");
  EXPECT_EQ(topology->gpus[1].model, "NVIDIA H100 80GB HBM3");
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusOk;
  topology = node.source().Discover();
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->gpus[1].state, DeviceState::kRecovering);
  topology = node.source().Discover();
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->gpus[1].state, DeviceState::kOk);
}

TEST(DcgmDiscover, ShowsAGpuThatARestartedEngineNoLongerLists) {
  Node node(3);
  ASSERT_TRUE(node.source().Discover().ok());
  // The engine counts the two that are left from 0.
  node.dcgm.Kill();
  node.dcgm.gpus.erase(node.dcgm.gpus.begin() + 1);
  node.dcgm.gpus[1].gpu_id = 1;
  EXPECT_TRUE(LostConnection(node.source().Discover().status()));
  const StatusOr<Topology> topology = node.source().Discover();
  ASSERT_TRUE(topology.ok()) << topology.status();
  ASSERT_EQ(topology->gpus.size(), 3U);
  EXPECT_EQ(topology->gpus[0].uuid, "GPU-0");
  EXPECT_EQ(topology->gpus[1].uuid, "GPU-2");
  EXPECT_EQ(topology->gpus[2].uuid, "GPU-1");
  EXPECT_EQ(topology->gpus[2].state, DeviceState::kLost);
  EXPECT_EQ(topology->gpus[2].gpu_id, 2U) << "the next number that is free";
}

TEST(DcgmDiscover, HidesNoDeviceBehindOneThatDoesNotAnswer) {
  for (const char* symbol : {"dcgmGetGpuStatus", "dcgmGetDeviceAttributes"}) {
    Node node(2);
    node.dcgm.Fail(symbol, abi::DCGM_ST_NVML_DRIVER_TIMEOUT, 1);
    const StatusOr<Topology> topology = node.source().Discover();
    ASSERT_TRUE(topology.ok()) << symbol;
    EXPECT_EQ(topology->gpus[0].state, DeviceState::kDegraded) << symbol;
    EXPECT_EQ(topology->gpus[1].state, DeviceState::kOk) << symbol;
    const StatusOr<Topology> next = node.source().Discover();
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(next->gpus[0].uuid, "GPU-0") << symbol;
    EXPECT_EQ(next->gpus[0].state, DeviceState::kOk) << symbol;
  }
}

TEST(DcgmDiscover, SaysWhatFails) {
  const struct {
    std::string symbol;
    abi::dcgmReturn_t code;
    absl::StatusCode expected;
    std::string message;
  } rows[] = {
      {"dcgmGetGpuStatus", -21, absl::StatusCode::kUnavailable,
       "the host engine host:5555 does not tell the state of a GPU (DCGM -21: The connection to "
       "the host engine is not valid any longer)"},
      {"dcgmGetDeviceAttributes", -11, absl::StatusCode::kUnavailable,
       "the host engine host:5555 does not say who GPU 0 is (DCGM -11: as the fake says)"},
      {"dcgmGetGpuInstanceHierarchy", -3, absl::StatusCode::kInternal,
       "the host engine host:5555 does not list its MIG instances (DCGM -3: as the fake says)"},
      {"dcgmEntitiesGetLatestValues", -3, absl::StatusCode::kInternal,
       "the host engine host:5555 does not name its MIG profiles (DCGM -3: as the fake says)"},
  };
  for (const auto& row : rows) {
    Node node(2);
    node.AddMig();
    node.dcgm.Fail(row.symbol, row.code, 1);
    const StatusOr<Topology> topology = node.source().Discover();
    EXPECT_EQ(topology.status().code(), row.expected) << row.symbol;
    EXPECT_EQ(Text(topology.status()), row.message);
    const int connects = node.dcgm.CountOf("dcgmConnect_v3");
    EXPECT_TRUE(node.source().Discover().ok()) << row.symbol;
    EXPECT_EQ(node.dcgm.CountOf("dcgmConnect_v3") - connects,
              row.expected == absl::StatusCode::kUnavailable ? 1 : 0)
        << row.symbol;
  }
}

TEST(DcgmDiscover, RefusesACountThatDcgmCannotHave) {
  Node node(33);
  EXPECT_EQ(Text(node.source().Discover().status()),
            "the host engine host:5555 counts 33 GPUs, and DCGM knows 32 at most");
}

TEST(DcgmWatch, WatchesEachDeviceOnceAndReadsItInOneCall) {
  Node node(2);
  node.AddMig();
  const auto grid = node.Start({kTemperature, kFbUsed, kDriver});
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperature, 41);
  node.dcgm.SetInt64(DCGM_FE_GPU, 1, kTemperature, 42);
  node.dcgm.SetInt64(DCGM_FE_GPU_I, 8, kFbUsed, 87);
  node.dcgm.SetString(DCGM_FE_GPU, 0, kDriver, "570.133.20");
  node.dcgm.ForgetCalls();
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperature, 0).int64(), 41);
  EXPECT_EQ(Cell(*grid, kTemperature, 1).int64(), 42);
  EXPECT_EQ(Cell(*grid, kFbUsed, 3).int64(), 87);
  EXPECT_EQ(grid->text(Cell(*grid, kDriver, 0)), "570.133.20");
  EXPECT_EQ(Cell(*grid, kFbUsed, 2).absence(), Absence::kNoData);
  EXPECT_EQ(node.dcgm.calls(), std::vector<std::string>{"dcgmEntitiesGetLatestValues"});
  EXPECT_EQ(node.dcgm.live_flags(), std::vector<uint32_t>{0});
  EXPECT_EQ(node.dcgm.group_count(), 1U);
  EXPECT_EQ(node.dcgm.PeriodOf(kTemperature), 1'000'000);
  EXPECT_TRUE(node.watched.reason.empty()) << node.watched.reason;
}

TEST(DcgmWatch, KeepsAnXidLongAndAllElseShort) {
  Node node(1);
  node.Start({kTemperature, kXid});
  EXPECT_EQ(node.dcgm.KeepOf(kTemperature), 30);
  EXPECT_EQ(node.dcgm.KeepOf(kXid), 600);
  const StatusOr<Topology> topology = node.source().Discover();
  ASSERT_TRUE(node.source().Watch(*topology, Fields({kTemperature, kXid}), seconds(300)).ok());
  EXPECT_EQ(node.dcgm.KeepOf(kTemperature), 900);
  EXPECT_EQ(node.dcgm.KeepOf(kXid), 900);
}

TEST(DcgmWatch, ReplacesWhatWasWatchedBefore) {
  Node node(1);
  node.Start({kTemperature, kPower});
  node.Start({kUtilisation});
  EXPECT_FALSE(node.dcgm.IsWatched(DCGM_FE_GPU, 0, kTemperature));
  EXPECT_TRUE(node.dcgm.IsWatched(DCGM_FE_GPU, 0, kUtilisation));
  EXPECT_EQ(node.dcgm.group_count(), 1U);
  EXPECT_EQ(node.dcgm.field_group_count(), 1U);
}

TEST(DcgmWatch, LeavesOutFieldsOfOtherEntitiesAndUnknownOnes) {
  Node node(1);
  node.dcgm.unknown_fields = {kPower};
  const auto grid = node.Start({kPower, kTemperature, kCpuUtilisation});
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kPower, 0).absence(), Absence::kNotSupported);
  EXPECT_EQ(Cell(*grid, kCpuUtilisation, 0).absence(), Absence::kNotSupported);
  EXPECT_EQ(Cell(*grid, kTemperature, 0).absence(), Absence::kNoData);
}

TEST(DcgmWatch, AcceptsExactlyTheLevelsOfGpus) {
  Node node(1);
  std::vector<uint16_t> ids;
  for (const Field& field : Catalogue()) {
    if (field.type != FieldType::kNone && !field.profiling) {
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
      EXPECT_EQ(Cell(*grid, field->id, 0).absence(),
                is_read ? Absence::kNoData : Absence::kNotSupported)
          << field->name;
    }
  }
}

TEST(DcgmWatch, TakesNoMoreThan127FieldsIntoAGroup) {
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

TEST(DcgmWatch, SplitsManyDevicesAsAnOldEngineNeeds) {
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

TEST(DcgmWatch, WatchesTheProfilingFieldsThatAGpuOffers) {
  Node node(2);
  node.dcgm.profiling_fields = {kGraphicsActive};
  const auto grid = node.Start({kTemperature, kGraphicsActive, kTensorActive});
  EXPECT_FALSE(node.watched.profiling_refused);
  node.dcgm.SetDouble(DCGM_FE_GPU, 1, kGraphicsActive, 0.5);
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kGraphicsActive, 1).real(), 0.5);
  EXPECT_EQ(Cell(*grid, kTensorActive, 1).absence(), Absence::kNotSupported);
  EXPECT_EQ(node.dcgm.CountOf("dcgmProfGetSupportedMetricGroups"), 1)
      << "one GPU of a model answers for all";
}

TEST(DcgmWatch, GoesOnWithoutProfiling) {
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
    node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperature, 41);
    const auto grid = node.Start({kTemperature, kGraphicsActive});
    ASSERT_TRUE(node.source().Read(*grid).ok()) << row.label;
    EXPECT_TRUE(node.watched.profiling_refused) << row.label;
    EXPECT_EQ(node.watched.reason, row.reason.empty() ? "no profiling fields: libdcgm.so.4 lacks "
                                                        "dcgmProfGetSupportedMetricGroups"
                                                      : row.reason)
        << row.label;
    EXPECT_EQ(Cell(*grid, kTemperature, 0).int64(), 41) << row.label;
    EXPECT_EQ(Cell(*grid, kGraphicsActive, 0).absence(), row.expected) << row.label;
  }
}

TEST(DcgmWatch, TakesMinus33ForOtherFieldsAsPartial) {
  Node node(1);
  node.dcgm.Fail("dcgmWatchFields", abi::DCGM_ST_MODULE_NOT_LOADED);
  const auto grid = node.Start({kTemperature});
  EXPECT_FALSE(node.watched.profiling_refused);
  EXPECT_EQ(node.dcgm.field_group_count(), 1U);
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

TEST(DcgmWatch, DropsAFieldThatOnlyTheEngineDoesNotKnow) {
  Node node(1);
  node.dcgm.engine_unknown = {kPower};
  const auto grid = node.Start({kTemperature, kPower, kUtilisation});
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kPower, 0).absence(), Absence::kNotSupported);
  EXPECT_EQ(Cell(*grid, kUtilisation, 0).absence(), Absence::kNoData);
}

TEST(DcgmWatch, SaysWhatFailsAndLeavesNothingBehind) {
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
       "makes no group of devices (DCGM -24: as the fake says). Another client may hold all of its "
       "64"},
      {"dcgmGroupAddEntity", -11, absl::StatusCode::kUnavailable,
       "takes a device into no group (DCGM -11: as the fake says)"},
      {"dcgmFieldGroupCreate", -24, absl::StatusCode::kResourceExhausted,
       "does not watch the fields (DCGM -24: as the fake says)"},
      {"dcgmWatchFields", -56, absl::StatusCode::kFailedPrecondition,
       "does not watch the fields (DCGM -56: as the fake says)"},
  };
  for (const auto& row : rows) {
    Node node(1);
    const StatusOr<Topology> topology = node.source().Discover();
    ASSERT_TRUE(topology.ok());
    node.dcgm.Fail(row.symbol, row.code, 1);
    const StatusOr<WatchResult> result =
        node.source().Watch(*topology, Fields({kTemperature, kGraphicsActive}), seconds(1));
    EXPECT_EQ(result.status().code(), row.expected) << row.symbol;
    EXPECT_EQ(Text(result.status()), "the host engine host:5555 " + row.message);
    EXPECT_EQ(node.dcgm.group_count(), 0U) << row.symbol;
    EXPECT_EQ(node.dcgm.field_group_count(), 0U) << row.symbol;
  }
}

TEST(DcgmWatch, LeavesALostGpuOutUntilItIsBack) {
  Node node(2);
  ASSERT_TRUE(node.source().Discover().ok());
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusLost;
  const auto grid = node.Start({kTemperature});
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperature, 41);
  node.dcgm.SetInt64(DCGM_FE_GPU, 1, kTemperature, 42);
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperature, 0).int64(), 41);
  EXPECT_EQ(Cell(*grid, kTemperature, 1).absence(), Absence::kDeviceLost);
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusOk;
  const StatusOr<Topology> topology = node.source().Discover();
  ASSERT_TRUE(topology.ok());
  EXPECT_TRUE(SameDevices(*topology, grid->topology())) << "the caller need not watch again";
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperature, 1).int64(), 42);
}

TEST(DcgmWatch, SaysWhyADeviceThatIsBackIsNotWatched) {
  for (const char* symbol : {"dcgmGroupAddEntity", "dcgmWatchFields"}) {
    Node node(2);
    ASSERT_TRUE(node.source().Discover().ok());
    node.dcgm.gpus[1].status = abi::DcgmEntityStatusLost;
    node.Start({kTemperature});
    node.dcgm.gpus[1].status = abi::DcgmEntityStatusOk;
    node.dcgm.Fail(symbol, abi::DCGM_ST_TIMEOUT, 1);
    EXPECT_TRUE(LostConnection(node.source().Discover().status())) << symbol;
  }
}

TEST(DcgmWatch, LeavesOutADeviceThatWentSinceDiscover) {
  Node node(2);
  const StatusOr<Topology> topology = node.source().Discover();
  ASSERT_TRUE(topology.ok());
  node.dcgm.gpus.pop_back();
  ASSERT_TRUE(node.source().Watch(*topology, Fields({kTemperature}), seconds(1)).ok());
  Grid grid(std::make_shared<Topology>(*topology), Fields({kTemperature}));
  ASSERT_TRUE(node.source().Read(grid).ok());
  EXPECT_EQ(Cell(grid, kTemperature, 1).absence(), Absence::kNotFound);
}

TEST(DcgmRead, CallsTheBlanksOfALostGpuLost) {
  Node node(2);
  const auto grid = node.Start({kTemperature});
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusLost;
  for (const uint32_t gpu : {0U, 1U}) {
    node.dcgm.SetInt64(DCGM_FE_GPU, gpu, kTemperature, abi::DCGM_INT64_BLANK);
  }
  ASSERT_TRUE(node.source().Discover().ok());
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperature, 0).absence(), Absence::kBlank);
  EXPECT_EQ(Cell(*grid, kTemperature, 1).absence(), Absence::kDeviceLost);
}

TEST(DcgmRead, StampsTheGridAndTheAges) {
  Node node(1);
  const auto grid = node.Start({kTemperature});
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperature, 41);
  node.clock.Advance(milliseconds(2500));
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(grid->read_at, node.clock.Now());
  EXPECT_EQ(grid->read_at_wall, node.clock.WallNow());
  EXPECT_EQ(Cell(*grid, kTemperature, 0).age_ms(), 2500U);
}

TEST(DcgmRead, PutsValuesWhereTheyBelongWhateverTheOrder) {
  Node node(2);
  node.AddMig();
  node.dcgm.reverse_replies = true;
  const auto grid = node.Start({kTemperature, kPower, kFbUsed});
  for (const auto& [group, id] : std::vector<std::pair<int, uint32_t>>{
           {DCGM_FE_GPU, 0}, {DCGM_FE_GPU, 1}, {DCGM_FE_GPU_I, 7}, {DCGM_FE_GPU_I, 8}}) {
    node.dcgm.SetInt64(group, id, kTemperature, id * 10);
    node.dcgm.SetInt64(group, id, kFbUsed, id * 10 + 1);
  }
  ASSERT_TRUE(node.source().Read(*grid).ok());
  const uint32_t ids[] = {0, 1, 7, 8};
  for (uint16_t column = 0; column < 4; ++column) {
    EXPECT_EQ(Cell(*grid, kTemperature, column).int64(), ids[column] * 10);
    EXPECT_EQ(Cell(*grid, kFbUsed, column).int64(), ids[column] * 10 + 1);
  }
}

TEST(DcgmRead, TakesNothingOfTheLastReplyForAnAnswer) {
  Node node(1);
  const auto grid = node.Start({kTemperature, kFbUsed});
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperature, 41);
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kFbUsed, 87);
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_TRUE(Cell(*grid, kFbUsed, 0).present());
  node.dcgm.omit_last_reply = true;
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_TRUE(Cell(*grid, kTemperature, 0).present());
  EXPECT_EQ(Cell(*grid, kFbUsed, 0).absence(), Absence::kNoData);
}

TEST(DcgmRead, IgnoresWhatNobodyAskedFor) {
  Node node(1);
  const auto grid = node.Start({kTemperature, kFbUsed});
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperature, 41);
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, kFbUsed, 87);
  node.dcgm.Tamper(DCGM_FE_GPU, 0, kTemperature,
                   [](abi::dcgmFieldValue_v2& raw) { raw.entityId = 31; });
  node.dcgm.Tamper(DCGM_FE_GPU, 0, kFbUsed, [](abi::dcgmFieldValue_v2& raw) { raw.fieldId = 9; });
  ASSERT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(Cell(*grid, kTemperature, 0).absence(), Absence::kNoData);
  EXPECT_EQ(Cell(*grid, kFbUsed, 0).absence(), Absence::kNoData);
}

// What a caller does after each whole-call failure, and that it is enough.
TEST(DcgmRead, BeginsAgainAfterALostConnection) {
  for (const abi::dcgmReturn_t code : {-21, -11, -5, -14, -10}) {
    for (const DcgmEndpoint& place :
         {DcgmEndpoint{}, DcgmEndpoint{DcgmEndpoint::Kind::kUnixSocket, "/run/x"}}) {
      Node node(1, place);
      auto grid = node.Start({kTemperature});
      node.dcgm.SetInt64(DCGM_FE_GPU, 0, kTemperature, 41);
      node.dcgm.Fail("dcgmEntitiesGetLatestValues", code, 1);
      const Status status = node.source().Read(*grid);
      EXPECT_TRUE(LostConnection(status)) << code << ": " << status;
      EXPECT_TRUE(LostConnection(node.source().Read(*grid))) << "still not connected";
      EXPECT_TRUE(LostConnection(
          node.source().Watch(grid->topology(), Fields({kTemperature}), seconds(1)).status()));
      grid = node.Start({kTemperature});
      ASSERT_TRUE(node.source().Read(*grid).ok()) << code;
      EXPECT_EQ(Cell(*grid, kTemperature, 0).int64(), 41) << code;
    }
  }
}

TEST(DcgmRead, RefusesToReadBeforeAWatch) {
  Node node(1);
  const StatusOr<Topology> topology = node.source().Discover();
  ASSERT_TRUE(topology.ok());
  Grid grid(std::make_shared<Topology>(*topology), Fields({kTemperature}));
  const Status status = node.source().Read(grid);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Text(status),
            "the host engine host:5555 has nothing to watch yet: Watch comes before Read");
}

TEST(DcgmRead, KeepsTheConnectionAfterAnotherFailure) {
  Node node(1);
  const auto grid = node.Start({kTemperature});
  node.dcgm.Fail("dcgmEntitiesGetLatestValues", abi::DCGM_ST_GENERIC_ERROR, 1);
  const Status status = node.source().Read(*grid);
  EXPECT_EQ(Text(status),
            "the host engine host:5555 does not answer for 1 fields of 1 devices (DCGM -3: as the "
            "fake says)");
  EXPECT_FALSE(LostConnection(status));
  EXPECT_TRUE(node.source().Read(*grid).ok());
}

TEST(DcgmRead, IsFreedFromAHangingEngine) {
  Node node(1);
  const auto grid = node.Start({kTemperature});
  node.dcgm.Hang("dcgmEntitiesGetLatestValues");
  Status status;
  std::jthread reader([&] { status = node.source().Read(*grid); });
  node.dcgm.AwaitHanging();
  node.source().Interrupt();
  EXPECT_EQ(node.source().Describe(), "dcgm 4.6.0, remote engine host:5555");
  reader.join();
  EXPECT_TRUE(LostConnection(status)) << status;
  EXPECT_EQ(node.dcgm.CountOf("dcgmShutdown"), 0);
  EXPECT_NE(node.Start({kTemperature}), nullptr);
}

}  // namespace
}  // namespace podgpu
