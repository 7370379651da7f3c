// Undocumented behaviour of the real engine, each seen with DCGM 4.6.0: the groups that it makes
// itself, which fields a watch through an instance samples, rates over a gap between two watches,
// and how long some of its calls take.
#include <memory>
#include <string>
#include <sys/timerfd.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_connect.h"
#include "sim/testing/dcgm_client.h"
#include "sim/testing/dcgm_scenarios.h"
#include "sim/testing/engine.h"

namespace podgpu::sim {
namespace {

// Tells whether a time has passed since its construction.  On a busy machine a wait has a lower
// limit but no upper one.
class Stopwatch {
 public:
  explicit Stopwatch(int64_t ms)
      : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
    const itimerspec when{.it_interval = {},
                          .it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1'000'000}};
    EXPECT_EQ(timerfd_settime(timer_, 0, &when, nullptr), 0);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { close(timer_); }
  bool has_passed() const {
    uint64_t times = 0;
    return read(timer_, &times, sizeof(times)) == static_cast<ssize_t>(sizeof(times));
  }

 private:
  const int timer_;
};

// The parameter is the library's generation.
class DcgmEngineWays : public testing::TestWithParam<int> {
 protected:
  static std::unique_ptr<DcgmBench> Start(std::string_view scenario) {
    auto bench = std::make_unique<DcgmBench>(GetParam(), scenario);
    bench->Start();
    return bench;
  }
  static uint32_t FirstInstanceOf(DcgmBench& bench, int gpu) {
    return static_cast<uint32_t>(bench.world().instance(gpu, 0, bench.now()).dcgm_entity_id);
  }
};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmEngineWays, testing::Values(4, 3),
                         [](const auto& generation) {
                           return "so" + std::to_string(generation.param);
                         });

TEST_P(DcgmEngineWays, TheEngineHasAGroupOfAllGpusAndOneOfAllSwitchesFromTheStart) {
  const auto bench = Start(kFabric);
  const auto info = std::make_unique<abi::dcgmGroupInfo_v3>();  // The older struct fits into it.
  info->version = GetParam() == 4 ? abi::dcgmGroupInfo_version3 : abi::dcgmGroupInfo_version2;
  ASSERT_EQ(bench->On("dcgmGroupGetInfo", abi::dcgmGpuGrp_t{0}, info.get()), 0);
  EXPECT_EQ(info->count, 2U);
  EXPECT_STREQ(info->groupName, "DCGM_ALL_SUPPORTED_GPUS");
  EXPECT_EQ(info->entityList[1].entityGroupId, kGpu);
  for (const abi::dcgmGpuGrp_t switches : {1U, 0x7ffffffeU}) {
    ASSERT_EQ(bench->On("dcgmGroupGetInfo", switches, info.get()), 0);
    EXPECT_EQ(info->count, 2U);
    EXPECT_STREQ(info->groupName, "DCGM_ALL_SUPPORTED_NVSWITCHES");
    EXPECT_EQ(info->entityList[1].entityGroupId, abi::DCGM_FE_SWITCH);
  }
  EXPECT_EQ(bench->MakeGroup(), 2U) << "ids follow those of the engine's own groups";
}

TEST_P(DcgmEngineWays, BothIdsOfABuiltInGroupNameTheSameGroup) {
  const auto bench = Start(kEightGpus);
  const abi::dcgmFieldGrp_t fields = bench->MakeFieldGroup({150});
  const abi::dcgmGpuGrp_t by_number = 0;
  const abi::dcgmGpuGrp_t by_constant = abi::DCGM_GROUP_ALL_GPUS;
  ASSERT_EQ(bench->Watch(by_number, fields), 0);
  EXPECT_EQ(bench->Read(kGpu, 7, {150})[0].status, 0);
  EXPECT_EQ(bench->On("dcgmUnwatchFields", by_constant, fields), 0);
  EXPECT_EQ(bench->On("dcgmUnwatchFields", by_number, fields), -16);
}

TEST_P(DcgmEngineWays, AWatchThroughAnInstanceMakesGpuLevelFieldsReadableOnItsGpu) {
  const auto bench = Start(kMig);
  const uint32_t id = FirstInstanceOf(*bench, 1);
  ASSERT_EQ(bench->Watch(bench->MakeGroupOf(kInstance, id),
                         bench->MakeFieldGroup({51, 53, 55, 85, 155, 251})),
            0);
  const GpuFacts& facts = bench->world().gpu(1);
  const std::vector<Seen> seen = bench->Read(kGpu, 1, {51, 53, 55, 85, 155, 251});
  EXPECT_EQ(seen[0].text, facts.brand);
  EXPECT_EQ(seen[1].text, facts.serial);
  EXPECT_EQ(seen[2].number, facts.minor_number);
  EXPECT_EQ(seen[3].text, facts.vbios);
  EXPECT_EQ(seen[4].status, 0);
  EXPECT_EQ(seen[5].status, -16) << "memory belongs to each instance";
  EXPECT_EQ(bench->Read(kInstance, id, {155, 251})[1].status, 0);
  EXPECT_EQ(bench->Read(kGpu, 0, {51})[0].status, -16);
}

TEST_P(DcgmEngineWays, FieldsOfVirtualGpusHaveNoDataOnAHostWithoutVirtualGpus) {
  const auto bench = Start(kEightGpus);
  ASSERT_EQ(bench->Watch(bench->MakeGroupOf(kGpu, 0), bench->MakeFieldGroup({522, 523, 524})), 0);
  bench->Tick(2 * kSecondUs);
  for (const Seen& value : bench->Read(kGpu, 0, {522, 523, 524})) {
    EXPECT_EQ(value.status, -14) << value.field;
    EXPECT_EQ(value.ts, 0) << value.field;
  }
}

TEST_P(DcgmEngineWays, RatesContinueWhenAFieldIsWatchedAgain) {
  const auto bench = Start(kEightGpus);
  const abi::dcgmGpuGrp_t group = bench->MakeGroupOf(kGpu, 0);
  const abi::dcgmFieldGrp_t before = bench->MakeFieldGroup({1002}, "before");
  ASSERT_EQ(bench->Watch(group, before, 10 * kSecondUs), 0);
  bench->Tick(10 * kSecondUs);
  ASSERT_EQ(bench->On("dcgmUnwatchFields", group, before), 0);
  bench->Tick(kSecondUs);
  ASSERT_EQ(bench->Watch(group, bench->MakeFieldGroup({1002}, "after"), 10 * kSecondUs), 0);
  const Seen seen = bench->Read(kGpu, 0, {1002})[0];
  EXPECT_EQ(seen.ts, bench->Stamp(11 * kSecondUs));
  EXPECT_LT(seen.real, 1.0) << "the rate is a number, not the blank of a first sample";
}

TEST_P(DcgmEngineWays, ReadingOverTcpWaitsForADelayedAcknowledgement) {
  DcgmBench bench(GetParam(), kEightGpus);
  const TestEngine engine(bench.node().path(), 1);
  ASSERT_EQ(bench.Call("dcgmInit"), 0);
  abi::dcgmConnectV2Params_v2 params{.version = abi::dcgmConnectV2Params_version2,
                                     .persistAfterDisconnect = 0,
                                     .timeoutMs = 60'000,
                                     .addressIsUnixSocket = 0};
  const std::string address = EngineAddressIn(bench.node().path());
  ASSERT_EQ(bench.Call("dcgmConnect_v2", address.c_str(), &params, &bench.handle), 0);
  ASSERT_EQ(bench.Watch(bench.MakeGroupOf(kGpu, 0), bench.MakeFieldGroup({150})), 0);
  bench.node().writer().SetEngineDelays(true);
  abi::dcgmGroupEntityPair_t gpu{kGpu, 0};
  unsigned short field = 150;
  abi::dcgmFieldValue_v2 value{};
  const Stopwatch least(43);
  ASSERT_EQ(bench.On("dcgmEntitiesGetLatestValues", &gpu, 1U, &field, 1U, 0U, &value), 0);
  EXPECT_TRUE(least.has_passed());
  EXPECT_EQ(value.status, 0);
}

TEST_P(DcgmEngineWays, AnEmbeddedEngineTakesASecondAndAHalfToStop) {
  const auto bench = Start(kEightGpus);
  bench->node().writer().SetEngineDelays(true);
  const Stopwatch least(1'500 / DcgmBench::kTimeScale);
  EXPECT_EQ(bench->Call("dcgmShutdown"), 0);
  EXPECT_TRUE(least.has_passed());
  EXPECT_EQ(bench->On("dcgmUpdateAllFields", 1), -21);
}

}  // namespace
}  // namespace podgpu::sim
