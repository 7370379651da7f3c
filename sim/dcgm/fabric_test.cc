// Switches, links and CPUs of the DCGM face, in both generations: which exist, how they are
// connected, and that their numbers equal the world's.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_links.h"
#include "sim/testing/dcgm_client.h"
#include "sim/testing/dcgm_scenarios.h"

namespace podgpu::sim {
namespace {

constexpr int kLinkKind = abi::DCGM_FE_LINK;
constexpr int kSwitchKind = abi::DCGM_FE_SWITCH;
constexpr int kCpuKind = abi::DCGM_FE_CPU;
constexpr int kCoreKind = abi::DCGM_FE_CPU_CORE;
constexpr int64_t kMibitBytes = (1 << 20) / 8;

// The parameter is the library's generation.
class DcgmFabric : public testing::TestWithParam<int> {
 protected:
  DcgmFabric() : bench_(GetParam(), kFabric) { bench_.Start(); }

  // A port of a switch as an entity.
  static uint32_t Port(uint32_t nvswitch, uint32_t index) {
    return GetParam() == 4 ? abi::LinkEntityId(kSwitchKind, index, nvswitch)
                           : static_cast<uint32_t>(kSwitchKind) | (index << 8U) | (nvswitch << 16U);
  }

  std::vector<uint32_t> List(int kind) const {
    std::vector<uint32_t> ids(16);
    int count = 16;
    EXPECT_EQ(bench_.On("dcgmGetEntityGroupEntities", kind, ids.data(), &count, 0U), 0);
    ids.resize(static_cast<size_t>(count));
    return ids;
  }

  // The links that are up, per switch.
  template <typename Status>
  std::vector<std::vector<size_t>> PortsUp(uint32_t word) const {
    const auto status = std::make_unique<Status>();
    status->version = word;
    EXPECT_EQ(bench_.On("dcgmGetNvLinkLinkStatus", status.get()), 0);
    std::vector<std::vector<size_t>> up(status->numNvSwitches);
    for (uint32_t i = 0; i < status->numNvSwitches; ++i) {
      EXPECT_EQ(status->nvSwitches[i].entityId, i);
      for (size_t port = 0; port < std::size(status->nvSwitches[i].linkState); ++port) {
        if (status->nvSwitches[i].linkState[port] == abi::DcgmNvLinkLinkStateUp) {
          up[i].push_back(port);
        }
      }
    }
    return up;
  }

  double Busy(int gpu, TimeUs from) {
    return static_cast<double>(
               bench_.world().IntegrateOver(Integral::kSmPpmUs, {.gpu = gpu}, from, bench_.now())) /
           (static_cast<double>(bench_.now() - from) * 1e6);
  }

  DcgmBench bench_;
};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmFabric, testing::Values(4, 3),
                         [](const auto& generation) {
                           return "so" + std::to_string(generation.param);
                         });

TEST_P(DcgmFabric, ListsSwitchesCpusAndCores) {
  EXPECT_EQ(List(kSwitchKind), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(List(kCpuKind), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(List(kCoreKind), (std::vector<uint32_t>{0, 1, 2, 3, 4}));
}

TEST_P(DcgmFabric, ConnectsLinksToSwitchesAndReportsTheLinkThatIsDown) {
  const std::vector<std::vector<size_t>> expected = {{0, 1, 2, 3, 4, 5}, {0, 1, 3}};
  EXPECT_EQ(GetParam() == 4 ? PortsUp<abi::dcgmNvLinkStatus_v4>(abi::dcgmNvLinkStatus_version4)
                            : PortsUp<abi::dcgmNvLinkStatus_v3>(abi::dcgmNvLinkStatus_version3),
            expected);
}

TEST_P(DcgmFabric, ReportsTheCoresOfACpu) {
  const auto cpus = std::make_unique<abi::dcgmCpuHierarchy_v1>();
  cpus->version = abi::dcgmCpuHierarchy_version1;
  ASSERT_EQ(bench_.On("dcgmGetCpuHierarchy", cpus.get()), 0);
  ASSERT_EQ(cpus->numCpus, 2U);
  EXPECT_EQ(cpus->cpus[0].ownedCores.bitmask[0], 0b00011U);
  EXPECT_EQ(cpus->cpus[1].ownedCores.bitmask[0], 0b11100U);
  EXPECT_EQ(cpus->cpus[1].cpuId, 1U);
}

TEST_P(DcgmFabric, SwitchesSendTheBytesThatGpusReceive) {
  bench_.Tick(10'000'000);
  int64_t from_switches = 0;
  int64_t from_ports = 0;
  for (const uint32_t nvswitch : {0U, 1U}) {
    from_switches += bench_.ReadLive(kSwitchKind, nvswitch, {861})[0].number;
    for (uint32_t port = 0; port < 6; ++port) {
      const Seen seen = bench_.ReadLive(kLinkKind, Port(nvswitch, port), {780})[0];
      const bool is_free = nvswitch == 1 && (port == 2 || port == 5);
      EXPECT_EQ(seen.number == abi::DCGM_INT64_NOT_SUPPORTED, is_free) << nvswitch << " " << port;
      from_ports += is_free ? 0 : seen.number;
    }
  }
  const auto received = static_cast<int64_t>(
      bench_.world().Integrate(Integral::kNvlinkRxBytes, {.gpu = 0}, bench_.now()) / 1'000'000 /
      kMibitBytes);
  EXPECT_GT(received, 0);
  EXPECT_NEAR(static_cast<double>(from_switches), static_cast<double>(received), 2);
  EXPECT_NEAR(static_cast<double>(from_ports), static_cast<double>(received), 10);
}

TEST_P(DcgmFabric, BothEndsOfALinkCountItsErrors) {
  bench_.Tick(1'000'000);
  const std::vector<Seen> seen = bench_.ReadLive(kLinkKind, Port(1, 4), {787, 870, 876, 878});
  EXPECT_EQ(seen[0].number, 7);
  EXPECT_EQ(seen[1].number, abi::DcgmNvLinkLinkStateDown);
  EXPECT_EQ(seen[2].number, 3);
  EXPECT_EQ(seen[3].text, bench_.world().gpu(1).uuid);
}

TEST_P(DcgmFabric, ACpuIsAsBusyAsTheMeanOfItsCores) {
  const auto fields = bench_.MakeFieldGroup({1100, 1101, 1110, 150});
  const abi::dcgmGpuGrp_t group = bench_.MakeGroupOf(kCpuKind, 1);
  for (const uint32_t core : {2U, 3U, 4U}) {
    ASSERT_EQ(bench_.On("dcgmGroupAddEntity", group, kCoreKind, core), 0);
  }
  ASSERT_EQ(bench_.Watch(group, fields), 0);
  bench_.Tick(1'500'000);
  const TimeUs sampled = 1'000'000;
  EXPECT_EQ(bench_.Read(kCoreKind, 2, {1100})[0].ts, bench_.Stamp(sampled));
  double sum = 0;
  for (const uint32_t core : {2U, 3U, 4U}) {
    const std::vector<Seen> seen = bench_.Read(kCoreKind, core, {1100, 1101, 1110});
    const double busy = core % 2 == 0 ? Busy(0, 0) : 0;
    EXPECT_NEAR(seen[0].real, busy * 21 / 64, 1e-9) << core;
    EXPECT_NEAR(seen[1].real, busy * 16 / 64, 1e-9) << core;
    EXPECT_EQ(seen[2].real, abi::DCGM_FP64_BLANK + 2) << "a core has no temperature";
    sum += seen[0].real;
  }
  const std::vector<Seen> cpu = bench_.Read(kCpuKind, 1, {1100, 1110, 150});
  EXPECT_GT(sum, 0);
  EXPECT_NEAR(cpu[0].real, sum / 3, 1e-9);
  EXPECT_GT(cpu[1].real, 40);
  EXPECT_EQ(cpu[2].number, abi::DCGM_INT64_NOT_SUPPORTED) << "a CPU has no GPU temperature";
}

}  // namespace
}  // namespace podgpu::sim
