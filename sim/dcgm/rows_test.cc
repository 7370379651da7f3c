// The fidelity checklist of the DCGM face, row by row, in both generations: it answers as the real
// library does (DCGM 4.6.0).  Rows about the remote engine are in remote_test.cc;
// rows that the script of dcgm-exporter's calls has too are in script_test.cc and
// scrape_script_test.cc.
#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_connect.h"
#include "abi/dcgm_links.h"
#include "sim/testing/dcgm_client.h"
#include "sim/testing/dcgm_scenarios.h"

namespace podgpu::sim {
namespace {

// The parameter is the library's generation.
class DcgmRows : public testing::TestWithParam<int> {
 protected:
  static std::unique_ptr<DcgmBench> Start(std::string_view scenario) {
    auto bench = std::make_unique<DcgmBench>(GetParam(), scenario);
    bench->Start();
    return bench;
  }
};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmRows, testing::Values(4, 3), [](const auto& generation) {
  return "so" + std::to_string(generation.param);
});

TEST_P(DcgmRows, Row1BeforeInitThereIsNoConnectionAndNoneCanBeMade) {
  DcgmBench bench(GetParam(), kEightGpus);
  bench.handle = abi::DCGM_EMBEDDED_HANDLE;
  std::array<unsigned int, 32> ids{};
  int count = 0;
  abi::dcgmHandle_t handle = 0;
  EXPECT_EQ(bench.On("dcgmGetAllDevices", ids.data(), &count), -21);
  EXPECT_EQ(bench.On("dcgmUpdateAllFields", 1), -21);
  EXPECT_EQ(bench.On("dcgmJobRemoveAll"), -21);
  EXPECT_EQ(bench.Call("dcgmStartEmbedded", 1, &handle), -10);
  abi::dcgmConnectV2Params_v2 params{};
  params.version = abi::dcgmConnectV2Params_version2;
  EXPECT_EQ(bench.Call("dcgmConnect_v2", "127.0.0.1:1", &params, &handle), -10);
}

TEST_P(DcgmRows, Row2InitAndShutdownMayBeRepeated) {
  const DcgmBench bench(GetParam(), kEightGpus);
  EXPECT_EQ(bench.Call("dcgmInit"), 0);
  EXPECT_EQ(bench.Call("dcgmInit"), 0);
  EXPECT_EQ(bench.Call("dcgmShutdown"), 0);
  EXPECT_EQ(bench.Call("dcgmShutdown"), 0);
}

TEST_P(DcgmRows, Row4AttributesWithAWrongVersionWordAreRefused) {
  const auto bench = Start(kEightGpus);
  const auto attributes = std::make_unique<abi::dcgmDeviceAttributes_v3>();
  attributes->version = 1;
  EXPECT_EQ(bench->On("dcgmGetDeviceAttributes", 0U, attributes.get()), -12);
}

TEST_P(DcgmRows, Row5AttributesOfAnUnknownGpuAreEmptyExceptTheDriver) {
  const auto bench = Start(kEightGpus);
  const auto attributes = std::make_unique<abi::dcgmDeviceAttributes_v3>();
  attributes->version = abi::dcgmDeviceAttributes_version3;
  EXPECT_EQ(bench->On("dcgmGetDeviceAttributes", 99U, attributes.get()), 0);
  EXPECT_STREQ(attributes->identifiers.uuid, "");
  EXPECT_STREQ(attributes->identifiers.deviceName, "");
  EXPECT_EQ(attributes->identifiers.driverVersion, bench->world().driver_version());
}

TEST_P(DcgmRows, Row6StatusOfAnUnknownGpuIsUnknown) {
  const auto bench = Start(kEightGpus);
  int status = 77;
  EXPECT_EQ(bench->On("dcgmGetGpuStatus", 99U, &status), 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(bench->On("dcgmGetGpuStatus", 7U, &status), 0);
  EXPECT_EQ(status, 1);
}

TEST_P(DcgmRows, Row8KindsOfEntitiesThatCannotBeListed) {
  const auto bench = Start(kEightGpus);
  struct Row {
    int kind, code;
  };
  for (const Row& row :
       {Row{abi::DCGM_FE_NONE, -6}, Row{abi::DCGM_FE_VGPU, -6}, Row{abi::DCGM_FE_LINK, -6},
        Row{abi::DCGM_FE_CPU, -33}, Row{abi::DCGM_FE_CPU_CORE, -33}, Row{abi::DCGM_FE_SWITCH, 0}}) {
    std::array<uint32_t, 32> ids{};
    int count = 32;
    EXPECT_EQ(bench->On("dcgmGetEntityGroupEntities", row.kind, ids.data(), &count, 0U), row.code)
        << row.kind;
    if (row.code == 0) {
      EXPECT_EQ(count, 0) << row.kind;
    }
  }
}

TEST_P(DcgmRows, Row9NamesOfGroupsMayRepeatAndTheFirstIdIsTwo) {
  const auto bench = Start(kEightGpus);
  EXPECT_EQ(bench->MakeGroup(), 2U);
  EXPECT_EQ(bench->MakeGroup(), 3U);
}

// Either generation's struct fits into the larger one.
struct AnyGroupInfo {
  explicit AnyGroupInfo(int major)
      : own_word(major == 4 ? abi::dcgmGroupInfo_version3 : abi::dcgmGroupInfo_version2),
        other_word(major == 4 ? abi::dcgmGroupInfo_version2 : abi::dcgmGroupInfo_version3) {}
  uint32_t own_word, other_word;
  std::unique_ptr<abi::dcgmGroupInfo_v3> info = std::make_unique<abi::dcgmGroupInfo_v3>();
};

TEST_P(DcgmRows, Row12ADefaultGroupHoldsAllGpusAsTheBuiltInOneDoes) {
  const auto bench = Start(kEightGpus);
  const AnyGroupInfo any(GetParam());
  any.info->version = any.own_word;
  ASSERT_EQ(
      bench->On("dcgmGroupGetInfo", bench->MakeGroup(abi::DCGM_GROUP_DEFAULT), any.info.get()), 0);
  EXPECT_EQ(any.info->count, 8U);
  EXPECT_STREQ(any.info->groupName, "group");
  ASSERT_EQ(bench->On("dcgmGroupGetInfo", abi::dcgmGpuGrp_t{0x7fffffff}, any.info.get()), 0);
  EXPECT_EQ(any.info->count, 8U);
  EXPECT_STREQ(any.info->groupName, "DCGM_ALL_SUPPORTED_GPUS");
  EXPECT_EQ(any.info->entityList[7].entityGroupId, kGpu);
  EXPECT_EQ(any.info->entityList[7].entityId, 7U);
}

TEST_P(DcgmRows, Row13GroupInfoWithAWrongVersionWordIsRefused) {
  const auto bench = Start(kEightGpus);
  const AnyGroupInfo any(GetParam());
  for (const uint32_t word : {1U, any.other_word}) {
    any.info->version = word;
    EXPECT_EQ(bench->On("dcgmGroupGetInfo", abi::dcgmGpuGrp_t{0x7fffffff}, any.info.get()), -12)
        << std::hex << word;
  }
}

TEST_P(DcgmRows, Row15AnUnwatchedFieldReadsNotWatchedWithABlank) {
  const auto bench = Start(kEightGpus);
  const std::vector<Seen> seen = bench->Read(kGpu, 0, {150, 155, 54});
  for (const Seen& value : seen) {
    EXPECT_EQ(value.status, -16) << value.field;
    EXPECT_EQ(value.ts, 0) << value.field;
  }
  EXPECT_EQ(seen[0].number, abi::DCGM_INT64_BLANK);
  EXPECT_EQ(seen[1].real, abi::DCGM_FP64_BLANK);
  EXPECT_EQ(seen[2].text, "<<<NULL>>>");
}

TEST_P(DcgmRows, Row16AnUnknownFieldIdFailsTheWholeCall) {
  const auto bench = Start(kEightGpus);
  std::array<unsigned short, 2> fields = {150, 60000};
  std::vector<abi::dcgmFieldValue_v1> values(2);
  EXPECT_EQ(bench->On("dcgmEntityGetLatestValues", kGpu, 0, fields.data(), 2U, values.data()), -3);
}

TEST_P(DcgmRows, Row17AnUnknownGpuReadsNotWatched) {
  const auto bench = Start(kEightGpus);
  for (const Seen& value : bench->Read(kGpu, 99, {150, 155, 156})) {
    EXPECT_EQ(value.status, -16) << value.field;
  }
}

TEST_P(DcgmRows, Row18ValuesSinceOfAnUnwatchedFieldFailAndDoNotWriteNext) {
  const auto bench = Start(kEightGpus);
  long long next = 4711;
  std::vector<Seen> seen;
  void* const user = &seen;
  EXPECT_EQ(bench->On("dcgmGetValuesSince_v2", bench->MakeGroupOf(kGpu, 0),
                      bench->MakeFieldGroup({150}), 0LL, &next, &SeeAll, user),
            -16);
  EXPECT_EQ(next, 4711);
  EXPECT_TRUE(seen.empty());
}

TEST_P(DcgmRows, Row19ValuesSinceOfAnEventThatHasNotHappenedAreOneCallbackWithoutData) {
  const auto bench = Start(kEightGpus);
  const abi::dcgmGpuGrp_t group = bench->MakeGroup(abi::DCGM_GROUP_DEFAULT);
  const abi::dcgmFieldGrp_t fields = bench->MakeFieldGroup({230});
  ASSERT_EQ(bench->Watch(group, fields), 0);
  bench->Tick(5 * kSecondUs);
  long long next = 0;
  std::vector<Seen> seen;
  void* const user = &seen;
  EXPECT_EQ(bench->On("dcgmGetValuesSince_v2", group, fields, 0LL, &next, &SeeAll, user), 0);
  EXPECT_EQ(next, bench->Stamp(bench->now()) + 1);
  ASSERT_EQ(seen.size(), 8U);
  for (const Seen& value : seen) {
    EXPECT_EQ(value.status, -14);
    EXPECT_EQ(value.ts, 0);
  }
}

TEST_P(DcgmRows, Row20WatchingUnknownGroups) {
  const auto bench = Start(kEightGpus);
  EXPECT_EQ(bench->Watch(99, bench->MakeFieldGroup({150})), -5);
  EXPECT_EQ(bench->Watch(bench->MakeGroup(), 99), -14);
}

TEST_P(DcgmRows, Row21ValuesExistRightAfterTheWatch) {
  const auto bench = Start(kEightGpus);
  bench->Tick(3 * kSecondUs);
  ASSERT_EQ(bench->Watch(bench->MakeGroupOf(kGpu, 0),
                         bench->MakeFieldGroup({150, 155, 54, 1001, 191, 230})),
            0);
  const std::vector<Seen> seen = bench->Read(kGpu, 0, {150, 155, 54, 1001, 191, 230});
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(seen[i].status, 0) << seen[i].field;
    EXPECT_EQ(seen[i].ts, bench->Stamp(3 * kSecondUs)) << seen[i].field;
  }
  EXPECT_EQ(seen[0].number, bench->world().TemperatureC(0, 3 * kSecondUs));
  EXPECT_EQ(seen[1].real,
            static_cast<double>(bench->world().PowerAverageMw(0, 3 * kSecondUs)) / 1000.0);
  EXPECT_EQ(seen[2].text, bench->world().gpu(0).uuid);
  EXPECT_EQ(seen[3].real, 140737488355328.0);
  EXPECT_EQ(seen[4].number, abi::DCGM_INT64_NOT_SUPPORTED);
  EXPECT_EQ(seen[5].status, -14);
  EXPECT_EQ(seen[5].ts, 0);
}

TEST_P(DcgmRows, Row22ANewSampleComesWithThePeriodAndNotBefore) {
  const auto bench = Start(kEightGpus);
  ASSERT_EQ(bench->Watch(bench->MakeGroupOf(kGpu, 0), bench->MakeFieldGroup({150, 1002})), 0);
  bench->Tick(kSecondUs - 1);
  EXPECT_EQ(bench->Read(kGpu, 0, {150})[0].ts, bench->Stamp(0));
  bench->Tick(1);
  const std::vector<Seen> seen = bench->Read(kGpu, 0, {150, 1002});
  EXPECT_EQ(seen[0].ts, bench->Stamp(kSecondUs));
  EXPECT_EQ(seen[1].ts, bench->Stamp(kSecondUs));
  EXPECT_DOUBLE_EQ(seen[1].real, 0.6);
  bench->Tick(kSecondUs / 2);
  EXPECT_EQ(bench->Read(kGpu, 0, {150})[0].ts, bench->Stamp(kSecondUs));
}

TEST_P(DcgmRows, Row23AfterUnwatchingTheLastSampleStays) {
  const auto bench = Start(kEightGpus);
  const abi::dcgmGpuGrp_t group = bench->MakeGroupOf(kGpu, 0);
  const abi::dcgmFieldGrp_t fields = bench->MakeFieldGroup({150});
  ASSERT_EQ(bench->Watch(group, fields, 500'000), 0);
  bench->Tick(600'000);
  EXPECT_EQ(bench->On("dcgmUnwatchFields", group, fields), 0);
  EXPECT_EQ(bench->On("dcgmUnwatchFields", group, fields), -16);
  bench->Tick(600'000);
  const Seen seen = bench->Read(kGpu, 0, {150})[0];
  EXPECT_EQ(seen.status, 0);
  EXPECT_EQ(seen.ts, bench->Stamp(500'000));
}

// The DCGM entity id of GPU 1's instance with this profile.
uint32_t InstanceWith(DcgmBench& bench, std::string_view profile) {
  for (int i = 0; i < bench.world().instance_count(1, bench.now()); ++i) {
    const GpuInstanceFacts facts = bench.world().instance(1, i, bench.now());
    if (facts.profile == profile) {
      return static_cast<uint32_t>(facts.dcgm_entity_id);
    }
  }
  ADD_FAILURE() << "no instance " << profile;
  return 0;
}

TEST_P(DcgmRows, Row26UtilizationOfAMigGpuIsNotSupportedAndInstancesHaveTheirOwnMemory) {
  const auto bench = Start(kMig);
  const uint32_t id = InstanceWith(*bench, "3g.40gb");
  const abi::dcgmGpuGrp_t group = bench->MakeGroupOf(kGpu, 1);
  ASSERT_EQ(bench->On("dcgmGroupAddEntity", group, kInstance, id), 0);
  ASSERT_EQ(bench->Watch(group, bench->MakeFieldGroup({203, 204, 206, 207, 250, 251, 252})), 0);
  for (const Seen& value : bench->Read(kGpu, 1, {203, 204, 206, 207})) {
    EXPECT_EQ(value.status, 0) << value.field;
    EXPECT_EQ(value.number, abi::DCGM_INT64_NOT_SUPPORTED) << value.field;
  }
  const std::vector<Seen> own = bench->Read(kInstance, id, {250, 251, 252});
  EXPECT_EQ(own[2].number, 20 * 1024);
  EXPECT_LT(own[0].number, 81'000 / 2);
  EXPECT_LE(own[1].number + own[2].number, own[0].number);
  const std::vector<Seen> whole = bench->Read(kGpu, 1, {250, 251});
  EXPECT_GT(whole[0].number, 80'000);
  EXPECT_GT(whole[1].number, own[1].number);
}

// Link states of both GPUs, from this generation's own struct.
template <typename Status>
std::vector<std::vector<int>> LinkStates(const DcgmBench& bench, uint32_t word) {
  const auto status = std::make_unique<Status>();
  status->version = word;
  EXPECT_EQ(bench.On("dcgmGetNvLinkLinkStatus", status.get()), 0) << std::hex << word;
  EXPECT_EQ(status->version, word);
  std::vector<std::vector<int>> states;
  for (uint32_t gpu = 0; gpu < status->numGpus; ++gpu) {
    EXPECT_EQ(status->gpus[gpu].entityId, gpu);
    states.emplace_back(std::begin(status->gpus[gpu].linkState),
                        std::end(status->gpus[gpu].linkState));
  }
  return states;
}

TEST_P(DcgmRows, Row27LinksOfAMigGpuAreNotSupported) {
  const auto bench = Start(kMig);
  std::vector<std::vector<std::vector<int>>> layouts;
  if (GetParam() == 4) {
    layouts.push_back(LinkStates<abi::dcgmNvLinkStatus_v4>(*bench, 0x040039bc));
    layouts.push_back(LinkStates<abi::dcgmNvLinkStatus_v5>(*bench, 0x050042bc));
  } else {
    layouts.push_back(LinkStates<abi::dcgmNvLinkStatus_v3>(*bench, 0x030015bc));
  }
  for (const auto& states : layouts) {
    ASSERT_EQ(states.size(), 2U);
    for (size_t link = 0; link < states[0].size(); ++link) {
      EXPECT_EQ(states[0][link], link < 18 ? 3 : 0) << link;
      EXPECT_EQ(states[1][link], 0) << link;
    }
  }
}

TEST_P(DcgmRows, Row28WithoutGpmAWatchIsPartial) {
  const auto bench = Start(kAmpere);
  auto groups = std::make_unique<abi::dcgmProfGetMetricGroups_v3>();
  groups->version = abi::dcgmProfGetMetricGroups_version3;
  EXPECT_EQ(bench->On("dcgmProfGetSupportedMetricGroups", groups.get()), -33);
  EXPECT_EQ(bench->Watch(bench->MakeGroupOf(kGpu, 0), bench->MakeFieldGroup({150, 1001, 155})),
            -33);
  const std::vector<Seen> seen = bench->Read(kGpu, 0, {150, 1001, 155});
  EXPECT_EQ(seen[0].status, 0);
  EXPECT_EQ(seen[1].status, -16);
  EXPECT_EQ(seen[2].status, 0);
}

int StatusOfGpu(const DcgmBench& bench, unsigned int gpu) {
  int status = 77;
  EXPECT_EQ(bench.On("dcgmGetGpuStatus", gpu, &status), 0);
  return status;
}

TEST_P(DcgmRows, Row29ALostGpuIsNoticedAfterASecondAndAllItsValuesAreBlank) {
  const auto bench = Start(kLostGpu);
  const std::vector<unsigned short> fields = {150, 155, 54, 230};
  const abi::dcgmGpuGrp_t group = bench->MakeGroup(abi::DCGM_GROUP_DEFAULT);
  ASSERT_EQ(bench->Watch(group, bench->MakeFieldGroup(fields)), 0);
  bench->Tick(10 * kSecondUs + 10'000);
  EXPECT_EQ(StatusOfGpu(*bench, 5), 1);
  bench->Tick(kSecondUs + 490'000);
  EXPECT_EQ(StatusOfGpu(*bench, 5), 4);
  EXPECT_EQ(StatusOfGpu(*bench, 4), 1);
  std::array<unsigned int, 32> ids{};
  int count = 0;
  ASSERT_EQ(bench->On("dcgmGetAllDevices", ids.data(), &count), 0);
  EXPECT_EQ(count, 8);
  ASSERT_EQ(bench->On("dcgmGetAllSupportedDevices", ids.data(), &count), 0);
  ASSERT_EQ(count, 7);
  EXPECT_EQ(ids[5], 6U);
  const auto attributes = std::make_unique<abi::dcgmDeviceAttributes_v3>();
  attributes->version = abi::dcgmDeviceAttributes_version3;
  EXPECT_EQ(bench->On("dcgmGetDeviceAttributes", 5U, attributes.get()), 0);
  EXPECT_STREQ(attributes->identifiers.uuid, "<<<NULL>>>");
  EXPECT_STREQ(attributes->identifiers.deviceName, "<<<NULL>>>");
  const std::vector<Seen> seen = bench->Read(kGpu, 5, fields);
  for (const Seen& value : seen) {
    EXPECT_EQ(value.status, 0) << value.field;
    EXPECT_EQ(value.ts, bench->Stamp(11 * kSecondUs)) << value.field;
  }
  EXPECT_EQ(seen[0].number, abi::DCGM_INT64_BLANK);
  EXPECT_EQ(seen[1].real, abi::DCGM_FP64_BLANK);
  EXPECT_EQ(seen[2].text, "<<<NULL>>>");
  EXPECT_EQ(seen[3].number, abi::DCGM_INT64_BLANK);
  bench->Tick(2 * kSecondUs);
  EXPECT_EQ(bench->Read(kGpu, 5, {150})[0].ts, bench->Stamp(13 * kSecondUs))
      << "time stamps continue";
  EXPECT_EQ(bench->On("dcgmGroupAddEntity", bench->MakeGroup(), kGpu, 5U), -18);
  EXPECT_LT(bench->Read(kGpu, 4, {150})[0].number, 100);
}

TEST_P(DcgmRows, Row30AGpuThatReturnsIsReadInTheOldWatch) {
  const auto bench = Start(kLostGpu);
  const std::vector<unsigned short> fields = {150, 54, 156, 230};
  ASSERT_EQ(bench->Watch(bench->MakeGroupOf(kGpu, 5), bench->MakeFieldGroup(fields)), 0);
  bench->Tick(9 * kSecondUs);
  const int64_t energy_mj = bench->Read(kGpu, 5, {156})[0].number;
  bench->Tick(20 * kSecondUs);
  EXPECT_EQ(bench->Read(kGpu, 5, {156})[0].number, abi::DCGM_INT64_BLANK);
  bench->Tick(12 * kSecondUs);
  EXPECT_EQ(StatusOfGpu(*bench, 5), 1);
  const std::vector<Seen> seen = bench->Read(kGpu, 5, fields);
  EXPECT_LT(seen[0].number, 100);
  EXPECT_EQ(seen[0].ts, bench->Stamp(41 * kSecondUs));
  EXPECT_EQ(seen[1].text, bench->world().gpu(5).uuid);
  EXPECT_EQ(seen[2].number, energy_mj + 70'000 * 32) << "the GPU was idle all the time";
  EXPECT_EQ(seen[3].number, 79);
  EXPECT_EQ(seen[3].ts, bench->Stamp(10 * kSecondUs));
}

TEST_P(DcgmRows, Row32MetricGroupsOfAnUnknownGpu) {
  const auto bench = Start(kEightGpus);
  auto groups = std::make_unique<abi::dcgmProfGetMetricGroups_v3>();
  groups->version = abi::dcgmProfGetMetricGroups_version3;
  groups->gpuId = 99;
  EXPECT_EQ(bench->On("dcgmProfGetSupportedMetricGroups", groups.get()), -33);
}

TEST_P(DcgmRows, Row36TheWorkedExampleHasItsKnownValues) {
  const auto bench = Start(kWorkedExample);
  const int64_t offset_mj = bench->ReadLive(kGpu, 0, {156})[0].number;
  bench->Tick(12'345'678);
  const std::vector<Seen> seen = bench->ReadLive(kGpu, 0, {156, 155, 157});
  EXPECT_EQ(seen[0].number, offset_mj + 4'431'900);
  EXPECT_EQ(seen[0].ts, bench->Stamp(12'300'000));
  EXPECT_EQ(seen[1].real, 342.1);
  EXPECT_EQ(seen[2].real, 613.0);
}

}  // namespace
}  // namespace podgpu::sim
