// Each fault as a client of libdcgm sees it, in both generations: a scenario with faults, the clock
// that passes them, and the symptoms of docs/simulator.md.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_links.h"
#include "sim/testing/dcgm_faults.h"

namespace podgpu::sim {
namespace {

constexpr int64_t kBlank = abi::DCGM_INT64_BLANK;

INSTANTIATE_TEST_SUITE_P(Generations, DcgmFaults, testing::Values(4, 3),
                         [](const auto& generation) {
                           return "so" + std::to_string(generation.param);
                         });

TEST_P(DcgmFaults, AnAbsentGpuGetsNoNumber) {
  const auto bench =
      Start("{at: 0s, kind: gpu_absent, gpu: 2}, {at: 9s, kind: gpu_absent, gpu: 3}");
  EXPECT_EQ(Count(*bench, "dcgmGetAllDevices"), 7);
  EXPECT_EQ(Attributes(*bench, 2)->identifiers.uuid, bench->world().gpu(3).uuid);
  EXPECT_EQ(StatusOf(*bench, 7), abi::DcgmEntityStatusUnknown);
  WatchAll(*bench, {4, 52, 54});
  EXPECT_EQ(bench->Read(kGpu, 2, {4})[0].number, 7);
  EXPECT_EQ(bench->Read(kGpu, 2, {52})[0].number, 2);
  EXPECT_EQ(bench->Read(kGpu, 2, {54})[0].text, bench->world().gpu(3).uuid);
  bench->Tick(10 * kSecondUs);
  EXPECT_EQ(Count(*bench, "dcgmGetAllDevices"), 7)
      << "the GPU stays absent until an engine starts again";
  ASSERT_EQ(bench->On("dcgmStopEmbedded"), 0);
  ASSERT_EQ(bench->Call("dcgmStartEmbedded", 1, &bench->handle), 0);
  EXPECT_EQ(Count(*bench, "dcgmGetAllDevices"), 6);
  EXPECT_EQ(Attributes(*bench, 2)->identifiers.uuid, bench->world().gpu(4).uuid);
}

TEST_P(DcgmFaults, InstancesAfterAnAbsentGpuAreRenumbered) {
  const auto bench = Start("{at: 0s, kind: gpu_absent, gpu: 0}", kMig);
  auto hierarchy = std::make_unique<abi::dcgmMigHierarchy_v2>();
  hierarchy->version = abi::dcgmMigHierarchy_version2;
  ASSERT_EQ(bench->On("dcgmGetGpuInstanceHierarchy", hierarchy.get()), 0);
  ASSERT_EQ(hierarchy->count, 8U);
  EXPECT_EQ(hierarchy->entityList[0].entity.entityId, 0U);
  EXPECT_EQ(hierarchy->entityList[0].parent.entityId, 0U);
  EXPECT_EQ(bench->ReadLive(abi::DCGM_FE_GPU_I, 3, {50})[0].text, "3g.40gb");
}

TEST_P(DcgmFaults, ADetachedGpuIsBlankAndReturns) {
  for (const char* kind : {"gpu_detached", "bind_unbind"}) {
    const auto bench = Start(std::string("{at: 5s, kind: ") + kind + ", gpu: 1, for: 10s}");
    WatchAll(*bench, {54, 150});
    bench->Tick(8 * kSecondUs);
    EXPECT_EQ(StatusOf(*bench, 1), abi::DcgmEntityStatusDetached) << kind;
    EXPECT_EQ(StatusOf(*bench, 0), abi::DcgmEntityStatusOk);
    EXPECT_EQ(Count(*bench, "dcgmGetAllDevices"), 8);
    EXPECT_EQ(Count(*bench, "dcgmGetAllSupportedDevices"), 7);
    EXPECT_EQ(Attributes(*bench, 1)->identifiers.uuid, bench->world().gpu(1).uuid) << "remembered";
    EXPECT_STREQ(Attributes(*bench, 1)->identifiers.serial, "<<<NULL>>>");
    const Seen seen = bench->Read(kGpu, 1, {150})[0];
    EXPECT_EQ(seen.status, 0);
    EXPECT_EQ(seen.ts, bench->Stamp(8 * kSecondUs));
    EXPECT_EQ(seen.number, kBlank);
    EXPECT_NE(bench->Read(kGpu, 0, {150})[0].number, kBlank);
    bench->Tick(7 * kSecondUs);
    EXPECT_EQ(StatusOf(*bench, 1), abi::DcgmEntityStatusOk);
    ASSERT_EQ(bench->Watch(bench->MakeGroup(abi::DCGM_GROUP_DEFAULT),
                           bench->MakeFieldGroup({155}, "again")),
              0);
    EXPECT_NE(bench->Read(kGpu, 1, {155})[0].number, kBlank);
  }
}

TEST_P(DcgmFaults, ADriverReloadBlanksAllValuesAndResetsCounters) {
  const auto bench = Start(
      "{at: 2s, kind: xid, gpu: 0, number: 31}, {at: 2s, kind: ecc, gpu: 0, error: sbe, count: 3}, "
      "{at: 5s, kind: driver_reload, for: 10s}");
  WatchAll(*bench, {150, 156, 230, 310, 312});
  bench->Tick(4 * kSecondUs);
  const std::vector<Seen> before = bench->Read(kGpu, 0, {156, 230, 310, 312});
  EXPECT_GT(before[0].number, 1'000'000'000'000);
  EXPECT_EQ(before[1].number, 31);
  EXPECT_EQ(before[2].number, 3);
  EXPECT_EQ(before[3].number, 3);
  bench->Tick(3 * kSecondUs);
  for (unsigned int gpu = 0; gpu < 8; ++gpu) {
    EXPECT_EQ(bench->Read(kGpu, gpu, {150})[0].number, kBlank);
    EXPECT_EQ(StatusOf(*bench, gpu), abi::DcgmEntityStatusLost);
  }
  ASSERT_EQ(bench->On("dcgmStopEmbedded"), 0);
  EXPECT_EQ(bench->Call("dcgmStartEmbedded", 1, &bench->handle), -7);
  EXPECT_EQ(bench->On("dcgmUpdateAllFields", 1), -1);
  bench->Tick(9 * kSecondUs);
  ASSERT_EQ(bench->Call("dcgmStartEmbedded", 1, &bench->handle), 0);
  WatchAll(*bench, {156, 230, 310, 312});
  const std::vector<Seen> after = bench->Read(kGpu, 0, {156, 230, 310, 312});
  EXPECT_LT(after[0].number, 700'000 * 2);
  EXPECT_EQ(after[1].status, -14);
  EXPECT_EQ(after[2].number, 0);
  EXPECT_EQ(after[3].number, 3) << "the board keeps aggregate counts";
}

TEST_P(DcgmFaults, NoEngineStartsWithAnotherDriverVersion) {
  const auto bench = Node("{at: 0s, kind: driver_mismatch, for: 5s}");
  ASSERT_EQ(bench->Call("dcgmInit"), 0);
  EXPECT_EQ(bench->Call("dcgmStartEmbedded", 1, &bench->handle), -7);
  bench->handle = abi::DCGM_EMBEDDED_HANDLE;
  EXPECT_EQ(bench->On("dcgmUpdateAllFields", 1), -1);
  bench->Tick(5 * kSecondUs);
  EXPECT_EQ(bench->Call("dcgmStartEmbedded", 1, &bench->handle), 0);
  EXPECT_EQ(Count(*bench, "dcgmGetAllDevices"), 8);
}

TEST_P(DcgmFaults, WithoutNvmlThereAreNoGpus) {
  const auto bench = Start("{at: 0s, kind: no_nvml, for: 5s}");
  EXPECT_EQ(Count(*bench, "dcgmGetAllDevices"), 0);
  const abi::dcgmFieldGrp_t fields = bench->MakeFieldGroup({150});
  EXPECT_EQ(bench->Watch(abi::DCGM_GROUP_ALL_GPUS, fields), 0);
  std::vector<Seen> seen;
  void* const user = &seen;
  long long next = 0;
  EXPECT_EQ(bench->On("dcgmGetValuesSince_v2", abi::dcgmGpuGrp_t{abi::DCGM_GROUP_ALL_GPUS}, fields,
                      0LL, &next, &SeeAll, user),
            -35);
  auto hierarchy = std::make_unique<abi::dcgmMigHierarchy_v2>();
  hierarchy->version = abi::dcgmMigHierarchy_version2;
  EXPECT_EQ(bench->On("dcgmGetGpuInstanceHierarchy", hierarchy.get()), -56);
  bench->Tick(6 * kSecondUs);
  ASSERT_EQ(bench->On("dcgmStopEmbedded"), 0);
  ASSERT_EQ(bench->Call("dcgmStartEmbedded", 1, &bench->handle), 0);
  EXPECT_EQ(Count(*bench, "dcgmGetAllDevices"), 8);
}

// A value while a fault is in force.
struct ValueCase {
  const char* fault;  // From 5 s to 10 s, on GPU 0, fields 150, 155 and 54.
  int status;
  bool has_stamp;
  int64_t number;
  double real;
  const char* text;
};

TEST_P(DcgmFaults, ChangeTheValuesThatTheyName) {
  for (const ValueCase& c :
       {ValueCase{"blank", 0, true, kBlank + 2, abi::DCGM_FP64_BLANK + 2, "<<<NOT_SUPPORTED>>>"},
        ValueCase{"blank, reason: not_found", 0, true, kBlank + 1, abi::DCGM_FP64_BLANK + 1,
                  "<<<NOT_FOUND>>>"},
        ValueCase{"blank, reason: no_value", 0, true, kBlank, abi::DCGM_FP64_BLANK, "<<<NULL>>>"},
        ValueCase{"no_permission", 0, true, kBlank + 3, abi::DCGM_FP64_BLANK + 3, "<<<NOT_PERM>>>"},
        ValueCase{"nodata", -14, false, kBlank, abi::DCGM_FP64_BLANK, "<<<NULL>>>"},
        ValueCase{"error, target: value, code: -17", -17, false, kBlank, abi::DCGM_FP64_BLANK,
                  "<<<NULL>>>"}}) {
    const auto bench = Start(
        std::string("{at: 5s, for: 5s, gpu: 0, fields: [150, 155, 54], kind: ") + c.fault + "}");
    WatchAll(*bench, {150, 155, 54, 203});
    bench->Tick(6 * kSecondUs);
    const std::vector<Seen> seen = bench->Read(kGpu, 0, {150, 155, 54, 203});
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(seen[i].status, c.status) << c.fault;
      EXPECT_EQ(seen[i].ts, c.has_stamp ? bench->Stamp(6 * kSecondUs) : 0) << c.fault;
    }
    EXPECT_EQ(seen[0].number, c.number) << c.fault;
    EXPECT_EQ(seen[1].real, c.real) << c.fault;
    EXPECT_EQ(seen[2].text, c.text) << c.fault;
    EXPECT_LE(seen[3].number, 100) << c.fault << ": another field";
    EXPECT_LT(bench->Read(kGpu, 1, {150})[0].number, 100) << c.fault << ": another GPU";
    bench->Tick(5 * kSecondUs);
    EXPECT_LT(bench->Read(kGpu, 0, {150})[0].number, 100) << c.fault << ": afterwards";
  }
}

TEST_P(DcgmFaults, GarbageFillsStructsWithExtremeValues) {
  const auto bench = Start(
      "{at: 1s, kind: garbage, fields: [150, 155, 54], gpu: 0}, "
      "{at: 1s, kind: garbage, calls: [dcgmGetDeviceAttributes, dcgmGetGpuInstanceHierarchy], "
      "fields: [1]}");
  WatchAll(*bench, {150, 155, 54, 203});
  bench->Tick(2 * kSecondUs);
  std::array<unsigned short, 4> fields = {150, 155, 54, 203};
  std::vector<abi::dcgmFieldValue_v1> values(fields.size());
  ASSERT_EQ(bench->On("dcgmEntityGetLatestValues", kGpu, 0, fields.data(), 4U, values.data()), 0);
  EXPECT_EQ(values[0].value.i64, std::numeric_limits<int64_t>::max());
  EXPECT_TRUE(std::isnan(values[1].value.dbl));
  EXPECT_EQ(std::memchr(values[2].value.str, 0, sizeof(values[2].value.str)), nullptr);
  EXPECT_LE(values[3].value.i64, 100) << "another field";
  const auto attributes = Attributes(*bench, 0);
  EXPECT_EQ(attributes->version, abi::dcgmDeviceAttributes_version3);
  EXPECT_EQ(std::memchr(attributes->identifiers.uuid, 0, sizeof(attributes->identifiers.uuid)),
            nullptr);
  auto hierarchy = std::make_unique<abi::dcgmMigHierarchy_v2>();
  hierarchy->version = abi::dcgmMigHierarchy_version2;
  ASSERT_EQ(bench->On("dcgmGetGpuInstanceHierarchy", hierarchy.get()), 0);
  EXPECT_GT(hierarchy->count, 448U);
}

TEST_P(DcgmFaults, SamplesOfAForgottenWatchStop) {
  const auto bench = Start("{at: 5500ms, kind: watch_stale, gpu: 1, fields: [155], for: 10s}");
  WatchAll(*bench, {150, 155});
  bench->Tick(9 * kSecondUs);
  EXPECT_EQ(bench->Read(kGpu, 1, {155})[0].ts, bench->Stamp(5 * kSecondUs));
  EXPECT_EQ(bench->Read(kGpu, 1, {155})[0].status, 0);
  EXPECT_LT(bench->Read(kGpu, 1, {155})[0].real, 1'000);
  EXPECT_EQ(bench->Read(kGpu, 1, {150})[0].ts, bench->Stamp(9 * kSecondUs));
  EXPECT_EQ(bench->Read(kGpu, 0, {155})[0].ts, bench->Stamp(9 * kSecondUs));
  bench->Tick(7 * kSecondUs);
  EXPECT_EQ(bench->Read(kGpu, 1, {155})[0].ts, bench->Stamp(16 * kSecondUs));
}

TEST_P(DcgmFaults, GpusAreDisabledWhileTelemetryIsPaused) {
  const auto bench =
      Start("{at: 2s, kind: watch_stale, for: 2s}, {at: 6s, kind: watch_stale, gpu: 1, for: 2s}");
  bench->Tick(3 * kSecondUs);
  EXPECT_EQ(StatusOf(*bench, 0), abi::DcgmEntityStatusDisabled);
  bench->Tick(2 * kSecondUs);
  EXPECT_EQ(StatusOf(*bench, 0), abi::DcgmEntityStatusOk);
  bench->Tick(2 * kSecondUs);
  EXPECT_EQ(StatusOf(*bench, 1), abi::DcgmEntityStatusOk) << "the samples of one GPU stand still";
}

TEST_P(DcgmFaults, APartlyRefusedWatchIsRolledBack) {
  const auto bench = Start("{at: 0s, kind: watch_partial, for: 5s}");
  const abi::dcgmGpuGrp_t group = bench->MakeGroupOf(kGpu, 0);
  const abi::dcgmFieldGrp_t fields = bench->MakeFieldGroup({150, 230, 1001});
  EXPECT_EQ(bench->Watch(group, fields), -33);
  EXPECT_EQ(bench->Read(kGpu, 0, {1001})[0].status, -16);
  EXPECT_EQ(bench->Read(kGpu, 0, {230})[0].status, -16);
  EXPECT_EQ(bench->Read(kGpu, 0, {150})[0].status, 0);
  const int64_t first = bench->Read(kGpu, 0, {150})[0].ts;
  bench->Tick(6 * kSecondUs);
  EXPECT_EQ(bench->Read(kGpu, 0, {150})[0].ts, first) << "no watch samples the field";
  EXPECT_EQ(bench->Read(kGpu, 0, {1001})[0].status, -16);
  EXPECT_EQ(bench->Watch(group, fields), 0);
  EXPECT_EQ(bench->Read(kGpu, 0, {1001})[0].status, 0);
  EXPECT_NE(bench->Read(kGpu, 0, {150})[0].ts, first);
}

TEST_P(DcgmFaults, AnXidKeepsItsTime) {
  const auto bench = Start(
      "{at: 1500ms, kind: xid, gpu: 0, number: 31}, {at: 2s, kind: xid, gpu: 0, number: 63}, "
      "{at: 2s, kind: xid, gpu: 1, number: 48}");
  const abi::dcgmGpuGrp_t group = bench->MakeGroupOf(kGpu, 0);
  const abi::dcgmFieldGrp_t fields = bench->MakeFieldGroup({230});
  ASSERT_EQ(bench->Watch(group, fields), 0);
  EXPECT_EQ(bench->Read(kGpu, 0, {230})[0].status, -14);
  bench->Tick(60 * kSecondUs);
  const Seen seen = bench->Read(kGpu, 0, {230})[0];
  EXPECT_EQ(seen.status, 0);
  EXPECT_EQ(seen.number, 63);
  EXPECT_EQ(seen.ts, bench->Stamp(2 * kSecondUs));
  long long next = 0;
  std::vector<Seen> all;
  void* const user = &all;
  ASSERT_EQ(bench->On("dcgmGetValuesSince_v2", group, fields, 0LL, &next, &SeeAll, user), 0);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].number, 31);
  EXPECT_EQ(all[0].ts, bench->Stamp(1'500'000));
  EXPECT_EQ(all[1].number, 63);
  all.clear();
  ASSERT_EQ(bench->On("dcgmGetValuesSince_v2", group, fields, next, &next, &SeeAll, user), 0);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].status, -14) << "no event since then";
}

TEST_P(DcgmFaults, MemoryErrorsAreCounted) {
  const auto bench = Start(
      "{at: 1s, kind: ecc, gpu: 0, error: sbe, count: 7}, "
      "{at: 2s, kind: ecc, gpu: 0, error: dbe, count: 2}, "
      "{at: 2s, kind: ecc, gpu: 0, error: dbe, location: l2}");
  const std::vector<unsigned short> fields = {310, 311, 312, 313, 317, 319, 393, 394, 395, 396};
  WatchAll(*bench, fields);
  for (const Seen& seen : bench->Read(kGpu, 0, fields)) {
    EXPECT_EQ(seen.number, 0) << seen.field;
  }
  bench->Tick(3 * kSecondUs);
  std::vector<int64_t> counts;
  for (const Seen& seen : bench->Read(kGpu, 0, fields)) {
    counts.push_back(seen.number);
  }
  EXPECT_EQ(counts, (std::vector<int64_t>{7, 3, 7, 3, 1, 2, 3, 0, 0, 1}));
  EXPECT_EQ(bench->Read(kGpu, 1, {311})[0].number, 0);
}

TEST_P(DcgmFaults, ThePcieLinkReplaysAndShrinks) {
  const auto bench = Start("{at: 1s, kind: pcie, gpu: 0, replay: 5, gen: 3, width: 8, for: 5s}");
  const std::vector<unsigned short> fields = {202, 235, 236, 237, 238};
  WatchAll(*bench, fields);
  const auto read = [&] {
    std::vector<int64_t> numbers;
    for (const Seen& seen : bench->Read(kGpu, 0, fields)) {
      numbers.push_back(seen.number);
    }
    return numbers;
  };
  EXPECT_EQ(read(), (std::vector<int64_t>{0, 5, 16, 5, 16}));
  bench->Tick(2 * kSecondUs);
  EXPECT_EQ(read(), (std::vector<int64_t>{5, 5, 16, 3, 8}));
  bench->Tick(5 * kSecondUs);
  EXPECT_EQ(read(), (std::vector<int64_t>{5, 5, 16, 5, 16}));
}

TEST_P(DcgmFaults, LinksGoDownAndCountErrors) {
  const auto bench = Start(
      "{at: 1s, kind: nvlink, gpu: 0, link: 2, down: true, for: 5s}, "
      "{at: 1s, kind: nvlink, gpu: 0, link: 1, crc: 4, replay: 3, recovery: 2}");
  const std::vector<unsigned short> fields = {400, 401, 409, 411, 419, 421, 429, 431, 439};
  WatchAll(*bench, fields);
  bench->Tick(2 * kSecondUs);
  std::vector<int64_t> counts;
  for (const Seen& seen : bench->Read(kGpu, 0, fields)) {
    counts.push_back(seen.number);
  }
  EXPECT_EQ(counts, (std::vector<int64_t>{0, 4, 4, 4, 4, 3, 3, 2, 2}));
  const auto state = [&](uint32_t word, auto status) {
    status->version = word;
    EXPECT_EQ(bench->On("dcgmGetNvLinkLinkStatus", status.get()), 0);
    return std::array<int, 2>{status->gpus[0].linkState[2], status->gpus[0].linkState[3]};
  };
  const auto states = [&] {
    return GetParam() == 4 ? state(0x040039bc, std::make_unique<abi::dcgmNvLinkStatus_v4>())
                           : state(0x030015bc, std::make_unique<abi::dcgmNvLinkStatus_v3>());
  };
  EXPECT_EQ(states(), (std::array<int, 2>{2, 3}));
  bench->Tick(5 * kSecondUs);
  EXPECT_EQ(states(), (std::array<int, 2>{3, 3}));
}

TEST_P(DcgmFaults, ThrottlingAndHeatShowInTheirFields) {
  const auto bench = Start(
      "{at: 10s, kind: throttle, gpu: 0, why: thermal, factor: 0.5}, "
      "{at: 10s, kind: thermal, gpu: 0, ambient_c: 60}");
  const std::vector<unsigned short> fields = {100, 112, 241, 150, 140};
  WatchAll(*bench, fields);
  bench->Tick(9 * kSecondUs);
  const std::vector<Seen> before = bench->Read(kGpu, 0, fields);
  EXPECT_EQ(before[1].number, 0);
  EXPECT_EQ(before[2].number, 0);
  bench->Tick(60 * kSecondUs);
  const std::vector<Seen> after = bench->Read(kGpu, 0, fields);
  EXPECT_LE(after[0].number, before[0].number / 2);
  EXPECT_EQ(after[1].number, 0x20);
  EXPECT_EQ(after[2].number, 59 * 500'000'000LL);
  EXPECT_GT(after[3].number, before[3].number + 15);
  EXPECT_GT(after[4].number, before[4].number + 15);
}

TEST_P(DcgmFaults, StampsFollowAJumpingClock) {
  const auto bench = Start("{at: 5s, kind: clock_jump, s: -3600}");
  WatchAll(*bench, {150, 156});
  bench->Tick(4 * kSecondUs);
  const Seen before = bench->Read(kGpu, 0, {150})[0];
  EXPECT_EQ(before.ts, bench->Stamp(4 * kSecondUs));
  bench->Tick(2 * kSecondUs);
  EXPECT_EQ(bench->Read(kGpu, 0, {150})[0].ts, bench->Stamp(6 * kSecondUs) - 3'600 * kSecondUs);
}

TEST_P(DcgmFaults, MigSetLeavesNoValuesOfRemovedInstances) {
  const auto bench = Start("{at: 5s, kind: mig_set, gpu: 1, layout: [7g.80gb]}", kMig);
  const abi::dcgmGpuGrp_t group = bench->MakeGroupOf(abi::DCGM_FE_GPU_I, 7 + 3);
  ASSERT_EQ(bench->Watch(group, bench->MakeFieldGroup({250})), 0);
  EXPECT_EQ(bench->Read(abi::DCGM_FE_GPU_I, 10, {250})[0].status, 0);
  bench->Tick(6 * kSecondUs);
  EXPECT_EQ(bench->Read(abi::DCGM_FE_GPU_I, 10, {250})[0].status, -16);
  auto hierarchy = std::make_unique<abi::dcgmMigHierarchy_v2>();
  hierarchy->version = abi::dcgmMigHierarchy_version2;
  ASSERT_EQ(bench->On("dcgmGetGpuInstanceHierarchy", hierarchy.get()), 0);
  EXPECT_EQ(hierarchy->count, 2U);
  EXPECT_EQ(hierarchy->entityList[0].entity.entityId, 7U)
      << "the new instance gets the first number again";
}

}  // namespace
}  // namespace podgpu::sim
