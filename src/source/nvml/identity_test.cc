#include "source/nvml/identity.h"

#include <string>

#include "gtest/gtest.h"

#include "source/testing/fake_nvml_table.h"

namespace podgpu {
namespace {

// GPU 0 whole, GPU 1 with one GPU instance (id 3) of two compute instances.
Topology Node() {
  Topology topology;
  topology.gpus.resize(2);
  topology.gpus[0].uuid = "GPU-a";
  topology.gpus[1].gpu_id = 1;
  topology.gpus[1].uuid = "GPU-b";
  topology.instances = {{1, 3, 7, "3g.40gb", {{0, 70, ""}, {1, 71, ""}}}};
  NumberEntities(topology);
  return topology;
}

void AddNode(FakeNvml& nvml) {
  nvml.gpus.push_back({"GPU-a", 4, {}});
  nvml.gpus.push_back(
      {"GPU-b", 6, {{false, 0, 0, ""}, {true, 3, 1, "MIG-y"}, {true, 3, 0, "MIG-x"}}});
}

NvmlIdentity Identity(const FakeNvml& nvml) {
  return NvmlIdentity([&nvml]() -> StatusOr<abi::NvmlLibrary> { return nvml.Library(); });
}

TEST(NvmlIdentity, AddsMinorNumbersAndMigUuids) {
  FakeNvml nvml;
  AddNode(nvml);
  Topology topology = Node();
  NvmlIdentity identity = Identity(nvml);
  identity.Fill(topology, Instant{});
  EXPECT_EQ(topology.nvml_absence, "");
  EXPECT_TRUE(topology.gpus[0].minor_known);
  EXPECT_EQ(topology.gpus[0].minor_number, 4U);
  EXPECT_EQ(topology.gpus[1].minor_number, 6U);
  EXPECT_EQ(topology.instances[0].compute_instances[0].mig_uuid, "MIG-x");
  EXPECT_EQ(topology.instances[0].compute_instances[1].mig_uuid, "MIG-y");
}

TEST(NvmlIdentity, HoldsTheDriverOnlyDuringAQuery) {
  FakeNvml nvml;
  AddNode(nvml);
  Topology topology = Node();
  NvmlIdentity identity = Identity(nvml);
  identity.Fill(topology, Instant{});
  identity.Fill(topology, Instant{} + std::chrono::seconds(9));
  EXPECT_EQ(nvml.initialisations, 1) << "UUIDs of a layout are cached for a while";
  EXPECT_EQ(topology.instances[0].compute_instances[0].mig_uuid, "MIG-x");
  identity.Fill(topology, Instant{} + std::chrono::seconds(10));
  EXPECT_EQ(nvml.initialisations, 2);
  EXPECT_EQ(nvml.initialised, 0);
}

TEST(NvmlIdentity, ReportsAMissingLibraryAndTriesAgain) {
  FakeNvml nvml;
  AddNode(nvml);
  bool is_installed = false;
  NvmlIdentity identity([&]() -> StatusOr<abi::NvmlLibrary> {
    if (!is_installed) {
      return absl::NotFoundError("libnvidia-ml.so.1 is in none of 6 paths");
    }
    return nvml.Library();
  });
  Topology topology = Node();
  identity.Fill(topology, Instant{});
  EXPECT_EQ(topology.nvml_absence, "libnvidia-ml.so.1 is in none of 6 paths");
  EXPECT_FALSE(topology.gpus[0].minor_known);
  is_installed = true;
  identity.Fill(topology, Instant{});
  EXPECT_EQ(topology.nvml_absence, "");
  EXPECT_TRUE(topology.gpus[0].minor_known);
}

TEST(NvmlIdentity, ReportsWhySomethingStaysUnknown) {
  const struct {
    std::string symbol;
    bool knows_minor;
    std::string reason;
  } rows[] = {
      {"nvmlInit_v2", false, "libnvidia-ml.so.1 cannot be initialised (NVML 4: No Permission)"},
      {"nvmlDeviceGetHandleByUUID", false, "NVML cannot open GPU 0 (NVML 4: No Permission)"},
      {"nvmlDeviceGetMaxMigDeviceCount", true,
       "NVML does not list the MIG devices of GPU 1 (NVML 4: No Permission)"},
      {"nvmlDeviceGetMigDeviceHandleByIndex", true,
       "NVML does not list the MIG devices of GPU 1 (NVML 4: No Permission)"},
      {"nvmlDeviceGetGpuInstanceId", true,
       "NVML does not list the MIG devices of GPU 1 (NVML 4: No Permission)"},
      {"nvmlDeviceGetComputeInstanceId", true,
       "NVML does not list the MIG devices of GPU 1 (NVML 4: No Permission)"},
      {"nvmlDeviceGetUUID", true,
       "NVML does not list the MIG devices of GPU 1 (NVML 4: No Permission)"},
      {"nvmlDeviceGetMinorNumber", false, ""},
  };
  for (const auto& row : rows) {
    FakeNvml nvml;
    AddNode(nvml);
    nvml.FailWith({{row.symbol, abi::NVML_ERROR_NO_PERMISSION}});
    Topology topology = Node();
    Identity(nvml).Fill(topology, Instant{});
    EXPECT_EQ(topology.nvml_absence, row.reason) << row.symbol;
    EXPECT_EQ(topology.gpus[1].minor_known, row.knows_minor) << row.symbol;
    EXPECT_EQ(topology.gpus[1].minor_number, row.knows_minor ? 6U : 1U) << row.symbol;
    const std::string expected = row.reason.empty() ? "MIG-x" : "";
    EXPECT_EQ(topology.instances[0].compute_instances[0].mig_uuid, expected) << row.symbol;
    EXPECT_EQ(nvml.initialised, 0) << row.symbol;
  }
}

TEST(NvmlIdentity, ReportsTheCodeWhenItHasNoText) {
  FakeNvml nvml;
  nvml.FailWith({{"nvmlInit_v2", 12345}});
  Topology topology = Node();
  Identity(nvml).Fill(topology, Instant{});
  EXPECT_EQ(topology.nvml_absence, "libnvidia-ml.so.1 cannot be initialised (NVML 12345)");
}

TEST(NvmlIdentity, ReportsThatAnOldDriverHasNoMigCalls) {
  FakeNvml nvml;
  AddNode(nvml);
  nvml.has_mig = false;
  Topology topology = Node();
  Identity(nvml).Fill(topology, Instant{});
  EXPECT_EQ(topology.nvml_absence,
            "MIG UUIDs: off, libnvidia-ml.so.1 lacks nvmlDeviceGetGpuInstanceId");
  topology.instances.clear();
  NumberEntities(topology);
  Identity(nvml).Fill(topology, Instant{});
  EXPECT_EQ(topology.nvml_absence, "") << "not needed on a node without MIG";
}

TEST(NvmlIdentity, DoesNotAskForALostGpuAndKeepsItsNumber) {
  FakeNvml nvml;
  nvml.gpus.push_back({"GPU-a", 4, {}});
  Topology topology = Node();
  topology.gpus[1].state = DeviceState::kLost;
  NvmlIdentity identity = Identity(nvml);
  identity.Fill(topology, Instant{});
  EXPECT_EQ(topology.nvml_absence, "");
  EXPECT_FALSE(topology.gpus[1].minor_known);
  topology.gpus[0].state = DeviceState::kLost;
  nvml.gpus.clear();
  identity.Fill(topology, Instant{});
  EXPECT_TRUE(topology.gpus[0].minor_known);
  EXPECT_EQ(topology.gpus[0].minor_number, 4U);
}

TEST(NvmlIdentity, IgnoresMigDevicesThatTheTopologyLacks) {
  FakeNvml nvml;
  nvml.gpus.push_back({"GPU-a", 4, {}});
  nvml.gpus.push_back({"GPU-b", 6, {{true, 9, 0, "MIG-new"}, {true, 3, 5, "MIG-newer"}}});
  Topology topology = Node();
  Identity(nvml).Fill(topology, Instant{});
  EXPECT_EQ(topology.nvml_absence, "");
  for (const ComputeInstance& compute : topology.instances[0].compute_instances) {
    EXPECT_EQ(compute.mig_uuid, "");
  }
}

}  // namespace
}  // namespace podgpu
