// What dcgmHealthCheck reports during each fault that a health watch can find, in both generations.
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "sim/testing/dcgm_faults.h"

namespace podgpu::sim {
namespace {

constexpr int kPass = abi::DCGM_HEALTH_RESULT_PASS;
constexpr int kWarn = abi::DCGM_HEALTH_RESULT_WARN;
constexpr int kFail = abi::DCGM_HEALTH_RESULT_FAIL;
constexpr uint32_t kAllSystems = abi::DCGM_HEALTH_WATCH_ALL;
constexpr uint32_t kMem = abi::DCGM_HEALTH_WATCH_MEM;
constexpr uint32_t kPcieSystem = abi::DCGM_HEALTH_WATCH_PCIE;
constexpr uint32_t kNvlinkSystem = abi::DCGM_HEALTH_WATCH_NVLINK;
constexpr uint32_t kThermalSystem = abi::DCGM_HEALTH_WATCH_THERMAL;
constexpr char kTwoVolta[] = R"(format: 1
name: volta
seed: 3
noise_mw: 0
epoch: 2026-01-01T00:00:00Z
gpus: [{count: 2, class: v100-sxm2-32gb}]
)";

class DcgmHealthFaults : public DcgmFaults {
 protected:
  struct Verdict {
    int result;
    uint32_t code;
    bool operator==(const Verdict&) const = default;
  };
  struct Answer {
    int overall = -1;
    std::map<std::pair<uint32_t, uint32_t>, Verdict> found;  // By GPU and system.
    std::string message;                                     // The text of the last incident.
  };

  template <typename Response>
  static Answer CheckAs(const DcgmBench& bench, abi::dcgmGpuGrp_t group, uint32_t word) {
    const auto response = std::make_unique<Response>();
    response->version = word;
    EXPECT_EQ(bench.On("dcgmHealthCheck", group, response.get()), 0);
    Answer answer{.overall = response->overallHealth, .found = {}, .message = {}};
    for (uint32_t i = 0; i < response->incidentCount; ++i) {
      const abi::dcgmIncidentInfo_t& incident = response->incidents[i];
      EXPECT_EQ(incident.entityInfo.entityGroupId, kGpu);
      answer.found[{incident.entityInfo.entityId, incident.system}] = {incident.health,
                                                                       incident.error.code};
      answer.message = incident.error.msg;
    }
    EXPECT_EQ(answer.found.size(), response->incidentCount)
        << "each system and entity has one incident";
    return answer;
  }
  static Answer Check(const DcgmBench& bench, abi::dcgmGpuGrp_t group) {
    return GetParam() == 4
               ? CheckAs<abi::dcgmHealthResponse_v5>(bench, group, abi::dcgmHealthResponse_version5)
               : CheckAs<abi::dcgmHealthResponse_v4>(bench, group,
                                                     abi::dcgmHealthResponse_version4);
  }
  static abi::dcgmGpuGrp_t WatchHealth(const DcgmBench& bench, uint32_t systems = kAllSystems) {
    const abi::dcgmGpuGrp_t group = bench.MakeGroup(abi::DCGM_GROUP_DEFAULT);
    EXPECT_EQ(bench.On("dcgmHealthSet", group, systems), 0);
    return group;
  }
};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmHealthFaults, testing::Values(4, 3),
                         [](const auto& generation) {
                           return "so" + std::to_string(generation.param);
                         });

TEST_P(DcgmHealthFaults, AnUncorrectableErrorFailsTheMemoryUntilTheDriverIsReloaded) {
  const auto bench = Start(
      "{at: 5s, kind: ecc, gpu: 2, error: dbe, count: 3}, "
      "{at: 7s, kind: ecc, gpu: 3, error: sbe, count: 3}, "
      "{at: 20s, kind: driver_reload, for: 5s}");
  const abi::dcgmGpuGrp_t group = WatchHealth(*bench);
  EXPECT_EQ(Check(*bench, group).overall, kPass);
  bench->Tick(10 * kSecondUs);
  const Answer answer = Check(*bench, group);
  EXPECT_EQ(answer.overall, kFail);
  EXPECT_EQ(answer.found.size(), 1U);
  EXPECT_EQ(answer.found.at({2U, kMem}), (Verdict{kFail, 4}));
  EXPECT_NE(answer.message.find("3 uncorrectable memory errors on GPU 2"), std::string::npos);
  bench->Tick(20 * kSecondUs);
  EXPECT_EQ(Check(*bench, group).overall, kPass);
}

TEST_P(DcgmHealthFaults, APendingMemoryRepairIsAWarning) {
  const std::string faults =
      "{at: 1s, kind: ecc, gpu: 0, error: dbe, count: 1}, "
      "{at: 1s, kind: blank, gpu: 0, fields: [311], reason: not_supported}";
  for (const auto& [scenario, code] : {std::pair(kEightGpus, 85U), std::pair(kTwoVolta, 6U)}) {
    const auto bench = Start(faults, scenario);
    const abi::dcgmGpuGrp_t group = WatchHealth(*bench);
    bench->Tick(2 * kSecondUs);
    const Answer answer = Check(*bench, group);
    EXPECT_EQ(answer.overall, kWarn);
    EXPECT_EQ(answer.found.at({0U, kMem}), (Verdict{kWarn, code}));
  }
}

TEST_P(DcgmHealthFaults, ReplaysAreCountedPerMinute) {
  const auto bench =
      Start("{at: 10s, kind: pcie, gpu: 1, replay: 9}, {at: 10s, kind: pcie, gpu: 2, replay: 8}");
  const abi::dcgmGpuGrp_t group = WatchHealth(*bench);
  bench->Tick(59 * kSecondUs);
  EXPECT_EQ(Check(*bench, group).overall, kPass) << "the watch has not lasted a minute";
  bench->Tick(1 * kSecondUs);
  const Answer answer = Check(*bench, group);
  EXPECT_EQ(answer.overall, kWarn);
  EXPECT_EQ(answer.found.size(), 1U);
  EXPECT_EQ(answer.found.at({1U, kPcieSystem}), (Verdict{kWarn, 3}));
  bench->Tick(10 * kSecondUs);
  EXPECT_EQ(Check(*bench, group).overall, kPass) << "the replays are a minute old";
}

TEST_P(DcgmHealthFaults, ALinkThatIsDownFailsUntilItIsUp) {
  const auto bench = Start("{at: 5s, kind: nvlink, gpu: 4, link: 7, down: true, for: 10s}");
  const abi::dcgmGpuGrp_t group = WatchHealth(*bench);
  bench->Tick(6 * kSecondUs);
  const Answer answer = Check(*bench, group);
  EXPECT_EQ(answer.found.at({4U, kNvlinkSystem}), (Verdict{kFail, 14}));
  EXPECT_EQ(answer.message, "NVLink 7 is down on GPU 4");
  bench->Tick(10 * kSecondUs);
  EXPECT_EQ(Check(*bench, group).overall, kPass);
}

TEST_P(DcgmHealthFaults, LinkErrorsWarnOrFailByTheirKind) {
  const auto bench = Start(
      "{at: 5s, kind: nvlink, gpu: 0, link: 0, crc: 5999}, "
      "{at: 5s, kind: nvlink, gpu: 1, link: 0, crc: 6000}, "
      "{at: 5s, kind: nvlink, gpu: 2, link: 0, replay: 1}, "
      "{at: 5s, kind: nvlink, gpu: 3, link: 0, recovery: 1, crc: 9000}");
  const abi::dcgmGpuGrp_t group = WatchHealth(*bench, kNvlinkSystem);
  bench->Tick(6 * kSecondUs);
  const Answer answer = Check(*bench, group);
  EXPECT_EQ(answer.overall, kFail);
  EXPECT_EQ(answer.found.at({0U, kNvlinkSystem}), (Verdict{kWarn, 13}));
  EXPECT_EQ(answer.found.at({1U, kNvlinkSystem}), (Verdict{kFail, 70}));
  EXPECT_EQ(answer.found.at({2U, kNvlinkSystem}), (Verdict{kWarn, 13}));
  EXPECT_EQ(answer.found.at({3U, kNvlinkSystem}), (Verdict{kFail, 71}));
  bench->Tick(60 * kSecondUs);
  EXPECT_EQ(Check(*bench, group).overall, kPass);
}

TEST_P(DcgmHealthFaults, ThrottlingByHeatIsAWarning) {
  const auto bench = Start(
      "{at: 5s, kind: thermal, gpu: 0, ambient_c: 95, for: 200s}, "
      "{at: 5s, kind: throttle, gpu: 1, why: thermal, factor: 0.5, for: 70s}, "
      "{at: 5s, kind: throttle, gpu: 2, why: hw, factor: 0.5, for: 200s}");
  const abi::dcgmGpuGrp_t group = WatchHealth(*bench);
  bench->Tick(59 * kSecondUs);
  EXPECT_EQ(Check(*bench, group).overall, kPass) << "the watch has not lasted a minute";
  bench->Tick(61 * kSecondUs);
  const Answer answer = Check(*bench, group);
  EXPECT_EQ(answer.overall, kWarn);
  EXPECT_EQ(answer.found.size(), 2U);
  EXPECT_EQ(answer.found.at({0U, kThermalSystem}), (Verdict{kWarn, 10}));
  EXPECT_EQ(answer.found.at({1U, kThermalSystem}), (Verdict{kWarn, 10}));
  bench->Tick(20 * kSecondUs);
  EXPECT_EQ(Check(*bench, group).found.size(), 1U) << "the throttling is a minute old";
  bench->Tick(300 * kSecondUs);
  EXPECT_EQ(Check(*bench, group).overall, kPass);
}

TEST_P(DcgmHealthFaults, OnlyTheSystemsThatWereSetAreChecked) {
  const auto bench = Start("{at: 5s, kind: nvlink, gpu: 0, link: 0, down: true}");
  bench->Tick(6 * kSecondUs);
  const abi::dcgmGpuGrp_t never = bench->MakeGroup(abi::DCGM_GROUP_DEFAULT);
  EXPECT_EQ(Check(*bench, never).overall, kPass);
  EXPECT_EQ(Check(*bench, WatchHealth(*bench, kAllSystems & ~kNvlinkSystem)).overall, kPass);
  EXPECT_EQ(Check(*bench, WatchHealth(*bench, kNvlinkSystem)).overall, kFail);
  const abi::dcgmGpuGrp_t all_gpus = abi::DCGM_GROUP_ALL_GPUS;
  EXPECT_EQ(Check(*bench, all_gpus).overall, kPass);
  ASSERT_EQ(bench->On("dcgmHealthSet", all_gpus, kAllSystems), 0);
  EXPECT_EQ(Check(*bench, all_gpus).overall, kFail) << "the built-in group is also watched";
  ASSERT_EQ(bench->On("dcgmHealthSet", all_gpus, 0U), 0);
  EXPECT_EQ(Check(*bench, all_gpus).overall, kPass);
}

TEST_P(DcgmHealthFaults, AHealthyNodeHasNoIncidentsAndAWrongVersionWordIsRefused) {
  const auto bench = Start("{at: 60s, kind: nvlink, gpu: 0, link: 0, down: true}");
  const auto response = std::make_unique<abi::dcgmHealthResponse_v5>();
  response->version = abi::dcgmHealthResponse_version5 + (1U << 24U);
  const abi::dcgmGpuGrp_t never = bench->MakeGroup(abi::DCGM_GROUP_DEFAULT);
  EXPECT_EQ(bench->On("dcgmHealthCheck", never, response.get()), abi::DCGM_ST_VER_MISMATCH);
  for (const abi::dcgmGpuGrp_t group : {never, WatchHealth(*bench)}) {
    const Answer answer = Check(*bench, group);
    EXPECT_EQ(answer.overall, kPass);
    EXPECT_TRUE(answer.found.empty());
  }
}

TEST_P(DcgmHealthFaults, ALostGpuHasNoIncidents) {
  const auto bench = Start(
      "{at: 5s, kind: nvlink, gpu: 0, link: 0, down: true}, "
      "{at: 10s, kind: gpu_lost, gpu: 0, for: 10s}");
  const abi::dcgmGpuGrp_t group = WatchHealth(*bench);
  bench->Tick(6 * kSecondUs);
  EXPECT_EQ(Check(*bench, group).overall, kFail);
  bench->Tick(6 * kSecondUs);
  EXPECT_EQ(Check(*bench, group).overall, kPass);
  bench->Tick(10 * kSecondUs);
  EXPECT_EQ(Check(*bench, group).overall, kFail);
}

}  // namespace
}  // namespace podgpu::sim
