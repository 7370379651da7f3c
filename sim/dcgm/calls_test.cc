// Other behaviour of the face: limits, callbacks and live data.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/testing/dcgm_client.h"
#include "sim/testing/dcgm_scenarios.h"

namespace podgpu::sim {
namespace {

// The parameter is the library's generation.
class DcgmCalls : public testing::TestWithParam<int> {
 protected:
  static std::unique_ptr<DcgmBench> Start(std::string_view scenario) {
    auto bench = std::make_unique<DcgmBench>(GetParam(), scenario);
    bench->Start();
    return bench;
  }
};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmCalls, testing::Values(4, 3), [](const auto& generation) {
  return "so" + std::to_string(generation.param);
});

TEST_P(DcgmCalls, ValuesSinceAreTheSamplesOfTheWindowAscending) {
  const auto bench = Start(kEightGpus);
  const abi::dcgmGpuGrp_t group = bench->MakeGroupOf(kGpu, 0);
  const abi::dcgmFieldGrp_t fields = bench->MakeFieldGroup({150});
  ASSERT_EQ(bench->Watch(group, fields), 0);
  bench->Tick(10 * kSecondUs);
  std::vector<Seen> seen;
  void* const user = &seen;
  long long next = bench->Stamp(6 * kSecondUs + 1);
  for (const size_t expected : {4U, 1U, 1U}) {
    seen.clear();
    const long long since = next;
    ASSERT_EQ(bench->On("dcgmGetValuesSince_v2", group, fields, since, &next, &SeeAll, user), 0);
    ASSERT_EQ(seen.size(), expected);
    for (size_t i = 1; i < seen.size(); ++i) {
      EXPECT_EQ(seen[i].ts, seen[i - 1].ts + kSecondUs);
    }
    bench->Tick(kSecondUs);
  }
  EXPECT_EQ(seen[0].ts, bench->Stamp(12 * kSecondUs));
}

int StopAtTheSecond(abi::dcgm_field_entity_group_t group, abi::dcgm_field_eid_t entity,
                    abi::dcgmFieldValue_v1* values, int count, void* user) {
  SeeAll(group, entity, values, count, user);
  return static_cast<std::vector<Seen>*>(user)->size() == 2 ? 1 : 0;
}

TEST_P(DcgmCalls, ACallbackMayEndTheEnumeration) {
  const auto bench = Start(kEightGpus);
  const abi::dcgmGpuGrp_t group = bench->MakeGroup(abi::DCGM_GROUP_DEFAULT);
  const abi::dcgmFieldGrp_t fields = bench->MakeFieldGroup({150});
  ASSERT_EQ(bench->Watch(group, fields), 0);
  std::vector<Seen> seen;
  void* const user = &seen;
  long long next = 0;
  EXPECT_EQ(bench->On("dcgmGetValuesSince_v2", group, fields, 0LL, &next, &StopAtTheSecond, user),
            0);
  EXPECT_EQ(seen.size(), 2U);
}

TEST_P(DcgmCalls, ANodeWithoutGpusStartsAndItsGroupsAreEmpty) {
  const auto bench = Start(kNoGpus);
  std::array<unsigned int, 32> ids{};
  int count = 77;
  EXPECT_EQ(bench->On("dcgmGetAllDevices", ids.data(), &count), 0);
  EXPECT_EQ(count, 0);
  const abi::dcgmGpuGrp_t all = abi::DCGM_GROUP_ALL_GPUS;
  const abi::dcgmFieldGrp_t fields = bench->MakeFieldGroup({150});
  EXPECT_EQ(bench->Watch(all, fields), 0);
  std::vector<Seen> seen;
  void* const user = &seen;
  long long next = 0;
  EXPECT_EQ(bench->On("dcgmGetValuesSince_v2", all, fields, 0LL, &next, &SeeAll, user), -35);
}

TEST_P(DcgmCalls, GroupsAndFieldGroupsHaveTheVendorsLimits) {
  const auto bench = Start(kEightGpus);
  abi::dcgmGpuGrp_t group = 0;
  abi::dcgmFieldGrp_t field_group = 0;
  const std::array<unsigned short, 1> fields = {150};
  int groups = 0;
  while (bench->On("dcgmGroupCreate", 1, "g", &group) == 0) {
    ++groups;
  }
  int field_groups = 0;
  while (bench->On("dcgmFieldGroupCreate", 1, fields.data(), std::to_string(field_groups).c_str(),
                   &field_group) == 0) {
    ++field_groups;
  }
  EXPECT_EQ(groups, 62);
  EXPECT_EQ(field_groups, 61);
  EXPECT_EQ(bench->On("dcgmGroupCreate", 1, "g", &group), -24);
}

TEST_P(DcgmCalls, LiveDataIsRefusedForEventsAndCacheOnlyFields) {
  const auto bench = Start(kEightGpus);
  bench->ReadLive(kGpu, 0, {150, 230}, -3);
  EXPECT_EQ(bench->ReadLive(kGpu, 0, {221})[0].status, -32);
  const Seen live = bench->ReadLive(kGpu, 0, {150})[0];
  EXPECT_EQ(live.status, 0);
  EXPECT_EQ(live.ts, bench->Stamp(bench->now()));
}

TEST_P(DcgmCalls, LiveDataOfAProfilingFieldKillsTheProcessThatHoldsTheEngine) {
  const auto bench = Start(kEightGpus);
  EXPECT_DEATH(bench->ReadLive(kGpu, 0, {1001}), "");
}

TEST_P(DcgmCalls, ReportsTheVersionsOfLibraryAndEngine) {
  const auto bench = Start(kEightGpus);
  abi::dcgmVersionInfo_v2 info{};
  info.version = abi::dcgmVersionInfo_version2;
  ASSERT_EQ(bench->Call("dcgmVersionInfo", &info), 0);
  const std::string version = GetParam() == 4 ? "version:4.6.0;" : "version:3.3.9;";
  EXPECT_EQ(std::string(info.rawBuildInfoString).substr(0, version.size()), version);
  ASSERT_EQ(bench->On("dcgmHostengineVersionInfo", &info), 0);
  EXPECT_EQ(std::string(info.rawBuildInfoString).substr(0, version.size()), version);
}

TEST_P(DcgmCalls, ReturnCodesHaveTextsAndUnknownOnesHaveNone) {
  const DcgmClient client(GetParam());
  EXPECT_STREQ(client.Call<const char*>("errorString", 0), "success");
  EXPECT_NE(client.Call<const char*>("errorString", -21), nullptr);
  EXPECT_EQ(client.Call<const char*>("errorString", -1000), nullptr);
  EXPECT_EQ(client.Call<const char*>("errorString", 1), nullptr);
}

TEST_P(DcgmCalls, UnusedFunctionsAreNotSupported) {
  const auto bench = Start(kEightGpus);
  EXPECT_EQ(bench->On("dcgmJobRemoveAll"), -6);
  EXPECT_EQ(bench->On("dcgmProfPause"), -6);
  EXPECT_EQ(bench->client().Call<const void*>("dcgmGetErrorMeta", 1), nullptr);
  EXPECT_EQ(bench->client().Has("dcgmProfWatchFields"), GetParam() == 3);
}

}  // namespace
}  // namespace podgpu::sim
