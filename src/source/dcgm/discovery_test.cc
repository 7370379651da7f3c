#include "source/dcgm/discovery.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "source/testing/dcgm_node.h"

namespace podgpu {
namespace {

TEST(DcgmDiscover, ListsGpusAndInstances) {
  Node node(2);
  node.AddMig();
  const StatusOr<Topology> topology = node.source().Discover({});
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

TEST(DcgmDiscover, ReadsIdentityAndNamesOnceWhileNothingChanges) {
  Node node(2);
  node.AddMig();
  const StatusOr<Topology> first = node.source().Discover({});
  ASSERT_TRUE(first.ok());
  node.dcgm.ForgetCalls();
  const StatusOr<Topology> second = node.source().Discover({});
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(SameDevices(*first, *second));
  EXPECT_EQ(node.dcgm.CountOf("dcgmGetDeviceAttributes"), 0);
  EXPECT_EQ(node.dcgm.CountOf("dcgmEntitiesGetLatestValues"), 0);
}

TEST(DcgmDiscover, ReadsANewLayoutWithItsNamesAndModes) {
  Node node(2);
  ASSERT_TRUE(node.source().Discover({}).ok());
  node.AddMig();
  StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok());
  EXPECT_TRUE(topology->gpus[1].mig_enabled);
  EXPECT_EQ(topology->instances[1].profile, "1g.10gb");
  node.dcgm.instances[1].gpu_instance_id = 13;
  node.dcgm.instances[1].profile = "1g.20gb";
  topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->instances[1].profile, "1g.20gb");
}

TEST(DcgmDiscover, ReadsTheNamesOfFiftySixInstancesInTwoCalls) {
  Node node(8);
  for (uint32_t i = 0; i < 56; ++i) {
    node.dcgm.instances.push_back({i, i / 7, i % 7, "1g." + std::to_string(i), {}});
  }
  const StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok()) << topology.status();
  ASSERT_EQ(topology->instances.size(), 56U);
  for (uint32_t i = 0; i < 56; ++i) {
    EXPECT_EQ(topology->instances[i].profile, "1g." + std::to_string(i));
  }
  EXPECT_EQ(node.dcgm.live_flags(), (std::vector<uint32_t>{1, 1}));
}

TEST(DcgmDiscover, ListsNoInstancesWhenTheEngineHasNone) {
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
    node.dcgm.gpus[1].mig_enabled = false;
    row.prepare(node.dcgm);
    const StatusOr<Topology> topology = node.source().Discover({});
    ASSERT_TRUE(topology.ok()) << row.label << topology.status();
    EXPECT_EQ(topology->entities.size(), 2U) << row.label;
  }
}

TEST(DcgmDiscover, AcceptsANodeWithoutGpus) {
  Node node(0);
  const auto grid = node.Start({kTemperatureId});
  ASSERT_NE(grid, nullptr);
  EXPECT_TRUE(grid->topology().entities.empty());
  EXPECT_TRUE(node.source().Read(*grid).ok());
  EXPECT_EQ(node.dcgm.CountOf("dcgmEntitiesGetLatestValues"), 0);
}

TEST(DcgmDiscover, MapsTheEnginesStatesOfADevice) {
  const struct {
    abi::DcgmEntityStatus_t status;
    DeviceState expected;
  } rows[] = {{abi::DcgmEntityStatusUnknown, DeviceState::kDegraded},
              {abi::DcgmEntityStatusOk, DeviceState::kOk},
              {abi::DcgmEntityStatusUnsupported, DeviceState::kDegraded},
              {abi::DcgmEntityStatusInaccessible, DeviceState::kDegraded},
              {abi::DcgmEntityStatusLost, DeviceState::kLost},
              {abi::DcgmEntityStatusFake, DeviceState::kOk},
              {abi::DcgmEntityStatusDisabled, DeviceState::kOk},
              {abi::DcgmEntityStatusDetached, DeviceState::kLost},
              {99, DeviceState::kDegraded}};
  for (const auto& row : rows) {
    Node node(1);
    node.dcgm.gpus[0].status = row.status;
    const StatusOr<Topology> topology = node.source().Discover({});
    ASSERT_TRUE(topology.ok()) << row.status;
    EXPECT_EQ(topology->gpus[0].state, row.expected) << row.status;
    EXPECT_EQ(topology->is_paused, row.status == abi::DcgmEntityStatusDisabled);
  }
}

TEST(DcgmDiscover, RemembersALostGpuUntilItIsBack) {
  Node node(2);
  ASSERT_TRUE(node.source().Discover({}).ok());
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusLost;
  StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->gpus[1].state, DeviceState::kLost);
  EXPECT_EQ(topology->gpus[1].uuid, "GPU-1");
  EXPECT_EQ(topology->gpus[1].model, "NVIDIA H100 80GB HBM3");
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusOk;
  topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->gpus[1].state, DeviceState::kRecovering);
  topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->gpus[1].state, DeviceState::kOk);
}

TEST(DcgmDiscover, ShowsAGpuThatARestartedEngineNoLongerLists) {
  Node node(3);
  ASSERT_TRUE(node.source().Discover({}).ok());
  // The engine numbers the other two GPUs from 0.
  node.dcgm.Kill();
  node.dcgm.gpus.erase(node.dcgm.gpus.begin() + 1);
  node.dcgm.gpus[1].gpu_id = 1;
  EXPECT_TRUE(LostConnection(node.source().Discover({}).status()));
  const StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok()) << topology.status();
  ASSERT_EQ(topology->gpus.size(), 3U);
  EXPECT_EQ(topology->gpus[0].uuid, "GPU-0");
  EXPECT_EQ(topology->gpus[1].uuid, "GPU-2");
  EXPECT_EQ(topology->gpus[2].uuid, "GPU-1");
  EXPECT_EQ(topology->gpus[2].state, DeviceState::kLost);
  EXPECT_EQ(topology->gpus[2].gpu_id, 2U) << "the next free number";
}

TEST(DcgmDiscover, RecognisesADetachedGpuByItsUuidAfterAReconnect) {
  Node node(4);
  const StatusOr<Topology> before = node.source().Discover({});
  ASSERT_TRUE(before.ok());
  node.dcgm.Kill();
  node.dcgm.gpus[3].status = abi::DcgmEntityStatusDetached;
  EXPECT_TRUE(LostConnection(node.source().Discover({}).status()));
  const StatusOr<Topology> after = node.source().Discover({});
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_TRUE(SameDevices(*before, *after))
      << "serial and mode too, which the engine does not report";
  EXPECT_EQ(after->gpus[3].state, DeviceState::kLost);
}

TEST(DcgmDiscover, IdentifiesADetachedGpuThatIsNew) {
  Node node(2);
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusDetached;
  const StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->gpus[1].uuid, "GPU-1");
  EXPECT_EQ(topology->gpus[1].serial, "");
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusOk;
  const StatusOr<Topology> back = node.source().Discover({});
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->gpus[1].serial, "1651");
}

// An engine that starts without the driver reports nothing about its GPUs, not even their UUIDs.
TEST(DcgmDiscover, CountsNoGpuTwiceWhenTheEngineOmitsUuids) {
  for (const size_t gone : {size_t{1}, size_t{8}}) {
    Node node(8);
    const StatusOr<Topology> before = node.source().Discover({});
    ASSERT_TRUE(before.ok());
    node.dcgm.Kill();
    for (size_t i = 8 - gone; i < 8; ++i) {
      node.dcgm.gpus[i].status = abi::DcgmEntityStatusLost;
    }
    EXPECT_TRUE(LostConnection(node.source().Discover({}).status()));
    const StatusOr<Topology> after = node.source().Discover({});
    ASSERT_TRUE(after.ok()) << after.status();
    ASSERT_EQ(after->gpus.size(), 8U) << gone;
    EXPECT_TRUE(SameDevices(*before, *after)) << gone;
    EXPECT_EQ(after->gpus[7].state, DeviceState::kLost);
  }
}

TEST(DcgmDiscover, ReportsAnEngineWithoutADriver) {
  Node node(0);
  node.dcgm.has_nvml = false;
  ::testing::internal::CaptureStderr();
  const StatusOr<Topology> topology = node.source().Discover({});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "the log of states tells it";
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->driver_absence,
            "runs without the driver's library, libnvidia-ml.so.1, and knows no GPU (DCGM -56: as "
            "the fake says)");
  node.dcgm.has_nvml = true;
  EXPECT_EQ(node.source().Discover({})->driver_absence, "");
}

TEST(DcgmDiscover, ListsTheOtherDevicesWhenOneDoesNotAnswer) {
  for (const char* symbol : {"dcgmGetGpuStatus", "dcgmGetDeviceAttributes"}) {
    Node node(2);
    node.dcgm.Fail(symbol, abi::DCGM_ST_NVML_DRIVER_TIMEOUT, 1);
    const StatusOr<Topology> topology = node.source().Discover({});
    ASSERT_TRUE(topology.ok()) << symbol;
    EXPECT_EQ(topology->gpus[0].state, DeviceState::kDegraded) << symbol;
    EXPECT_EQ(topology->gpus[1].state, DeviceState::kOk) << symbol;
    const StatusOr<Topology> next = node.source().Discover({});
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(next->gpus[0].uuid, "GPU-0") << symbol;
    EXPECT_EQ(next->gpus[0].state, DeviceState::kOk) << symbol;
  }
}

TEST(DcgmDiscover, ReportsWhichCallFails) {
  const struct {
    std::string symbol;
    abi::dcgmReturn_t code;
    absl::StatusCode expected;
    std::string message;
  } rows[] = {
      {"dcgmGetGpuStatus", -21, absl::StatusCode::kUnavailable,
       "the host engine host:5555 does not report the state of a GPU (DCGM -21: The connection to "
       "the host engine is not valid any longer)"},
      {"dcgmGetDeviceAttributes", -11, absl::StatusCode::kUnavailable,
       "the host engine host:5555 does not identify GPU 0 (DCGM -11: as the fake says)"},
      {"dcgmGetGpuInstanceHierarchy", -3, absl::StatusCode::kInternal,
       "the host engine host:5555 does not list its MIG instances (DCGM -3: as the fake says)"},
      {"dcgmEntitiesGetLatestValues", -11, absl::StatusCode::kUnavailable,
       "the host engine host:5555 does not name its MIG profiles (DCGM -11: as the fake says)"},
  };
  for (const auto& row : rows) {
    Node node(2);
    node.AddMig();
    node.dcgm.Fail(row.symbol, row.code, 1);
    const StatusOr<Topology> topology = node.source().Discover({});
    EXPECT_EQ(topology.status().code(), row.expected) << row.symbol;
    EXPECT_EQ(Text(topology.status()), row.message);
    const int connects = node.dcgm.CountOf("dcgmConnect_v3");
    EXPECT_TRUE(node.source().Discover({}).ok()) << row.symbol;
    EXPECT_EQ(node.dcgm.CountOf("dcgmConnect_v3") - connects,
              row.expected == absl::StatusCode::kUnavailable ? 1 : 0)
        << row.symbol;
  }
}

TEST(DcgmDiscover, ListsInstancesWhoseNamesAreMissing) {
  Node node(2);
  node.AddMig();
  node.dcgm.Fail("dcgmEntitiesGetLatestValues", abi::DCGM_ST_GENERIC_ERROR, 1);
  const StatusOr<Topology> nameless = node.source().Discover({});
  ASSERT_TRUE(nameless.ok()) << nameless.status();
  ASSERT_EQ(nameless->instances.size(), 2U);
  EXPECT_EQ(nameless->instances[0].profile, "");
  const StatusOr<Topology> named = node.source().Discover({});
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->instances[0].profile, "3g.40gb") << "the next Discover asks again";
}

TEST(DcgmDiscover, TakesNoNumberForTheNameOfAnInstance) {
  Node node(2);
  node.AddMig();
  FakeFault fault;
  fault.spoil = [](std::span<const FakeOut> outs) {
    static_cast<abi::dcgmFieldValue_v2*>(outs[0].bytes)->fieldType = abi::DCGM_FT_INT64;
  };
  node.dcgm.Inject("dcgmEntitiesGetLatestValues", fault);
  const StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_EQ(topology->instances[0].profile, "");
  EXPECT_EQ(topology->instances[1].profile, "1g.10gb");
}

TEST(DcgmDiscover, RefusesAnImpossibleCountOfGpus) {
  Node node(33);
  EXPECT_EQ(Text(node.source().Discover({}).status()),
            "the host engine host:5555 counts 33 GPUs, but DCGM supports at most 32");
}

TEST(DcgmDiscover, KeepsInstancesWhenTheirListFails) {
  Node node(2);
  node.AddMig();
  node.dcgm.Fail("dcgmGetGpuInstanceHierarchy", abi::DCGM_ST_NOT_SUPPORTED, 1);
  EXPECT_EQ(Text(node.source().Discover({}).status()),
            "the host engine host:5555 does not list its MIG instances (DCGM -6: as the fake "
            "says)");
  node.dcgm.instances = {{7, 5, 3, "3g.40gb", {}}};
  EXPECT_EQ(Text(node.source().Discover({}).status()),
            "the host engine host:5555 lists 1 MIG instances, none of them on a GPU of this node");
}

TEST(DcgmDiscover, RefusesAnImpossibleListOfGpus) {
  Node node(2);
  node.dcgm.gpus[1].gpu_id = 32;
  EXPECT_EQ(Text(node.source().Discover({}).status()),
            "the host engine host:5555 lists GPU 32, but DCGM's greatest number is 31");
  node.dcgm.gpus[1].gpu_id = 0;
  EXPECT_EQ(Text(node.source().Discover({}).status()),
            "the host engine host:5555 lists GPU 0 twice");
}

TEST(DcgmDiscover, KeepsTheLastIdentityWhenTheNextIsGarbage) {
  Node node(1);
  ASSERT_TRUE(node.source().Discover({}).ok());
  node.dcgm.gpus[0].uuid = "GPU-\x01 \"";
  node.dcgm.gpus[0].status = abi::DcgmEntityStatusInaccessible;  // Makes the source read it again.
  StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok()) << topology.status();
  ASSERT_EQ(topology->gpus.size(), 1U);
  EXPECT_EQ(topology->gpus[0].uuid, "GPU-0");
  EXPECT_EQ(topology->gpus[0].state, DeviceState::kDegraded);
}

TEST(DcgmDiscover, AsksAgainForAMissingName) {
  Node node(2);
  node.AddMig();
  node.dcgm.instances[0].profile = abi::DCGM_STR_BLANK;
  StatusOr<Topology> topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_EQ(topology->instances[0].profile, "");
  node.dcgm.instances[0].profile = "3g.40gb";
  topology = node.source().Discover({});
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_EQ(topology->instances[0].profile, "3g.40gb");
}

}  // namespace
}  // namespace podgpu
