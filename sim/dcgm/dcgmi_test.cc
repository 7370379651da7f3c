// The calls of the vendor's command line tool: the sequences behind `dcgmi discovery`, `dmon`,
// `topo`, `nvlink`, `modules` and `profile`, each on its own connection to an address without a
// scheme, since the tool passes on the user's text.  The calls are those of DCGM 4.6.0, as far as
// they are known; the tool's output is not compared.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_connect.h"
#include "abi/dcgm_engine.h"
#include "abi/dcgm_links.h"
#include "sim/testing/dcgm_script.h"
#include "sim/testing/engine.h"

namespace podgpu::sim {
namespace {

constexpr abi::dcgmGpuGrp_t kGroupOfAllGpus = 0;
constexpr abi::dcgmGpuGrp_t kGroupOfAllSwitches = 1;

// The parameter is the library's generation: 3.x has only dcgmConnect_v2.
class DcgmiCalls : public testing::TestWithParam<int> {
 protected:
  // Connects as the tool does; `socket` is the path of a unix socket, instead of host and port.
  void Connect(std::string_view scenario, bool by_socket = false) {
    bench_ = std::make_unique<DcgmBench>(GetParam(), scenario);
    engine_ = std::make_unique<TestEngine>(bench_->node().path(), 1);
    ASSERT_EQ(bench_->Call("dcgmInit"), 0);
    const std::string socket = bench_->node().path() + "/engine.sock";
    const std::string address = by_socket ? socket : EngineAddressIn(bench_->node().path());
    if (is_4 && !by_socket) {
      abi::dcgmConnectV3Params_v1 params{.version = abi::dcgmConnectV3Params_version1,
                                         .persistAfterDisconnect = 0,
                                         .timeoutMs = 60'000};
      ASSERT_EQ(bench_->Call("dcgmConnect_v3", address.c_str(), &params, &bench_->handle), 0);
      return;
    }
    abi::dcgmConnectV2Params_v2 params{.version = abi::dcgmConnectV2Params_version2,
                                       .persistAfterDisconnect = 0,
                                       .timeoutMs = 60'000,
                                       .addressIsUnixSocket = by_socket ? 1U : 0U};
    ASSERT_EQ(bench_->Call("dcgmConnect_v2", address.c_str(), &params, &bench_->handle), 0);
  }
  void TearDown() override { EXPECT_EQ(bench_->On("dcgmDisconnect"), 0); }

  std::vector<unsigned int> Gpus() const {
    std::array<unsigned int, 32> ids{};
    int count = 0;
    EXPECT_EQ(bench_->On("dcgmGetAllDevices", ids.data(), &count), 0);
    return {ids.begin(), ids.begin() + count};
  }
  std::vector<std::string> UuidsOf(const std::vector<unsigned int>& gpus) const {
    std::vector<std::string> uuids;
    for (const unsigned int gpu : gpus) {
      const auto attributes =
          WithWord<abi::dcgmDeviceAttributes_v3>(abi::dcgmDeviceAttributes_version3);
      EXPECT_EQ(bench_->On("dcgmGetDeviceAttributes", gpu, attributes.get()), 0);
      uuids.emplace_back(attributes->identifiers.uuid);
    }
    return uuids;
  }
  std::vector<abi::dcgmGroupEntityPair_t> MembersOf(abi::dcgmGpuGrp_t group) const {
    return is_4 ? MembersAs<abi::dcgmGroupInfo_v3>(group, abi::dcgmGroupInfo_version3)
                : MembersAs<abi::dcgmGroupInfo_v2>(group, abi::dcgmGroupInfo_version2);
  }
  template <typename Status>
  void ExpectLinks(uint32_t word) const {
    const auto status = WithWord<Status>(word);
    ASSERT_EQ(bench_->On("dcgmGetNvLinkLinkStatus", status.get()), 0);
    ASSERT_EQ(status->numGpus, 2U);
    EXPECT_EQ(status->numNvSwitches, 2U);
    EXPECT_EQ(status->gpus[1].linkState[3], abi::DcgmNvLinkLinkStateDown);
  }

  const bool is_4 = GetParam() == 4;
  std::unique_ptr<DcgmBench> bench_;

 private:
  template <typename Info>
  std::vector<abi::dcgmGroupEntityPair_t> MembersAs(abi::dcgmGpuGrp_t group, uint32_t word) const {
    const auto info = WithWord<Info>(word);
    EXPECT_EQ(bench_->On("dcgmGroupGetInfo", group, info.get()), 0);
    return {std::begin(info->entityList), std::begin(info->entityList) + info->count};
  }

  std::unique_ptr<TestEngine> engine_;
};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmiCalls, testing::Values(4, 3),
                         [](const auto& generation) {
                           return "so" + std::to_string(generation.param);
                         });

TEST_P(DcgmiCalls, DiscoveryListsGpusSwitchesAndCpus) {
  Connect(kFabric);
  const std::vector<unsigned int> gpus = Gpus();
  EXPECT_EQ(gpus, (std::vector<unsigned int>{0, 1}));
  const std::vector<std::string> uuids = UuidsOf(gpus);
  for (size_t i = 0; i < uuids.size(); ++i) {
    EXPECT_EQ(uuids[i], bench_->world().gpu(static_cast<int>(i)).uuid);
  }
  std::array<uint32_t, 64> switches{};
  int count = 64;
  const int kind = abi::DCGM_FE_SWITCH;
  EXPECT_EQ(bench_->On("dcgmGetEntityGroupEntities", kind, switches.data(), &count, 0U), 0);
  EXPECT_EQ(count, 2);
  if (is_4) {
    const auto cpus = WithWord<abi::dcgmCpuHierarchy_v2>(abi::dcgmCpuHierarchy_version2);
    EXPECT_EQ(bench_->On("dcgmGetCpuHierarchy_v2", cpus.get()), 0);
    EXPECT_EQ(cpus->numCpus, 2U);
  }
}

TEST_P(DcgmiCalls, DiscoveryOfAGroupAcceptsTheEnginesOwnGroups) {
  Connect(kFabric);
  std::array<abi::dcgmGpuGrp_t, 64> groups{};
  unsigned int count = 0;
  ASSERT_EQ(bench_->On("dcgmGroupGetAllIds", groups.data(), &count), 0);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(groups[0], kGroupOfAllGpus);
  EXPECT_EQ(groups[1], kGroupOfAllSwitches);
  for (const auto& [group, kind] : {std::pair(kGroupOfAllGpus, abi::DCGM_FE_GPU),
                                    std::pair(kGroupOfAllSwitches, abi::DCGM_FE_SWITCH)}) {
    const std::vector<abi::dcgmGroupEntityPair_t> members = MembersOf(group);
    ASSERT_EQ(members.size(), 2U) << group;
    EXPECT_EQ(members[1].entityGroupId, kind);
    EXPECT_EQ(members[1].entityId, 1U);
  }
}

TEST_P(DcgmiCalls, DiscoveryOfInstancesListsTheirHierarchyAndNames) {
  Connect(kMig);
  EXPECT_EQ(Gpus().size(), 2U);
  const auto hierarchy = WithWord<abi::dcgmMigHierarchy_v2>(abi::dcgmMigHierarchy_version2);
  ASSERT_EQ(bench_->On("dcgmGetGpuInstanceHierarchy", hierarchy.get()), 0);
  ASSERT_EQ(hierarchy->count, 8U);
  for (uint32_t i = 0; i < hierarchy->count; ++i) {
    const abi::dcgmGroupEntityPair_t& entity = hierarchy->entityList[i].entity;
    const Seen name = bench_->ReadLive(entity.entityGroupId, entity.entityId, {50})[0];
    EXPECT_EQ(name.status, 0) << i;
    EXPECT_NE(name.text.find("g."), std::string::npos) << name.text;
  }
}

TEST_P(DcgmiCalls, DmonWatchesTheGroupOfAllGpusAndReadsItEachSecond) {
  Connect(kEightGpus);
  ASSERT_EQ(MembersOf(kGroupOfAllGpus).size(), 8U);
  std::vector<unsigned short> fields = {150, 155, 1002};
  for (const unsigned short field : fields) {
    ASSERT_NE(bench_->client().Call<FieldMeta>("DcgmFieldGetById", field), nullptr);
  }
  const abi::dcgmFieldGrp_t field_group = bench_->MakeFieldGroup(fields, "dcgmi_dmon");
  ASSERT_EQ(bench_->Watch(kGroupOfAllGpus, field_group, kSecondUs, 3600.0, 0), 0);
  int64_t stamp = 0;
  for (int second = 0; second < 3; ++second) {
    EXPECT_EQ(bench_->On("dcgmUpdateAllFields", 1), 0);
    std::vector<Seen> seen;
    void* const user = &seen;
    ASSERT_EQ(bench_->On("dcgmGetLatestValues_v2", kGroupOfAllGpus, field_group, &SeeAll, user), 0);
    ASSERT_EQ(seen.size(), 24U);
    EXPECT_TRUE(std::ranges::all_of(seen, [](const Seen& value) { return value.status == 0; }));
    EXPECT_GT(seen[0].ts, std::exchange(stamp, seen[0].ts));
    bench_->Tick(kSecondUs);
  }
  EXPECT_EQ(bench_->On("dcgmUnwatchFields", kGroupOfAllGpus, field_group), 0);
  EXPECT_EQ(bench_->On("dcgmUnwatchFields", kGroupOfAllGpus, field_group), -16);
  EXPECT_EQ(bench_->On("dcgmFieldGroupDestroy", field_group), 0);
}

TEST_P(DcgmiCalls, DmonOfChosenEntitiesMakesItsOwnGroup) {
  Connect(kMig);
  const abi::dcgmGpuGrp_t group = bench_->MakeGroup();
  EXPECT_EQ(group, 2U) << "ids follow those of the engine's own groups";
  ASSERT_EQ(bench_->On("dcgmGroupAddEntity", group, kGpu, 0U), 0);
  std::array<uint32_t, 64> instances{};
  int count = 64;
  ASSERT_EQ(bench_->On("dcgmGetEntityGroupEntities", kInstance, instances.data(), &count, 0U), 0);
  ASSERT_EQ(bench_->On("dcgmGroupAddEntity", group, kInstance, instances[0]), 0);
  const abi::dcgmFieldGrp_t fields = bench_->MakeFieldGroup({150, 252}, "dcgmi_dmon");
  ASSERT_EQ(bench_->Watch(group, fields), 0);
  std::vector<Seen> seen;
  void* const user = &seen;
  ASSERT_EQ(bench_->On("dcgmGetLatestValues_v2", group, fields, &SeeAll, user), 0);
  EXPECT_EQ(seen.size(), 4U);
  EXPECT_EQ(bench_->On("dcgmGroupDestroy", group), 0);
}

TEST_P(DcgmiCalls, TopoReportsThePathsOfOneGpu) {
  Connect(kEightGpus);
  for (const unsigned int gpu : Gpus()) {
    const auto topology = WithWord<abi::dcgmDeviceTopology_v1>(abi::dcgmDeviceTopology_version1);
    ASSERT_EQ(bench_->On("dcgmGetDeviceTopology", gpu, topology.get()), 0);
    EXPECT_EQ(topology->numGpus, 7U);
    EXPECT_NE(topology->cpuAffinityMask[0], 0U);
  }
}

TEST_P(DcgmiCalls, NvlinkReportsStatesAndErrorCounts) {
  Connect(kFabric);
  if (is_4) {
    ExpectLinks<abi::dcgmNvLinkStatus_v5>(abi::dcgmNvLinkStatus_version5);
  } else {
    ExpectLinks<abi::dcgmNvLinkStatus_v3>(abi::dcgmNvLinkStatus_version3);
  }
  const abi::dcgmGpuGrp_t group = bench_->MakeGroupOf(kGpu, 1);
  const abi::dcgmFieldGrp_t errors = bench_->MakeFieldGroup({409, 419, 429, 439}, "dcgmi_nvlink");
  ASSERT_EQ(bench_->Watch(group, errors, kSecondUs, 60.0, 1), 0);
  EXPECT_EQ(bench_->On("dcgmUpdateAllFields", 1), 0);
  for (const Seen& value : bench_->Read(kGpu, 1, {409, 419, 429, 439})) {
    EXPECT_EQ(value.status, 0) << value.field;
  }
  EXPECT_EQ(bench_->On("dcgmGroupDestroy", group), 0);
}

TEST_P(DcgmiCalls, ModulesAreListedWithTheirStates) {
  Connect(kEightGpus);
  abi::dcgmModuleGetStatuses_v1 statuses{};
  statuses.version = abi::dcgmModuleGetStatuses_version1;
  ASSERT_EQ(bench_->On("dcgmModuleGetStatuses", &statuses), 0);
  ASSERT_GE(statuses.numStatuses, 10U);
  for (uint32_t i = 0; i < statuses.numStatuses; ++i) {
    const char* name = nullptr;
    EXPECT_EQ(bench_->Call("dcgmModuleIdToName", statuses.statuses[i].id, &name), 0);
    EXPECT_STRNE(name, "");
  }
}

TEST_P(DcgmiCalls, ProfileListsTheGroupsOfMetricsAndCannotPauseThem) {
  Connect(kEightGpus);
  const auto groups =
      WithWord<abi::dcgmProfGetMetricGroups_v3>(abi::dcgmProfGetMetricGroups_version3);
  groups->gpuId = Gpus().front();
  ASSERT_EQ(bench_->On("dcgmProfGetSupportedMetricGroups", groups.get()), 0);
  ASSERT_GT(groups->numMetricGroups, 0U);
  const auto& first = groups->metricGroups[0];
  for (uint32_t i = 0; i < first.numFieldIds; ++i) {
    EXPECT_NE(bench_->client().Call<FieldMeta>("DcgmFieldGetById", first.fieldIds[i]), nullptr);
  }
  EXPECT_EQ(bench_->On("dcgmProfPause"), -6);
  EXPECT_EQ(bench_->On("dcgmProfResume"), -6);
}

TEST_P(DcgmiCalls, TheFlagForAUnixSocketTakesAPath) {
  Connect(kEightGpus, true);
  EXPECT_EQ(Gpus().size(), 8U);
}

}  // namespace
}  // namespace podgpu::sim
