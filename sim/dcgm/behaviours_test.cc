// Behaviour of a real DCGM 4.6.0 that its documentation does not mention, in both generations
// (docs/simulator.md, "What real systems taught").
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/testing/dcgm_faults.h"

namespace podgpu::sim {
namespace {

constexpr const char* kMigOnTwo = R"(format: 1
name: mig-on-two
gpus:
  - {class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [{profile: 1g.10gb}]}
  - {class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [{profile: 1g.10gb}]}
)";

class DcgmBehaviours : public DcgmFaults {};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmBehaviours, testing::Values(4, 3),
                         [](const auto& generation) {
                           return "so" + std::to_string(generation.param);
                         });

// The first `count` profiling fields of links and of the GPU; both generations have 66 of these.
std::vector<unsigned short> ProfilingFields(size_t count) {
  std::vector<unsigned short> ids;
  for (unsigned short id = 1040; id <= 1075; ++id) {
    ids.push_back(id);
  }
  for (unsigned short id = 1001; id <= 1034; ++id) {
    if (id <= 1012 || id >= 1017) {
      ids.push_back(id);
    }
  }
  ids.resize(count);
  return ids;
}

TEST_P(DcgmBehaviours, ADetachedGpuLeavesTheGroupsAndWatchesOfClients) {
  const auto bench = Start("{at: 5s, kind: gpu_detached, gpu: 1, for: 10s}");
  const abi::dcgmGpuGrp_t group = bench->MakeGroup(abi::DCGM_GROUP_DEFAULT);
  ASSERT_EQ(bench->Watch(group, bench->MakeFieldGroup({150, 230}, "own")), 0);
  ASSERT_EQ(bench->Watch(abi::DCGM_GROUP_ALL_GPUS, bench->MakeFieldGroup({155}, "all")), 0);
  EXPECT_EQ(bench->On("dcgmGroupAddEntity", group, kGpu, 1U), -1) << "the group has it";
  bench->Tick(16 * kSecondUs);
  EXPECT_EQ(StatusOf(*bench, 1), abi::DcgmEntityStatusOk);
  EXPECT_EQ(bench->Read(kGpu, 1, {150})[0].status, -16);
  EXPECT_EQ(bench->Read(kGpu, 1, {230})[0].status, -16);
  EXPECT_EQ(bench->Read(kGpu, 1, {155})[0].ts, bench->Stamp(16 * kSecondUs));
  EXPECT_EQ(bench->Read(kGpu, 0, {150})[0].ts, bench->Stamp(16 * kSecondUs))
      << "the watch of another GPU continues";
  const abi::dcgmFieldGrp_t again = bench->MakeFieldGroup({150}, "again");
  ASSERT_EQ(bench->Watch(group, again), 0);
  EXPECT_EQ(bench->Read(kGpu, 1, {150})[0].status, -16) << "the group has lost it";
  EXPECT_EQ(bench->On("dcgmGroupAddEntity", group, kGpu, 1U), 0);
  ASSERT_EQ(bench->Watch(group, again), 0);
  bench->Tick(2 * kSecondUs);
  EXPECT_EQ(bench->Read(kGpu, 1, {150})[0].ts, bench->Stamp(18 * kSecondUs));
}

TEST_P(DcgmBehaviours, AllGpusAreDetachedForTwoSecondsWhenOneIsUnbound) {
  const auto bench = Start("{at: 5s, kind: gpu_detached, gpu: 1, for: 10s}");
  WatchAll(*bench, {150, 203});
  const auto read = [&](unsigned short field) { return bench->Read(kGpu, 0, {field})[0].number; };
  bench->Tick(6 * kSecondUs);
  EXPECT_EQ(StatusOf(*bench, 0), abi::DcgmEntityStatusDetached);
  EXPECT_EQ(read(150), abi::DCGM_INT64_BLANK);
  bench->Tick(3 * kSecondUs / 4);
  EXPECT_EQ(bench->ReadLive(kGpu, 0, {203})[0].number, abi::DCGM_INT64_BLANK);
  EXPECT_NE(bench->ReadLive(kGpu, 0, {150})[0].number, abi::DCGM_INT64_BLANK)
      << "some fields are back earlier";
  bench->Tick(kSecondUs);
  EXPECT_EQ(StatusOf(*bench, 0), abi::DcgmEntityStatusOk);
  EXPECT_NE(read(150), abi::DCGM_INT64_BLANK);
  EXPECT_EQ(StatusOf(*bench, 1), abi::DcgmEntityStatusDetached);
}

TEST_P(DcgmBehaviours, AllInstancesGetOtherNumbersWhenAGpuIsBoundAgain) {
  const auto bench = Start("{at: 5s, kind: gpu_detached, gpu: 1, for: 1s}", kMigOnTwo);
  const auto numbers = [&] {
    auto hierarchy = std::make_unique<abi::dcgmMigHierarchy_v2>();
    hierarchy->version = abi::dcgmMigHierarchy_version2;
    EXPECT_EQ(bench->On("dcgmGetGpuInstanceHierarchy", hierarchy.get()), 0);
    EXPECT_EQ(hierarchy->count, 4U) << "two instances with a compute instance each";
    return std::pair(hierarchy->entityList[0].entity.entityId / 7,
                     hierarchy->entityList[2].entity.entityId / 7);
  };
  EXPECT_EQ(numbers(), std::pair(1U, 3U));
  bench->Tick(8 * kSecondUs);
  EXPECT_EQ(numbers(), std::pair(0U, 2U));
}

TEST_P(DcgmBehaviours, InstancesOfAReboundGpuAreReadAsAnotherGpus) {
  const auto bench = Start("{at: 5s, kind: gpu_detached, gpu: 1, for: 10s}", kMig);
  const auto instance = [&] {
    auto hierarchy = std::make_unique<abi::dcgmMigHierarchy_v2>();
    hierarchy->version = abi::dcgmMigHierarchy_version2;
    EXPECT_EQ(bench->On("dcgmGetGpuInstanceHierarchy", hierarchy.get()), 0);
    return hierarchy->entityList[0];
  };
  const abi::dcgmMigHierarchyInfo_v2 before = instance();
  EXPECT_EQ(before.entity.entityId / 7, 1U);
  bench->Tick(16 * kSecondUs);
  const abi::dcgmMigHierarchyInfo_v2 after = instance();
  EXPECT_EQ(after.entity.entityId, before.entity.entityId - 7)
      << "the instance is now counted as one of GPU 0";
  EXPECT_EQ(after.parent.entityId, 1U);
  EXPECT_EQ(after.info.nvmlInstanceId, before.info.nvmlInstanceId);
  const unsigned short temperature = 150;
  EXPECT_EQ(bench->ReadLive(kInstance, after.entity.entityId, {54})[0].text,
            bench->world().gpu(0).uuid);
  EXPECT_EQ(bench->ReadLive(kInstance, after.entity.entityId, {temperature})[0].number,
            bench->ReadLive(kGpu, 0, {temperature})[0].number);
  ASSERT_EQ(bench->On("dcgmStopEmbedded"), 0);
  ASSERT_EQ(bench->Call("dcgmStartEmbedded", 1, &bench->handle), 0);
  EXPECT_EQ(instance().entity.entityId, before.entity.entityId)
      << "a newly started engine counts it normally";
}

TEST_P(DcgmBehaviours, AProfilingWatchHolds64Fields) {
  const auto bench = Start("");
  const std::vector<unsigned short> most = ProfilingFields(64);
  const std::vector<unsigned short> more = ProfilingFields(65);
  const abi::dcgmGpuGrp_t group = bench->MakeGroupOf(kGpu, 0);
  EXPECT_EQ(bench->Watch(group, bench->MakeFieldGroup(more, "more")), -3);
  EXPECT_EQ(bench->Read(kGpu, 0, {1040})[0].status, -16);
  EXPECT_EQ(bench->Watch(group, bench->MakeFieldGroup(most, "most")), 0);
  EXPECT_EQ(bench->Read(kGpu, 0, {1040})[0].status, 0);
}

TEST_P(DcgmBehaviours, TheInforomIsSampledAtMostEvery30Seconds) {
  const auto bench = Start("");
  WatchAll(*bench, {83, 84, 150});
  bench->Tick(29 * kSecondUs);
  EXPECT_EQ(bench->Read(kGpu, 0, {83})[0].ts, bench->Stamp(0));
  EXPECT_EQ(bench->Read(kGpu, 0, {150})[0].ts, bench->Stamp(29 * kSecondUs));
  bench->Tick(2 * kSecondUs);
  EXPECT_EQ(bench->Read(kGpu, 0, {84})[0].ts, bench->Stamp(30 * kSecondUs));
}

TEST_P(DcgmBehaviours, AnUnsupportedVgpuLicenceIsAText) {
  const auto bench = Start("{at: 1s, kind: blank, gpu: 0, fields: [526], reason: not_supported}");
  WatchAll(*bench, {526});
  EXPECT_EQ(bench->Read(kGpu, 0, {526})[0].type, abi::DCGM_FT_INT64);
  bench->Tick(2 * kSecondUs);
  const Seen seen = bench->Read(kGpu, 0, {526})[0];
  EXPECT_EQ(seen.status, 0);
  EXPECT_EQ(seen.type, abi::DCGM_FT_STRING);
  EXPECT_EQ(seen.text, "<<<NOT_SUPPORTED>>>");
}

}  // namespace
}  // namespace podgpu::sim
