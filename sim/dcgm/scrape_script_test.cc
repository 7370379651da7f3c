// The second part of the call script: the calls of dcgm-exporter to watch, to scrape, to reload and
// to restart.  One test per row, named after it; dcgm_script.h describes the script.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_links.h"
#include "sim/dcgm/devices.h"
#include "sim/testing/dcgm_script.h"

namespace podgpu::sim {
namespace {

template <typename Response>
void ExpectHealthy(const DcgmBench& bench, abi::dcgmGpuGrp_t group, uint32_t word) {
  const auto response = WithWord<Response>(word);
  EXPECT_EQ(bench.On("dcgmHealthCheck", group, response.get()), 0);
  EXPECT_EQ(response->overallHealth, 0);
  EXPECT_EQ(response->incidentCount, 0U);
}

template <typename Info>
uint32_t CountIn(const DcgmBench& bench, abi::dcgmGpuGrp_t group, uint32_t word) {
  const auto info = WithWord<Info>(word);
  EXPECT_EQ(bench.On("dcgmGroupGetInfo", group, info.get()), 0);
  return info->count;
}

TEST_P(DcgmScript, Row18OnlyExistingEntitiesAreAddedAndOnlyOnce) {
  Start(kLostGpu);
  const abi::dcgmGpuGrp_t group = bench_->MakeGroup();
  for (uint32_t gpu = 0; gpu < 8; ++gpu) {
    EXPECT_EQ(bench_->On("dcgmGroupAddEntity", group, kGpu, gpu), 0);
  }
  EXPECT_EQ(bench_->On("dcgmGroupAddEntity", group, kGpu, 0U), -1);
  EXPECT_EQ(bench_->On("dcgmGroupAddDevice", group, 0U), -1);
  EXPECT_EQ(bench_->On("dcgmGroupAddEntity", group, kGpu, 8U), -1);
  EXPECT_EQ(bench_->On("dcgmGroupAddEntity", group, kInstance, 0U), -1);
  EXPECT_EQ(bench_->On("dcgmGroupAddEntity", group, static_cast<int>(abi::DCGM_FE_SWITCH), 0U), -1);
  EXPECT_EQ(bench_->On("dcgmGroupAddEntity", abi::dcgmGpuGrp_t{99}, kGpu, 0U), -5);
  bench_->Tick(20 * kSecondUs);
  const abi::dcgmGpuGrp_t later = bench_->MakeGroup();
  EXPECT_EQ(bench_->On("dcgmGroupAddEntity", later, kGpu, 5U), -18);
  EXPECT_EQ(bench_->On("dcgmGroupAddEntity", later, kGpu, 4U), 0);
}

TEST_P(DcgmScript, Row19FieldGroupsHoldOneTo127KnownFieldsUnderAUniqueName) {
  Start();
  const auto create = [this](std::vector<unsigned short> fields, const char* name) {
    abi::dcgmFieldGrp_t made = 0;
    return bench_->On("dcgmFieldGroupCreate", static_cast<int>(fields.size()), fields.data(), name,
                      &made);
  };
  EXPECT_EQ(create({}, "none"), -1);
  EXPECT_EQ(create(std::vector<unsigned short>(127, 150), "most"), 0);
  EXPECT_EQ(create(std::vector<unsigned short>(128, 150), "too many"), -1);
  EXPECT_EQ(create({150, 60000}, "unknown"), -1);
  EXPECT_EQ(create({150, 150}, "repeated"), 0);
  EXPECT_EQ(create({150}, "repeated"), -26);
}

TEST_P(DcgmScript, Row20AWatchHasAFirstSampleAtOnceAndIsPartialWithoutProfiling) {
  Start();
  const Collector collector = MakeCollector();
  for (const Seen& value : bench_->Read(kGpu, 7, {100, 150, 155})) {
    EXPECT_EQ(value.status, 0) << value.field;
    EXPECT_NE(value.ts, 0) << value.field;
  }
  Start(kAmpere);
  EXPECT_EQ(bench_->Watch(bench_->MakeGroupOf(kGpu, 0), bench_->MakeFieldGroup({150, 1001})), -33);
  EXPECT_EQ(bench_->Read(kGpu, 0, {150})[0].status, 0);
}

TEST_P(DcgmScript, Row21LinksOfExistingGpusCanBeAdded) {
  Start();
  const auto link = [this](uint32_t gpu, uint32_t index) {
    return is_4 ? abi::LinkEntityId(kGpu, index, gpu)
                : static_cast<uint32_t>(kGpu) | (index << 8U) | (gpu << 16U);
  };
  const abi::dcgmGpuGrp_t links = bench_->MakeGroup();
  const int kind = abi::DCGM_FE_LINK;
  EXPECT_EQ(bench_->On("dcgmGroupAddEntity", links, kind, link(0, 0)), 0);
  EXPECT_EQ(bench_->On("dcgmGroupAddEntity", links, kind, link(7, 17)), 0);
  EXPECT_EQ(bench_->On("dcgmGroupAddEntity", links, kind, link(8, 0)), -1);
  Start(kAmpere);  // 12 links are in use.
  EXPECT_EQ(bench_->On("dcgmGroupAddEntity", bench_->MakeGroup(), kind, link(0, 13)), 0);
}

TEST_P(DcgmScript, Row22AHealthyNodePassesEveryCheck) {
  Start();
  const abi::dcgmGpuGrp_t group = MakeCollector().group;
  const auto check = [&] {
    if (is_4) {
      ExpectHealthy<abi::dcgmHealthResponse_v5>(*bench_, group, 0x0510500c);
    } else {
      ExpectHealthy<abi::dcgmHealthResponse_v4>(*bench_, group, 0x0401050c);
    }
  };
  check();
  EXPECT_EQ(bench_->On("dcgmHealthSet", group, uint32_t{abi::DCGM_HEALTH_WATCH_ALL}), 0);
  check();
  EXPECT_EQ(is_4 ? CountIn<abi::dcgmGroupInfo_v3>(*bench_, group, 0x03002108)
                 : CountIn<abi::dcgmGroupInfo_v2>(*bench_, group, 0x02000308),
            8U);
  uint32_t systems = 0;
  EXPECT_EQ(bench_->On("dcgmHealthGet", group, &systems), 0);
  EXPECT_EQ(systems, uint32_t{abi::DCGM_HEALTH_WATCH_ALL});
}

TEST_P(DcgmScript, Row23EveryGpuSeesEveryOtherOne) {
  Start();
  if (!is_4) {  // The call came with 4.x.
    EXPECT_FALSE(bench_->client().Has("dcgmGetNvLinkP2PStatus"));
    return;
  }
  const auto peers = WithWord<abi::dcgmNvLinkP2PStatus_v1>(abi::dcgmNvLinkP2PStatus_version1);
  ASSERT_EQ(bench_->On("dcgmGetNvLinkP2PStatus", peers.get()), 0);
  ASSERT_EQ(peers->numGpus, 8U);
  for (size_t from = 0; from < 8; ++from) {
    for (size_t to = 0; to < 8; ++to) {
      EXPECT_EQ(peers->gpus[from].linkStatus[to], 0) << from << " " << to;
    }
  }
}

TEST_P(DcgmScript, Row24TheBindWatcherGetsNothingUntilAGpuIsUnbound) {
  Start(std::string(kEightGpus) + "faults: [{at: 5s, kind: bind_unbind, for: 10s}]\n");
  if (!is_4) {  // The field came with 4.5.
    EXPECT_EQ(FieldById(6), nullptr);
    return;
  }
  const abi::dcgmFieldGrp_t fields = bench_->MakeFieldGroup({6}, "bindUnbind");
  const abi::dcgmGpuGrp_t all = abi::DCGM_GROUP_ALL_GPUS;
  ASSERT_EQ(all, 0x7fffffffU);
  EXPECT_EQ(bench_->Watch(all, fields, 1'000'000, 0, 0), 0);
  EXPECT_EQ(bench_->Read(kGpu, 0, {6})[0].status, -14);
  EXPECT_EQ(bench_->Read(kGpu, 0, {6})[0].ts, 0);
  for (const int64_t event : {1, 2}) {  // At 5 s and at 15 s.
    bench_->Tick(8 * kSecondUs);
    const Seen seen = bench_->Read(kGpu, 0, {6})[0];
    EXPECT_EQ(seen.number, event);
    EXPECT_EQ(seen.ts, bench_->Stamp((event * 10 - 5) * kSecondUs));
  }
  EXPECT_EQ(bench_->On("dcgmUnwatchFields", all, fields), -16);
}

TEST_P(DcgmScript, Row25AScrapeReadsAllFieldsOfEachGpu) {
  Start();
  const Collector collector = MakeCollector();
  bench_->Tick(kSecondUs);
  for (uint32_t gpu = 0; gpu < 8; ++gpu) {
    for (const Seen& value : bench_->Read(kGpu, gpu, collector.fields)) {
      EXPECT_EQ(value.status, value.field == 230 ? -14 : 0) << gpu << " " << value.field;
      EXPECT_EQ(value.ts != 0, value.field != 230) << gpu << " " << value.field;
      EXPECT_LT(value.real, abi::DCGM_FP64_BLANK) << gpu << " " << value.field;
    }
  }
}

TEST_P(DcgmScript, Row26AWindowHasAscendingSamplesAndOneCallForAFieldWithoutSamples) {
  Start();
  const Collector collector = MakeCollector();
  const abi::dcgmFieldGrp_t reasons = bench_->MakeFieldGroup({112, 230}, "window");
  ASSERT_EQ(bench_->Watch(collector.group, reasons), 0);
  bench_->Tick(3 * kSecondUs);
  EXPECT_EQ(bench_->On("dcgmUpdateAllFields", 1), 0);
  std::vector<Seen> seen;
  void* const user = &seen;
  long long next = 0;
  const long long since = bench_->Stamp(bench_->now()) - 60 * kSecondUs;
  ASSERT_EQ(
      bench_->On("dcgmGetValuesSince_v2", collector.group, reasons, since, &next, &SeeAll, user),
      0);
  ASSERT_EQ(seen.size(), 8U * 5U);  // Four samples of the reasons and one call without data.
  for (size_t i = 0; i < seen.size(); ++i) {
    const bool has_data = i % 5 != 4;
    EXPECT_EQ(seen[i].field, has_data ? 112 : 230) << i;
    EXPECT_EQ(seen[i].status, has_data ? 0 : -14) << i;
    EXPECT_EQ(seen[i].ts != 0, has_data) << i;
    if (has_data && i % 5 != 0) {
      EXPECT_GT(seen[i].ts, seen[i - 1].ts) << i;
    }
  }
}

TEST_P(DcgmScript, Row27AReloadRemovesWatchesAndGroupsOnce) {
  Start();
  const Collector collector = MakeCollector();
  EXPECT_EQ(bench_->On("dcgmUnwatchFields", collector.group, collector.field_group), 0);
  EXPECT_EQ(bench_->On("dcgmUnwatchFields", collector.group, collector.field_group), -16);
  EXPECT_EQ(bench_->On("dcgmFieldGroupDestroy", collector.field_group), 0);
  EXPECT_EQ(bench_->On("dcgmFieldGroupDestroy", collector.field_group), -14);
  EXPECT_EQ(bench_->On("dcgmGroupDestroy", collector.group), 0);
  EXPECT_EQ(bench_->On("dcgmGroupDestroy", collector.group), -5);
  EXPECT_EQ(bench_->On("dcgmUnwatchFields", collector.group, collector.field_group), -5);
}

TEST_P(DcgmScript, Row27AfterARestartNoOldGroupExists) {
  Start();
  const Collector old = MakeCollector();
  EXPECT_EQ(bench_->Call("DcgmFieldsTerm"), 0);
  EXPECT_EQ(bench_->On("dcgmStopEmbedded"), 0);
  EXPECT_EQ(bench_->On("dcgmUpdateAllFields", 1), -10);
  EXPECT_EQ(bench_->Call("dcgmShutdown"), 0);
  bench_->Start();
  EXPECT_EQ(bench_->Call("DcgmFieldsInit"), 0);
  EXPECT_EQ(bench_->Watch(old.group, old.field_group), -5);
  EXPECT_EQ(bench_->On("dcgmGroupDestroy", old.group), -5);
  EXPECT_EQ(bench_->On("dcgmFieldGroupDestroy", old.field_group), -14);
  const Collector collector = MakeCollector();
  EXPECT_EQ(bench_->Read(kGpu, 3, collector.fields)[0].status, 0);
}

}  // namespace
}  // namespace podgpu::sim
