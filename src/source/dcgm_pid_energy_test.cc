#include "source/dcgm_pid_energy.h"

#include <gtest/gtest.h>

#include "source/testing/dcgm_node.h"

namespace podgpu {
namespace {

// Two GPUs whose engine is asked about the pids on a board.
struct AskedNode : Node {
  AskedNode() : Node(2) {
    dcgm.pid_energy_mj = {{41, {{0, 5'000}}}, {42, {{0, 5'000}, {1, 7'000}}}};
    Want({41, 42, 43});
  }
  void Want(std::vector<uint32_t> pids) {
    board->asked.Set(std::make_shared<const std::vector<uint32_t>>(std::move(pids)));
  }
  const Findings& Read() {
    clock.Advance(std::chrono::seconds(1));
    if (grid == nullptr) {
      made = std::make_unique<DcgmSource>(
          dcgm.Library(), DcgmSourceOptions{.endpoint = place, .pid_energy = board},
          NvmlIdentity([this]() -> StatusOr<abi::NvmlLibrary> { return nvml.Library(); }), clock);
      grid = Start({kTemperatureId});
    }
    grid->Clear(Absence::kNotRead);
    status = source().Read(*grid);
    return grid->findings;
  }
  // "41 GPU-0 5000", one a line.
  std::string Told() const {
    std::string text;
    if (const auto told = board->told.Get()) {
      for (const DcgmEnergy& energy : *told) {
        text += std::to_string(energy.pid) + " " + energy.uuid + " " +
                std::to_string(energy.energy_mj) + "\n";
      }
    }
    return text;
  }

  const std::shared_ptr<DcgmEnergyBoard> board = std::make_shared<DcgmEnergyBoard>();
  std::unique_ptr<Grid> grid;
  Status status;
};

TEST(DcgmPidEnergy, IsWatchedOnceAndTellsWhatTheEngineSays) {
  AskedNode node;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(node.Read().note, nullptr);
    ASSERT_TRUE(node.status.ok()) << node.status;
    EXPECT_EQ(node.Told(), "41 GPU-0 5000\n42 GPU-0 5000\n42 GPU-1 7000\n") << "and 43 is unknown";
  }
  EXPECT_EQ(node.dcgm.CountOf("dcgmWatchPidFields"), 1);
  EXPECT_EQ(node.dcgm.CountOf("dcgmGetPidInfo"), 9);
  node.Want({42});
  node.Read();
  EXPECT_EQ(node.Told(), "42 GPU-0 5000\n42 GPU-1 7000\n");
}

TEST(DcgmPidEnergy, AsksNothingUnlessItIsAsked) {
  AskedNode node;
  node.board->asked.Set(nullptr);
  node.Read();
  EXPECT_TRUE(node.status.ok());
  EXPECT_EQ(node.dcgm.CountOf("dcgmWatchPidFields"), 0);
}

TEST(DcgmPidEnergy, ManyAreAskedInTurns) {
  AskedNode node;
  std::vector<uint32_t> pids;
  for (uint32_t pid = 100; pid < 150; ++pid) {
    pids.push_back(pid);
    node.dcgm.pid_energy_mj[pid] = {{0, pid}};
  }
  node.Want(pids);
  node.Read();
  EXPECT_EQ(node.dcgm.CountOf("dcgmGetPidInfo"), 32);
  node.Read();
  EXPECT_EQ(node.board->told.Get()->size(), 50U);
}

TEST(DcgmPidEnergy, WhatIsBlankOrCannotBeIsAbsent) {
  AskedNode node;
  node.Want({41});
  node.dcgm.pid_energy_mj = {{41, {{0, abi::DCGM_INT64_BLANK}, {1, -1}, {9, 5}}}};
  node.Read();
  EXPECT_EQ(node.Told(), "");
  FakeFault garbage;
  garbage.spoil = [](std::span<const FakeOut> outs) {
    for (const FakeOut& out : outs) {
      std::ranges::fill(std::span(static_cast<uint8_t*>(out.bytes), out.size), uint8_t{0x7f});
    }
  };
  node.dcgm.pid_energy_mj = {{41, {{0, 5}}}};
  node.dcgm.Inject("dcgmGetPidInfo", garbage);
  const Findings& findings = node.Read();
  EXPECT_TRUE(node.status.ok()) << "all else is read";
  EXPECT_EQ(node.Told(), "");
  ASSERT_NE(findings.note, nullptr);
  EXPECT_EQ(findings.note->text, "energy of processes: tells of a process what cannot be");
  node.dcgm.Heal("dcgmGetPidInfo");
  EXPECT_EQ(node.Read().note, nullptr);
  EXPECT_EQ(node.Told(), "41 GPU-0 5\n");
}

TEST(DcgmPidEnergy, ARefusalCostsItsRowsAloneAndSaysWhatHelps) {
  AskedNode node;
  node.dcgm.Fail("dcgmWatchPidFields", abi::DCGM_ST_REQUIRES_ROOT);
  const Findings& findings = node.Read();
  EXPECT_TRUE(node.status.ok()) << node.status;
  ASSERT_NE(findings.note, nullptr);
  EXPECT_NE(findings.note->text.find("Run the engine as root"), std::string::npos)
      << findings.note->text;
  EXPECT_EQ(node.Told(), "");
  const size_t groups = node.dcgm.group_count();
  node.Read();
  EXPECT_EQ(node.dcgm.group_count(), groups) << "none is left behind";
  node.dcgm.Heal("dcgmWatchPidFields");
  node.Read();
  EXPECT_NE(node.Told(), "");
}

TEST(DcgmPidEnergy, AnOldLibraryLacksIt) {
  AskedNode node;
  node.dcgm.without = {abi::DcgmCapability::kProcesses};
  const Findings& findings = node.Read();
  ASSERT_NE(findings.note, nullptr);
  EXPECT_NE(findings.note->text.find("lacks dcgmWatchPidFields"), std::string::npos);
}

TEST(DcgmPidEnergy, IsWatchedAnewWhenTheEngineHasForgottenIt) {
  AskedNode node;
  node.Read();
  node.dcgm.Fail("dcgmGetPidInfo", abi::DCGM_ST_NOT_WATCHED, 1);
  node.Read();
  EXPECT_TRUE(node.status.ok());
  node.Read();
  EXPECT_EQ(node.dcgm.CountOf("dcgmWatchPidFields"), 2);
  EXPECT_NE(node.Told(), "");
  node.dcgm.Kill();
  node.Read();
  EXPECT_FALSE(node.status.ok());
  EXPECT_EQ(node.Told(), "") << "nothing old stays";
}

}  // namespace
}  // namespace podgpu
