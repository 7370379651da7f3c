// The first part of the call script: the calls of dcgm-exporter from its start until it knows the
// node.  One test per row, named after it; dcgm_script.h describes the script.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_connect.h"
#include "abi/dcgm_links.h"
#include "sim/testing/dcgm_script.h"
#include "sim/testing/engine.h"

namespace podgpu::sim {
namespace {

template <typename Status>
void ExpectLinksUp(const DcgmBench& bench, uint32_t word) {
  const auto status = WithWord<Status>(word);
  ASSERT_EQ(bench.On("dcgmGetNvLinkLinkStatus", status.get()), 0) << std::hex << word;
  EXPECT_EQ(status->numGpus, 8U);
  for (uint32_t gpu = 0; gpu < 8; ++gpu) {
    EXPECT_EQ(status->gpus[gpu].entityId, gpu);
    EXPECT_EQ(status->gpus[gpu].linkState[17], 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Generations, DcgmScript, testing::Values(4, 3),
                         [](const auto& generation) {
                           return "so" + std::to_string(generation.param);
                         });

TEST_P(DcgmScript, Row01InitIsAcceptedTwice) {
  Open();
  EXPECT_EQ(bench_->Call("dcgmInit"), 0);
  EXPECT_EQ(bench_->Call("dcgmInit"), 0);
}

TEST_P(DcgmScript, Row02aTheEmbeddedEngineHasTheWellKnownHandle) {
  Open();
  ASSERT_EQ(bench_->Call("dcgmInit"), 0);
  ASSERT_EQ(bench_->Call("dcgmStartEmbedded", 1, &bench_->handle), 0);
  EXPECT_EQ(bench_->handle, 0x7fffffffU);
  abi::dcgmHandle_t again = 12345;
  EXPECT_EQ(bench_->Call("dcgmStartEmbedded", 1, &again), 0);
  EXPECT_EQ(again, 12345U);
}

TEST_P(DcgmScript, Row02aWithoutAWorldNoEngineStarts) {
  Open();
  setenv("PODGPU_SIM_DIR", (bench_->node().path() + "/nothing-here").c_str(), 1);
  ASSERT_EQ(bench_->Call("dcgmInit"), 0);
  EXPECT_EQ(bench_->Call("dcgmStartEmbedded", 1, &bench_->handle), -7);
  bench_->handle = abi::DCGM_EMBEDDED_HANDLE;
  std::array<unsigned int, 32> ids{};
  int count = 0;
  EXPECT_EQ(bench_->On("dcgmGetAllDevices", ids.data(), &count), -1);
  EXPECT_EQ(bench_->On("dcgmUpdateAllFields", 1), -1);
}

TEST_P(DcgmScript, Row02aWithoutNvmlTheEngineStartsWithNoGpus) {
  Start(std::string(kEightGpus) + "faults: [{at: 0s, kind: no_nvml, for: 5s}]\n");
  EXPECT_EQ(GpuCount(), 0);
}

TEST_P(DcgmScript, Row02bTheClientConnectsWithoutATimeoutOfItsOwn) {
  Open();
  const TestEngine engine(bench_->node().path(), 1);
  ASSERT_EQ(bench_->Call("dcgmInit"), 0);
  abi::dcgmConnectV2Params_v2 params{
      .version = 0x02000010, .persistAfterDisconnect = 0, .timeoutMs = 0, .addressIsUnixSocket = 0};
  const std::string address = EngineAddressIn(bench_->node().path());
  ASSERT_EQ(bench_->Call("dcgmConnect_v2", address.c_str(), &params, &bench_->handle), 0);
  EXPECT_EQ(GpuCount(), 8);
  EXPECT_EQ(bench_->On("dcgmDisconnect"), 0);
  EXPECT_EQ(bench_->On("dcgmUpdateAllFields", 1), -21);
}

TEST_P(DcgmScript, Row03TheModuleOfFieldsStarts) {
  Open();
  bench_->Start();
  EXPECT_EQ(bench_->Call("DcgmFieldsInit"), 0);
  EXPECT_EQ(bench_->Call("DcgmFieldsInit"), 0);
}

TEST_P(DcgmScript, Row04NvmlStartsBesideTheEngineAndFailsWithoutADriver) {
  using Function = int (*)();
  void* const nvml = dlopen((std::string(PODGPU_BINARY_DIR) + "/lib/libnvidia-ml.so.1").c_str(),
                            RTLD_LAZY | RTLD_GLOBAL);
  ASSERT_NE(nvml, nullptr) << dlerror();
  const auto init = reinterpret_cast<Function>(dlsym(nvml, "nvmlInit_v2"));
  const auto shutdown = reinterpret_cast<Function>(dlsym(nvml, "nvmlShutdown"));
  Start();
  EXPECT_EQ(init(), 0);
  EXPECT_EQ(shutdown(), 0);
  Start(std::string(kEightGpus) + "faults: [{at: 2s, kind: driver_reload, for: 5s}]\n");
  bench_->Tick(4 * kSecondUs);
  EXPECT_EQ(init(), 9);
}

TEST_P(DcgmScript, Row05ProfilingGroupsAreListedWhereTheChipHasThem) {
  Start();
  const auto groups = WithWord<abi::dcgmProfGetMetricGroups_v3>(0x03000560);
  ASSERT_EQ(bench_->On("dcgmProfGetSupportedMetricGroups", groups.get()), 0);
  const uint16_t expected = is_4 ? 3 : 2;  // The third group has fields of 4.x.
  ASSERT_EQ(groups->numMetricGroups, expected);
  constexpr std::array<uint32_t, 3> kFieldsOfGroup = {34, 46, 13};
  for (uint16_t i = 0; i < expected; ++i) {
    EXPECT_EQ(groups->metricGroups[i].majorId, i);
    EXPECT_EQ(groups->metricGroups[i].minorId, 0);
    if (is_4) {
      EXPECT_EQ(groups->metricGroups[i].numFieldIds, kFieldsOfGroup.at(i));
    }
  }
  Start(kAmpere);
  const auto none = WithWord<abi::dcgmProfGetMetricGroups_v3>(0x03000560);
  EXPECT_EQ(bench_->On("dcgmProfGetSupportedMetricGroups", none.get()), -33);
}

TEST_P(DcgmScript, Row06FieldsHaveTheTypesAndLevelsThatDecideWhereTheyAreCollected) {
  Start();
  struct Row {
    unsigned short id;
    int type, level, scope;
    const char* tag;
  };
  for (const Row& row : {Row{150, 'i', abi::DCGM_FE_GPU, 1, "gpu_temp"},
                         Row{155, 'd', abi::DCGM_FE_GPU, 1, "power_usage"},
                         Row{1001, 'd', abi::DCGM_FE_GPU_CI, 1, "gr_engine_active"},
                         Row{1012, 'i', abi::DCGM_FE_GPU, 1, "nvlink_rx_bytes"},
                         Row{230, 'i', abi::DCGM_FE_GPU_CI, 1, "xid_errors"},
                         Row{526, 'i', abi::DCGM_FE_VGPU, 1, "vgpu_instance_license_status"},
                         Row{449, 'i', abi::DCGM_FE_GPU, 1, "nvlink_throughput_total"},
                         Row{1, 's', abi::DCGM_FE_NONE, 0, "driver_version"}}) {
    FieldMeta const meta = FieldById(row.id);
    ASSERT_NE(meta, nullptr) << row.id;
    EXPECT_EQ(meta->fieldType, row.type) << row.id;
    EXPECT_EQ(meta->entityLevel, row.level) << row.id;
    EXPECT_EQ(meta->scope, row.scope) << row.id;
    if (is_4) {
      EXPECT_STREQ(meta->tag, row.tag);
    }
  }
  EXPECT_EQ(FieldById(60000), nullptr);
  EXPECT_EQ(FieldById(1600), nullptr);
  EXPECT_EQ(FieldById(6) != nullptr, is_4);  // The bind event exists since 4.5.
}

TEST_P(DcgmScript, Row07GpusAreNumberedFrom0WithoutGaps) {
  Start();
  EXPECT_EQ(GpuCount(), 8);
  Start(kNoGpus);
  EXPECT_EQ(GpuCount(), 0);
}

TEST_P(DcgmScript, Row08AttributesIdentifyEachGpu) {
  Start();
  for (unsigned int gpu = 0; gpu < 8; ++gpu) {
    const auto attributes = WithWord<abi::dcgmDeviceAttributes_v3>(0x03001464);
    ASSERT_EQ(bench_->On("dcgmGetDeviceAttributes", gpu, attributes.get()), 0);
    const GpuFacts& facts = bench_->world().gpu(static_cast<int>(gpu));
    EXPECT_EQ(attributes->identifiers.uuid, facts.uuid);
    EXPECT_EQ(attributes->identifiers.pciBusId, facts.pci_bus_id);
    EXPECT_EQ(attributes->identifiers.deviceName, facts.model);
    for (const char* text : {attributes->identifiers.brandName, attributes->identifiers.serial,
                             attributes->identifiers.driverVersion, attributes->identifiers.vbios,
                             attributes->identifiers.inforomImageVersion}) {
      EXPECT_STRNE(text, "");
    }
    EXPECT_EQ(attributes->clockSets.count, 3U);
    EXPECT_EQ(attributes->thermalSettings.slowdownTemp, 92U);
    EXPECT_EQ(attributes->thermalSettings.shutdownTemp, 95U);
    EXPECT_EQ(attributes->powerLimits.curPowerLimit, 700U);
    EXPECT_EQ(attributes->powerLimits.defaultPowerLimit, 700U);
    EXPECT_EQ(attributes->powerLimits.enforcedPowerLimit, 700U);
    EXPECT_EQ(attributes->powerLimits.minPowerLimit, 200U);
    EXPECT_EQ(attributes->powerLimits.maxPowerLimit, 700U);
    EXPECT_EQ(attributes->memoryUsage.bar1Total, 131072U);
    EXPECT_EQ(attributes->memoryUsage.fbTotal, 81559U);
  }
}

TEST_P(DcgmScript, Row09GpusAreSupportedAndHealthy) {
  Start();
  std::array<unsigned int, 32> ids{};
  int count = 0;
  ASSERT_EQ(bench_->On("dcgmGetAllSupportedDevices", ids.data(), &count), 0);
  EXPECT_EQ(count, 8);
  for (unsigned int gpu = 0; gpu < 8; ++gpu) {
    int status = 0;
    EXPECT_EQ(bench_->On("dcgmGetGpuStatus", gpu, &status), 0);
    EXPECT_EQ(status, 1);
  }
}

TEST_P(DcgmScript, Row10CpuAffinityIsReadThroughGroupsOfOneReading) {
  Start();
  const std::vector<Seen> words = ReadOnce(0, {70, 71, 72, 73}, "cpuAffFields");
  ASSERT_EQ(words.size(), 4U);
  EXPECT_NE(words[0].number, 0);
}

TEST_P(DcgmScript, Row11PathsLeadToAllOtherGpus) {
  Start();
  for (const uint32_t word : {0x010001c0U, 0x02000338U}) {
    const auto topology = WithWord<abi::dcgmDeviceTopology_v2>(word);
    const bool known = is_4 || word == 0x010001c0U;
    ASSERT_EQ(bench_->On("dcgmGetDeviceTopology", 0U, topology.get()), known ? 0 : -12);
    EXPECT_EQ(topology->numGpus, known ? 7U : 0U);
  }
  const auto first = WithWord<abi::dcgmDeviceTopology_v1>(0x010001c0U);
  ASSERT_EQ(bench_->On("dcgmGetDeviceTopology", 0U, first.get()), 0);
  for (uint32_t i = 0; i < first->numGpus; ++i) {
    const auto path = static_cast<uint32_t>(first->gpuPaths[i].path);
    EXPECT_EQ(first->gpuPaths[i].gpuId, i + 1);
    EXPECT_EQ(std::popcount(path & 0x3fU), 1)
        << std::hex << path;  // One bit for the path over PCIe.
    EXPECT_EQ(std::popcount(path & ~0xffU), 1)
        << std::hex << path;  // One bit for the number of links.
  }
}

TEST_P(DcgmScript, Row12TheWidestPcieLinkIsReadLikeTheAffinity) {
  Start();
  const std::vector<Seen> link = ReadOnce(0, {235, 236}, "pcieLink");
  EXPECT_EQ(link[0].number, 5);
  EXPECT_EQ(link[1].number, 16);
}

TEST_P(DcgmScript, Row13LinkStatesComeInTheClientsLayout) {
  Start();
  if (is_4) {
    ExpectLinksUp<abi::dcgmNvLinkStatus_v4>(*bench_, 0x040039bc);
    ExpectLinksUp<abi::dcgmNvLinkStatus_v5>(*bench_, 0x050042bc);
  } else {
    ExpectLinksUp<abi::dcgmNvLinkStatus_v3>(*bench_, 0x030015bc);
  }
}

TEST_P(DcgmScript, Row14InstancesAreFollowedByTheirOwnComputeInstances) {
  Start(kMig);
  const auto hierarchy = WithWord<abi::dcgmMigHierarchy_v2>(0x02011f08);
  ASSERT_EQ(bench_->On("dcgmGetGpuInstanceHierarchy", hierarchy.get()), 0);
  ASSERT_EQ(hierarchy->count, 8U);
  abi::dcgmGroupEntityPair_t parent{};
  for (uint32_t i = 0; i < hierarchy->count; ++i) {
    const abi::dcgmMigHierarchyInfo_v2& entry = hierarchy->entityList[i];
    if (entry.entity.entityGroupId == abi::DCGM_FE_GPU_I) {
      parent = entry.entity;
      EXPECT_EQ(entry.parent.entityGroupId, kGpu);
      EXPECT_EQ(entry.info.nvmlComputeInstanceId, 0xffffffffU);
    } else {
      EXPECT_EQ(entry.parent.entityId, parent.entityId) << i;
      EXPECT_EQ(entry.parent.entityGroupId, abi::DCGM_FE_GPU_I) << i;
      // Their profile numbers: NVML numbers those of 1, 2 and 3 slices from 0.
      EXPECT_EQ(entry.info.nvmlMigProfileId + 1, entry.info.nvmlProfileSlices) << i;
    }
  }
}

TEST_P(DcgmScript, Row14WithoutInstancesTheListIsEmptyAndWithoutNvmlItFails) {
  Start();
  const auto none = WithWord<abi::dcgmMigHierarchy_v2>(0x02011f08);
  ASSERT_EQ(bench_->On("dcgmGetGpuInstanceHierarchy", none.get()), 0);
  EXPECT_EQ(none->count, 0U);
  Start(std::string(kEightGpus) + "faults: [{at: 0s, kind: no_nvml, for: 5s}]\n");
  EXPECT_EQ(bench_->On("dcgmGetGpuInstanceHierarchy", none.get()), -56);
}

TEST_P(DcgmScript, Row15TheLiveNamesOfAllInstancesAreTheirProfiles) {
  Start(kMig);
  std::array<uint32_t, 64> ids{};
  int count = 64;
  ASSERT_EQ(bench_->On("dcgmGetEntityGroupEntities", kInstance, ids.data(), &count, 0U), 0);
  ASSERT_EQ(count, 4);
  std::vector<abi::dcgmGroupEntityPair_t> pairs;
  for (size_t i = 0; i < 4; ++i) {
    pairs.push_back({kInstance, ids.at(i)});
  }
  std::array<unsigned short, 1> field = {50};
  std::vector<abi::dcgmFieldValue_v2> names(pairs.size());
  ASSERT_EQ(bench_->On("dcgmEntitiesGetLatestValues", pairs.data(), 4U, field.data(), 1U, 1U,
                       names.data()),
            0);
  std::vector<std::string> profiles;
  for (const abi::dcgmFieldValue_v2& name : names) {
    EXPECT_EQ(name.version, 0x02001020U);
    EXPECT_EQ(name.status, 0);
    profiles.emplace_back(name.value.str);
  }
  std::ranges::sort(profiles);
  EXPECT_EQ(profiles, (std::vector<std::string>{"1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb"}));
}

TEST_P(DcgmScript, Row16SwitchesAreListedOrTheNeededSizeIsReturned) {
  Start();
  const int kind = abi::DCGM_FE_SWITCH;
  std::array<uint32_t, 64> ids{};
  int count = 64;
  EXPECT_EQ(bench_->On("dcgmGetEntityGroupEntities", kind, ids.data(), &count, 0U), 0);
  EXPECT_EQ(count, 0);
  Start(kFabric);
  count = 1;
  EXPECT_EQ(bench_->On("dcgmGetEntityGroupEntities", kind, ids.data(), &count, 0U), -31);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(bench_->On("dcgmGetEntityGroupEntities", kind, ids.data(), &count, 0U), 0);
  EXPECT_EQ(count, 2);
}

TEST_P(DcgmScript, Row17CpusAreListedOnGraceAndRefusedElsewhere) {
  Start();
  EXPECT_EQ(bench_->On("dcgmGetCpuHierarchy", WithWord<abi::dcgmCpuHierarchy_v1>(0x01000488).get()),
            -33);
  if (is_4) {
    EXPECT_EQ(
        bench_->On("dcgmGetCpuHierarchy_v2", WithWord<abi::dcgmCpuHierarchy_v2>(0x02000c88).get()),
        -33);
  }
  Start(kFabric);
  const auto cpus = WithWord<abi::dcgmCpuHierarchy_v1>(0x01000488);
  ASSERT_EQ(bench_->On("dcgmGetCpuHierarchy", cpus.get()), 0);
  ASSERT_EQ(cpus->numCpus, 2U);
  EXPECT_EQ(cpus->cpus[1].cpuId, 1U);
  EXPECT_EQ(cpus->cpus[1].ownedCores.bitmask[0], 0b11100U);
}

}  // namespace
}  // namespace podgpu::sim
