// The calls that dcgm-exporter makes from its start to a scrape and to its restart, in its order
// and with its version words; each step must let it go on.  Numbers are those of the list of calls
// that the simulator's design derives from the program.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_links.h"
#include "sim/dcgm_client.h"
#include "sim/dcgm_scenarios.h"
#include "sim/fake_dcgm_devices.h"

namespace podgpu::sim {
namespace {

template <typename Struct>
std::unique_ptr<Struct> WithWord(uint32_t word) {
  auto made = std::make_unique<Struct>();
  made->version = word;
  return made;
}

// The program's way to read a few static fields of one GPU: groups made, read, destroyed (steps 10
// and 12).
std::vector<Seen> ReadOnce(const DcgmBench& bench, uint32_t gpu, std::vector<unsigned short> fields,
                           const char* name) {
  const abi::dcgmFieldGrp_t field_group = bench.MakeFieldGroup(fields, name);
  const abi::dcgmGpuGrp_t group = bench.MakeGroup();
  EXPECT_EQ(bench.On("dcgmGroupAddDevice", group, gpu), 0);
  EXPECT_EQ(bench.Watch(group, field_group, 30'000'000, 0, 1), 0);
  EXPECT_EQ(bench.On("dcgmUpdateAllFields", 1), 0);
  std::vector<abi::dcgmFieldValue_v1> values(fields.size());
  EXPECT_EQ(bench.On("dcgmGetLatestValuesForFields", static_cast<int>(gpu), fields.data(),
                     static_cast<unsigned int>(fields.size()), values.data()),
            0);
  EXPECT_EQ(bench.On("dcgmFieldGroupDestroy", field_group), 0);
  EXPECT_EQ(bench.On("dcgmGroupDestroy", group), 0);
  std::vector<Seen> seen;
  for (const abi::dcgmFieldValue_v1& value : values) {
    seen.push_back(See(kGpu, gpu, value));
    EXPECT_EQ(seen.back().status, 0) << seen.back().field;
  }
  return seen;
}

void StartSteps1To5(DcgmBench& bench) {
  ASSERT_EQ(bench.Call("dcgmInit"), 0);
  ASSERT_EQ(bench.Call("dcgmStartEmbedded", 1, &bench.handle), 0);
  ASSERT_EQ(bench.handle, 0x7fffffffU);
  ASSERT_GE(bench.Call("DcgmFieldsInit"), 0);
  const auto groups = WithWord<abi::dcgmProfGetMetricGroups_v3>(0x03000560);
  ASSERT_EQ(bench.On("dcgmProfGetSupportedMetricGroups", groups.get()), 0);
  ASSERT_EQ(groups->numMetricGroups, 3U);
  constexpr std::array<uint32_t, 3> kFieldsOfGroup = {34, 46, 13};
  for (uint16_t i = 0; i < 3; ++i) {
    EXPECT_EQ(groups->metricGroups[i].majorId, i);
    EXPECT_EQ(groups->metricGroups[i].minorId, 0);
    EXPECT_EQ(groups->metricGroups[i].numFieldIds, kFieldsOfGroup.at(i));
  }
}

void FieldsStep6(const DcgmBench& bench) {
  struct Row {
    unsigned short id;
    int type, level, scope;
    const char* tag;
  };
  for (const Row& row : {Row{150, 'i', abi::DCGM_FE_GPU, 1, "gpu_temp"},
                         Row{155, 'd', abi::DCGM_FE_GPU, 1, "power_usage"},
                         Row{1001, 'd', abi::DCGM_FE_GPU_CI, 1, "gr_engine_active"},
                         Row{230, 'i', abi::DCGM_FE_GPU_CI, 1, "xid_errors"},
                         Row{526, 'i', abi::DCGM_FE_VGPU, 1, "vgpu_instance_license_status"},
                         Row{449, 'i', abi::DCGM_FE_GPU, 1, "nvlink_throughput_total"},
                         Row{1, 's', abi::DCGM_FE_NONE, 0, "driver_version"}}) {
    const auto* const meta =
        bench.client().Call<const abi::dcgm_field_meta_t*>("DcgmFieldGetById", row.id);
    ASSERT_NE(meta, nullptr) << row.id;
    EXPECT_EQ(meta->fieldType, row.type) << row.id;
    EXPECT_EQ(meta->entityLevel, row.level) << row.id;
    EXPECT_EQ(meta->scope, row.scope) << row.id;
    EXPECT_STREQ(meta->tag, row.tag);
    EXPECT_EQ(bench.client().Call<const abi::dcgm_field_meta_t*>("DcgmFieldGetByTag", row.tag),
              meta);
  }
  using Meta = const abi::dcgm_field_meta_t*;
  EXPECT_EQ(bench.client().Call<Meta>("DcgmFieldGetById", static_cast<unsigned short>(60000)),
            nullptr);
  EXPECT_EQ(bench.client().Call<Meta>("DcgmFieldGetById", static_cast<unsigned short>(1600)),
            nullptr);
  EXPECT_EQ(bench.client().Call<Meta>("DcgmFieldGetByTag", "gpu_temp_celsius"), nullptr);
}

void GpusSteps7To9(DcgmBench& bench) {
  std::array<unsigned int, 32> ids{};
  int count = 0;
  ASSERT_EQ(bench.On("dcgmGetAllDevices", ids.data(), &count), 0);
  ASSERT_EQ(count, bench.world().gpu_count());
  for (unsigned int gpu = 0; gpu < static_cast<unsigned int>(count); ++gpu) {
    ASSERT_EQ(ids.at(gpu), gpu);
    const auto attributes = WithWord<abi::dcgmDeviceAttributes_v3>(0x03001464);
    ASSERT_EQ(bench.On("dcgmGetDeviceAttributes", gpu, attributes.get()), 0);
    const GpuFacts& facts = bench.world().gpu(static_cast<int>(gpu));
    EXPECT_EQ(attributes->identifiers.uuid, facts.uuid);
    EXPECT_EQ(attributes->identifiers.pciBusId, facts.pci_bus_id);
    EXPECT_EQ(attributes->identifiers.deviceName, facts.model);
    EXPECT_EQ(attributes->clockSets.count, 3U);
    EXPECT_EQ(attributes->thermalSettings.slowdownTemp, 92U);
    EXPECT_EQ(attributes->thermalSettings.shutdownTemp, 95U);
    EXPECT_EQ(attributes->powerLimits.defaultPowerLimit, 700U);
    EXPECT_EQ(attributes->powerLimits.minPowerLimit, 200U);
    EXPECT_EQ(attributes->memoryUsage.bar1Total, 131072U);
    EXPECT_EQ(attributes->memoryUsage.fbTotal, 81559U);
  }
  ASSERT_EQ(bench.On("dcgmGetAllSupportedDevices", ids.data(), &count), 0);
  ASSERT_EQ(count, bench.world().gpu_count());
  int status = 0;
  ASSERT_EQ(bench.On("dcgmGetGpuStatus", 0U, &status), 0);
  ASSERT_EQ(status, 1);
}

void TopologySteps10To13(const DcgmBench& bench, uint32_t gpus) {
  const std::vector<Seen> affinity = ReadOnce(bench, 0, {70, 71, 72, 73}, "cpuAffFields");
  EXPECT_NE(affinity[0].number, 0);
  for (const uint32_t word : {0x010001c0U, 0x02000338U}) {
    const auto topology = WithWord<abi::dcgmDeviceTopology_v2>(word);
    ASSERT_EQ(bench.On("dcgmGetDeviceTopology", 0U, topology.get()), 0);
    ASSERT_EQ(topology->numGpus, gpus - 1);
  }
  const std::vector<Seen> link = ReadOnce(bench, 0, {235, 236}, "pcieLink");
  EXPECT_EQ(link[0].number, 5);
  EXPECT_EQ(link[1].number, 16);
  const auto status = WithWord<abi::dcgmNvLinkStatus_v4>(0x040039bc);
  ASSERT_EQ(bench.On("dcgmGetNvLinkLinkStatus", status.get()), 0);
  EXPECT_EQ(status->numGpus, gpus);
  EXPECT_EQ(status->gpus[0].linkState[17], 3);
}

// Step 14, and 15 when there are instances.
void InstancesSteps14And15(const DcgmBench& bench, uint32_t entries) {
  const auto hierarchy = WithWord<abi::dcgmMigHierarchy_v2>(0x02011f08);
  ASSERT_EQ(bench.On("dcgmGetGpuInstanceHierarchy", hierarchy.get()), 0);
  ASSERT_EQ(hierarchy->count, entries);
  std::vector<abi::dcgmGroupEntityPair_t> instances;
  abi::dcgmGroupEntityPair_t parent{};
  for (uint32_t i = 0; i < hierarchy->count; ++i) {
    const abi::dcgmMigHierarchyInfo_v2& entry = hierarchy->entityList[i];
    if (entry.entity.entityGroupId == abi::DCGM_FE_GPU_I) {
      parent = entry.entity;
      instances.push_back(parent);
      EXPECT_EQ(entry.parent.entityGroupId, kGpu);
      EXPECT_EQ(entry.info.nvmlComputeInstanceId, 0xffffffffU);
    } else {
      EXPECT_EQ(entry.parent.entityId, parent.entityId) << i;  // Parent first.
      EXPECT_EQ(entry.parent.entityGroupId, abi::DCGM_FE_GPU_I) << i;
    }
  }
  if (instances.empty()) {
    return;
  }
  std::array<unsigned short, 1> field = {50};
  std::vector<abi::dcgmFieldValue_v2> names(instances.size());
  ASSERT_EQ(
      bench.On("dcgmEntitiesGetLatestValues", instances.data(),
               static_cast<unsigned int>(instances.size()), field.data(), 1U, 1U, names.data()),
      0);
  for (const abi::dcgmFieldValue_v2& name : names) {
    EXPECT_EQ(name.version, 0x02001020U);
    EXPECT_EQ(name.status, 0);
    EXPECT_NE(std::string_view(name.value.str).find("g."), std::string_view::npos);
  }
}

void OtherEntitiesSteps16And17(const DcgmBench& bench) {
  std::array<uint32_t, 64> ids{};
  int count = 64;
  EXPECT_EQ(bench.On("dcgmGetEntityGroupEntities", static_cast<int>(abi::DCGM_FE_SWITCH),
                     ids.data(), &count, 0U),
            0);
  EXPECT_EQ(count, 0);
  const auto cpus = WithWord<abi::dcgmCpuHierarchy_v1>(0x01000488);
  EXPECT_EQ(bench.On("dcgmGetCpuHierarchy", cpus.get()), -33);
  const auto cpus_2 = WithWord<abi::dcgmCpuHierarchy_v2>(0x02000c88);
  EXPECT_EQ(bench.On("dcgmGetCpuHierarchy_v2", cpus_2.get()), -33);
}

struct Collector {
  std::vector<unsigned short> fields;
  abi::dcgmGpuGrp_t group = 0;
  abi::dcgmFieldGrp_t field_group = 0;
};

Collector CollectorSteps18To20(const DcgmBench& bench) {
  Collector collector{.fields = {100, 101, 140, 150, 155, 156, 203, 252, 230, 1001, 1004, 1010}};
  collector.group = bench.MakeGroup();
  for (uint32_t gpu = 0; gpu < 8; ++gpu) {
    EXPECT_EQ(bench.On("dcgmGroupAddEntity", collector.group, kGpu, gpu), 0);
  }
  collector.field_group = bench.MakeFieldGroup(collector.fields, "collector");
  EXPECT_EQ(bench.Watch(collector.group, collector.field_group), 0);
  EXPECT_EQ(bench.On("dcgmUpdateAllFields", 1), 0);
  const abi::dcgmGpuGrp_t links = bench.MakeGroup();
  EXPECT_EQ(bench.On("dcgmGroupAddEntity", links, static_cast<int>(abi::DCGM_FE_LINK),
                     abi::LinkEntityId(kGpu, 0, 0)),
            0);  // Step 21.
  return collector;
}

void HealthStep22(const DcgmBench& bench, abi::dcgmGpuGrp_t group) {
  const auto response = WithWord<abi::dcgmHealthResponse_v5>(0x0510500c);
  const auto info = WithWord<abi::dcgmGroupInfo_v3>(0x03002108);
  uint32_t systems = 0;
  EXPECT_EQ(bench.On("dcgmHealthCheck", group, response.get()), 0);
  EXPECT_EQ(bench.On("dcgmHealthSet", group, uint32_t{abi::DCGM_HEALTH_WATCH_ALL}), 0);
  EXPECT_EQ(bench.On("dcgmHealthCheck", group, response.get()), 0);
  EXPECT_EQ(response->overallHealth, 0);
  EXPECT_EQ(response->incidentCount, 0U);
  EXPECT_EQ(bench.On("dcgmGroupGetInfo", group, info.get()), 0);
  EXPECT_EQ(info->count, 8U);
  EXPECT_EQ(bench.On("dcgmHealthGet", group, &systems), 0);
  EXPECT_EQ(systems, uint32_t{abi::DCGM_HEALTH_WATCH_ALL});
}

void PeersStep23(const DcgmBench& bench) {
  const auto peers = WithWord<NvLinkP2PStatus>(0x01001088);
  EXPECT_EQ(bench.On("dcgmGetNvLinkP2PStatus", peers.get()), 0);
  EXPECT_EQ(peers->numGpus, 8U);
  EXPECT_EQ(peers->gpus[7].linkStatus[0], kP2POk);
}

void BindWatcherStep24(const DcgmBench& bench) {
  const abi::dcgmFieldGrp_t fields = bench.MakeFieldGroup({6}, "bindUnbind");
  const abi::dcgmGpuGrp_t all = abi::DCGM_GROUP_ALL_GPUS;
  EXPECT_EQ(bench.Watch(all, fields), 0);
  const Seen seen = bench.Read(kGpu, 0, {6})[0];
  EXPECT_EQ(seen.status, -14);
  EXPECT_EQ(seen.ts, 0);
  EXPECT_EQ(bench.On("dcgmUnwatchFields", all, fields), -16);
}

void ScrapeStep25(DcgmBench& bench, const Collector& collector) {
  bench.Tick(kSecondUs);
  for (uint32_t gpu = 0; gpu < 8; ++gpu) {
    for (const Seen& value : bench.Read(kGpu, gpu, collector.fields)) {
      EXPECT_EQ(value.status, value.field == 230 ? -14 : 0) << gpu << " " << value.field;
      EXPECT_EQ(value.ts != 0, value.field != 230) << gpu << " " << value.field;
      EXPECT_LT(value.real, abi::DCGM_FP64_BLANK) << gpu << " " << value.field;
    }
  }
}

// The collectors that look back in time read one field at a time.
void WindowStep26(const DcgmBench& bench, const Collector& collector) {
  const abi::dcgmFieldGrp_t reasons = bench.MakeFieldGroup({112, 230}, "window");
  ASSERT_EQ(bench.Watch(collector.group, reasons), 0);
  EXPECT_EQ(bench.On("dcgmUpdateAllFields", 1), 0);
  std::vector<Seen> seen;
  void* const user = &seen;
  long long next = 0;
  const long long since = bench.Stamp(bench.now()) - 60 * kSecondUs;
  ASSERT_EQ(
      bench.On("dcgmGetValuesSince_v2", collector.group, reasons, since, &next, &SeeAll, user), 0);
  ASSERT_EQ(seen.size(), 16U);
  EXPECT_EQ(seen[0].status, 0);
  EXPECT_EQ(seen[1].status, -14);
}

void ReloadStep27(DcgmBench& bench, const Collector& collector) {
  EXPECT_EQ(bench.On("dcgmUnwatchFields", collector.group, collector.field_group), 0);
  EXPECT_EQ(bench.On("dcgmUnwatchFields", collector.group, collector.field_group), 0);
  EXPECT_EQ(bench.On("dcgmFieldGroupDestroy", collector.field_group), 0);
  EXPECT_EQ(bench.On("dcgmFieldGroupDestroy", collector.field_group), -14);
  EXPECT_EQ(bench.On("dcgmGroupDestroy", collector.group), 0);
  EXPECT_EQ(bench.On("dcgmGroupDestroy", collector.group), -5);
  EXPECT_EQ(bench.On("dcgmUnwatchFields", collector.group, collector.field_group), -5);
  EXPECT_EQ(bench.Call("DcgmFieldsTerm"), 0);
  EXPECT_EQ(bench.On("dcgmStopEmbedded"), 0);
  EXPECT_EQ(bench.On("dcgmUpdateAllFields", 1), -10);
  EXPECT_EQ(bench.Call("dcgmShutdown"), 0);
}

TEST(DcgmScript, TheIncumbentRunsFromStartThroughScrapesToRestartTwice) {
  DcgmBench bench(4, kEightGpus);
  for (int round = 0; round < 2; ++round) {
    StartSteps1To5(bench);
    FieldsStep6(bench);
    GpusSteps7To9(bench);
    TopologySteps10To13(bench, 8);
    InstancesSteps14And15(bench, 0);
    OtherEntitiesSteps16And17(bench);
    const Collector collector = CollectorSteps18To20(bench);
    HealthStep22(bench, collector.group);
    PeersStep23(bench);
    BindWatcherStep24(bench);
    ScrapeStep25(bench, collector);
    WindowStep26(bench, collector);
    ReloadStep27(bench, collector);
  }
}

TEST(DcgmScript, TheIncumbentFindsTheInstancesOfAMigNode) {
  DcgmBench bench(4, kMig);
  StartSteps1To5(bench);
  GpusSteps7To9(bench);
  InstancesSteps14And15(bench, 8);
}

}  // namespace
}  // namespace podgpu::sim
