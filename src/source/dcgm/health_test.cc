#include "source/dcgm/health.h"

#include <gtest/gtest.h>

#include "source/testing/dcgm_node.h"

namespace podgpu {
namespace {

// A node on which each reading asks for health and paths.
struct WatchedNode : Node {
  explicit WatchedNode(int gpus = 2) : Node(gpus) {}

  const Findings& Read() {
    clock.Advance(std::chrono::seconds(1));
    if (grid == nullptr) {
      grid = Start({kTemperatureId});
    }
    grid->Clear(Absence::kNotRead);
    grid->findings.asked = {std::chrono::seconds(60), std::chrono::seconds(0), true, true};
    status = source().Read(*grid);
    return grid->findings;
  }
  void Report(uint32_t system, int result, uint32_t code, abi::dcgmGroupEntityPair_t entity) {
    dcgm.Change([&] { dcgm.incidents.push_back({system, result, {{}, code}, entity}); });
  }

  std::unique_ptr<Grid> grid;
  Status status;
};

constexpr size_t kThermal = 7;

TEST(DcgmHealth, IsWatchedOnceAndCheckedAtEachReading) {
  for (const abi::DcgmGeneration generation : {abi::DcgmGeneration::k3, abi::DcgmGeneration::k4}) {
    WatchedNode node;
    node.dcgm.generation = generation;
    node.Read();
    for (int i = 0; i < 3; ++i) {
      const Findings& findings = node.Read();
      ASSERT_TRUE(node.status.ok()) << node.status;
      ASSERT_EQ(findings.health.size(), 2U);
      for (const GpuHealth& gpu : findings.health) {
        EXPECT_TRUE(gpu.is_known);
        EXPECT_EQ(gpu.watches[kThermal], HealthVerdict{});
      }
    }
    EXPECT_EQ(node.dcgm.CountOf("dcgmHealthSet"), 1);
    EXPECT_EQ(node.dcgm.CountOf("dcgmHealthCheck"), 4);
    EXPECT_EQ(node.source()
                  .Watch(node.grid->topology(), node.grid->fields(), std::chrono::seconds(2))
                  .ok(),
              true);
    node.Read();
    EXPECT_EQ(node.dcgm.CountOf("dcgmHealthSet"), 1) << "a reload keeps the watches";
  }
}

TEST(DcgmHealth, UsesTheLastIncidentOfEachGpuAndSystem) {
  WatchedNode node;
  node.AddMig();
  node.Report(abi::DCGM_HEALTH_WATCH_THERMAL, 10, 10, {abi::DCGM_FE_GPU, 1});
  node.Report(abi::DCGM_HEALTH_WATCH_THERMAL, 20, 40, {abi::DCGM_FE_GPU, 1});
  node.Report(abi::DCGM_HEALTH_WATCH_ALL, 20, 101, {abi::DCGM_FE_GPU, 0});
  node.Report(abi::DCGM_HEALTH_WATCH_MEM, 20, 4, {abi::DCGM_FE_GPU_I, 1});  // Not a GPU.
  node.Report(abi::DCGM_HEALTH_WATCH_MEM, 20, 4, {abi::DCGM_FE_GPU, 9});    // Not on this node.
  node.Report(abi::DCGM_HEALTH_WATCH_NVSWITCH_FATAL, 20, 15, {abi::DCGM_FE_GPU, 0});
  node.Report(abi::DCGM_HEALTH_WATCH_PCIE | abi::DCGM_HEALTH_WATCH_MEM, 20, 4,
              {abi::DCGM_FE_GPU, 0});
  const std::vector<GpuHealth>& health = node.Read().health;
  ASSERT_EQ(health.size(), 2U);
  EXPECT_EQ(health[1].watches[kThermal], (HealthVerdict{20, 40, 1, 9}));
  EXPECT_EQ(health[0].watches[kHealthWatchCount - 1], (HealthVerdict{20, 101, 3, -1}))
      << "the library does not know the code";
  size_t failing = 0;
  for (const GpuHealth& gpu : health) {
    failing += static_cast<size_t>(std::ranges::count_if(
        gpu.watches, [](const HealthVerdict& verdict) { return verdict.result != 0; }));
  }
  EXPECT_EQ(failing, 2U);
}

TEST(DcgmHealth, HasNoKindsWhereTheLibraryDoesNotTellThem) {
  WatchedNode node;
  node.dcgm.without = {abi::DcgmCapability::kErrorKinds};
  node.Report(abi::DCGM_HEALTH_WATCH_THERMAL, 10, 40, {abi::DCGM_FE_GPU, 1});
  EXPECT_EQ(node.Read().health[1].watches[kThermal], (HealthVerdict{10, 40, -1, -1}));
}

TEST(DcgmHealth, IsUnknownForALostGpuUntilItIsBack) {
  WatchedNode node;
  node.dcgm.gpus[1].status = abi::DcgmEntityStatusLost;
  const Findings& findings = node.Read();
  ASSERT_TRUE(node.status.ok()) << node.status;
  EXPECT_TRUE(findings.health[0].is_known);
  EXPECT_FALSE(findings.health[1].is_known);
  node.dcgm.Change([&] { node.dcgm.gpus[1].status = abi::DcgmEntityStatusOk; });
  node.grid = node.Start({kTemperatureId});
  EXPECT_TRUE(node.Read().health[1].is_known);
}

TEST(DcgmHealth, IsCheckedForAGpuThatWasBoundAgain) {
  WatchedNode node;
  node.Read();
  node.Report(abi::DCGM_HEALTH_WATCH_THERMAL, 10, 40, {abi::DCGM_FE_GPU, 1});
  node.dcgm.ForgetEntity(abi::DCGM_FE_GPU, 1);
  EXPECT_EQ(node.Read().health[1].watches[kThermal], (HealthVerdict{10, 40, 1, 9}));
}

TEST(DcgmHealth, AFailureRemovesOnlyItsOwnRows) {
  for (const char* call : {"dcgmHealthSet", "dcgmHealthCheck", "dcgmGetNvLinkP2PStatus"}) {
    WatchedNode node;
    node.dcgm.peers = {{5, 0}, {0, 5}};
    node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, kTemperatureId, 41);
    node.dcgm.Fail(call, abi::DCGM_ST_MODULE_NOT_LOADED);
    const Findings& findings = node.Read();
    EXPECT_TRUE(node.status.ok()) << call;
    EXPECT_TRUE(Cell(*node.grid, kTemperatureId, 0).present());
    const bool is_health = std::string_view(call).starts_with("dcgmHealth");
    EXPECT_EQ(findings.health.empty(), is_health) << call;
    EXPECT_EQ(findings.peers.empty(), !is_health) << call;
    ASSERT_NE(findings.note, nullptr) << call;
    EXPECT_TRUE(findings.note->is_fault);
    EXPECT_TRUE(findings.note->text.starts_with(is_health ? "health: " : "paths between GPUs: "))
        << findings.note->text;
    const std::shared_ptr<const FindingsNote> note = findings.note;
    EXPECT_EQ(node.Read().note, note) << "unchanged while the reason is the same";
    node.dcgm.Heal(call);
    node.Read();
    EXPECT_EQ(findings.health.size(), 2U) << call;
    EXPECT_EQ(findings.peers.size(), 4U) << call;
    EXPECT_EQ(findings.note, nullptr) << call;
  }
}

TEST(DcgmHealth, RejectsAnImpossibleAnswer) {
  for (const uint32_t count : {1025U, 0xffffffffU}) {
    WatchedNode node;
    FakeFault fault;
    fault.spoil = [count](std::span<const FakeOut> outs) {
      static_cast<abi::dcgmHealthResponse_v5*>(outs[0].bytes)->incidentCount = count;
    };
    node.dcgm.Inject("dcgmHealthCheck", fault);
    EXPECT_TRUE(node.Read().health.empty());
  }
  WatchedNode node;
  node.Report(abi::DCGM_HEALTH_WATCH_MEM, 15, 4, {abi::DCGM_FE_GPU, 0});
  EXPECT_TRUE(node.Read().health.empty()) << "an unknown verdict";
}

TEST(DcgmHealth, SetsTheWatchesAgainAfterALostConnection) {
  WatchedNode node;
  node.Read();
  node.dcgm.ForgetGroups();
  node.Read();
  EXPECT_TRUE(LostConnection(node.status)) << node.status;
  node.grid = node.Start({kTemperatureId});
  EXPECT_EQ(node.Read().health.size(), 2U);
  EXPECT_EQ(node.dcgm.CountOf("dcgmHealthSet"), 2);
}

TEST(DcgmPaths, AreReportedPerPairOfGpusAndAbsentWithoutLinks) {
  WatchedNode node;
  const Findings& without = node.Read();
  EXPECT_TRUE(without.peers.empty()) << "not supported";
  ASSERT_NE(without.note, nullptr);
  EXPECT_FALSE(without.note->is_fault);
  EXPECT_EQ(without.note->text, "paths between GPUs: no GPU here has an NVLink");
  node.dcgm.Change([&] { node.dcgm.peers = {{5, 2}, {0, 5}}; });
  EXPECT_EQ(node.Read().peers, (std::vector<int32_t>{5, 2, 0, 5}));
  node.dcgm.Change([&] { node.dcgm.peers = {{5, -2}, {0, 5}}; });
  EXPECT_TRUE(node.Read().peers.empty());
  node.dcgm.Change([&] { node.dcgm.peers = {{5}}; });
  EXPECT_TRUE(node.Read().peers.empty()) << "of unknown GPUs";
}

TEST(DcgmHealth, IsNotWatchedUnlessAsked) {
  WatchedNode node;
  node.Read();
  node.dcgm.ForgetCalls();
  node.grid->findings.asked = {};
  EXPECT_TRUE(node.source().Read(*node.grid).ok());
  EXPECT_EQ(node.dcgm.CountOf("dcgmHealthCheck"), 0);
  EXPECT_EQ(node.dcgm.CountOf("dcgmGetNvLinkP2PStatus"), 0);
}

}  // namespace
}  // namespace podgpu
