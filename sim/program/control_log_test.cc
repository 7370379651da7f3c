#include "sim/program/control_log.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "sim/testing/node.h"
#include "sim/world/run_directory.h"

namespace podgpu::sim {
namespace {

constexpr char kScenario[] =
    "format: 1\nname: test\nseed: 7\n"
    "gpus:\n  - {class: h100-sxm5-80gb}\n"
    "  - {class: h100-sxm5-80gb, mig: [{profile: 3g.40gb}, {profile: 1g.10gb}]}\n";

class ControlLogTest : public testing::Test {
 protected:
  ControlLogTest() : node_(kScenario) {
    std::string error;
    reader_ = RunDirectory::Open(node_.path(), error);
    EXPECT_NE(reader_, nullptr) << error;
  }

  std::string Read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(node_.path() + "/" + name).rdbuf();
    return text.str();
  }
  std::string Refusal(std::string_view text) {
    node_.folder().Write("control.yaml", text);
    const StatusOr<bool> accepted = AcceptControlFile(node_.writer());
    EXPECT_FALSE(accepted.ok()) << text;
    EXPECT_EQ(reader_->log_generation(), generation_) << "the old log stays";
    return std::string(accepted.status().message());
  }

  TestNode node_;
  std::unique_ptr<RunDirectory> reader_;
  uint64_t generation_ = 0;
};

TEST_F(ControlLogTest, ChangesAPowerLimitFromTheEntrysTimeOn) {
  ASSERT_TRUE(node_.writer().Tick(kSecondUs).ok());
  const StatusOr<TimeUs> at =
      AppendControl(node_.writer(), "kind: power_limit, gpu: 0, watts: 300", std::nullopt);
  ASSERT_TRUE(at.ok()) << at.status();
  EXPECT_EQ(*at, kSecondUs + 50'000);  // The shortest lead, with a manual clock.
  const World& world = reader_->world();
  EXPECT_EQ(world.PowerLimitMw(0, *at - 1), 700'000);
  EXPECT_EQ(world.PowerLimitMw(0, *at), 300'000);
  EXPECT_EQ(world.PowerLimitMw(1, *at), 700'000);
  EXPECT_EQ(Read("control.yaml"), "- {at: 1.05s, kind: power_limit, gpu: 0, watts: 300}\n");
}

TEST_F(ControlLogTest, KeepsEarlierEntriesAndEnergyThroughAMigChange) {
  ASSERT_TRUE(
      AppendControl(node_.writer(), "kind: power_limit, gpu: 0, watts: 300", 5 * kSecondUs).ok());
  const DeviceRef gpu{1, -1, -1};
  const Int128 before = reader_->world().Integrate(Integral::kEnergyNj, gpu, 9 * kSecondUs);
  const std::string uuid(reader_->world().compute(1, 0, 0, 0).mig_uuid);
  const StatusOr<TimeUs> at = AppendControl(
      node_.writer(), "kind: mig_set, gpu: 1, layout: [1g.10gb, 1g.10gb, 1g.10gb]", 10 * kSecondUs);
  ASSERT_TRUE(at.ok()) << at.status();
  const World& world = reader_->world();
  EXPECT_EQ(world.instance_count(1, *at - 1), 2);
  EXPECT_EQ(world.instance_count(1, *at), 3);
  EXPECT_NE(world.compute(1, 0, 0, *at).mig_uuid, uuid);
  EXPECT_EQ(world.Integrate(Integral::kEnergyNj, gpu, 9 * kSecondUs), before);
  EXPECT_GT(world.Integrate(Integral::kEnergyNj, gpu, 11 * kSecondUs), before);
  EXPECT_EQ(world.PowerLimitMw(0, *at), 300'000);
  EXPECT_EQ(reader_->log_generation(), 2U);
}

TEST_F(ControlLogTest, AppliesAnEditedFileAndMakesItsTimesAbsolute) {
  ASSERT_TRUE(node_.writer().Tick(10 * kSecondUs).ok());
  node_.folder().Write("control.yaml",
                       "# less power\n"
                       "- {at: now+2s, kind: power_limit, gpu: 0, watts: 250}\n"
                       "- at: 'now'\n  kind: power_limit\n  gpu: 1\n  watts: 400\n");
  const StatusOr<bool> accepted = AcceptControlFile(node_.writer());
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_TRUE(*accepted);
  EXPECT_EQ(Read("control.yaml"),
            "# less power\n"
            "- {at: 12s, kind: power_limit, gpu: 0, watts: 250}\n"
            "- at: '10.05s'\n  kind: power_limit\n  gpu: 1\n  watts: 400\n");
  EXPECT_EQ(reader_->world().PowerLimitMw(0, 12 * kSecondUs), 250'000);
  EXPECT_EQ(reader_->world().PowerLimitMw(1, 11 * kSecondUs), 400'000);
  const StatusOr<bool> again = AcceptControlFile(node_.writer());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(*again) << "the file that the log itself wrote is not an edit";
  EXPECT_EQ(reader_->log_generation(), 1U);
}

TEST_F(ControlLogTest, RefusesAnInvalidLogAndKeepsTheOldOne) {
  ASSERT_TRUE(node_.writer().Tick(10 * kSecondUs).ok());
  EXPECT_EQ(Refusal("- {at: 20s, kind: gpu_last, gpu: 0}\n"),
            "control.yaml:1:19: [0].kind: unknown kind of fault \"gpu_last\"; nearest is gpu_lost");
  EXPECT_EQ(Refusal("- {kind: mig_set, gpu: 0}\n"),
            "control.yaml:1:3: [0].at: missing; write at: now+2s or a world time");
  EXPECT_EQ(Refusal("- 5\n- {at: soon, kind: mig_set}\n"),
            "control.yaml:1:3: [0]: an entry is a map: {at: now+2s, kind: ...}\n"
            "control.yaml:2:8: [1].at: \"soon\" is not a time; write 90s, 1.5s, 200ms or now+2s");
  EXPECT_EQ(Refusal("at: 5s\n"),
            "control.yaml:1:1: the control log is a list of entries: - {at: now+2s, kind: ...}");
  EXPECT_EQ(Refusal("- {at: 5s, kind: power_limit, gpu: 0, watts: 300}\n"),
            "control.yaml:1:3: at 5s is past or too soon: world time is 10s. Write now+2s");
  EXPECT_EQ(Refusal("- {at: 20s, kind: power_limit, gpu: 9, watts: 300}\n").find("control.yaml:1:"),
            0U);
  EXPECT_EQ(Refusal("- {at: 20s\n").find("control.yaml:"), 0U);
}

TEST_F(ControlLogTest, AppliesAPendingEditBeforeACommand) {
  node_.folder().Write("control.yaml", "- {at: 5s, kind: power_limit, gpu: 1, watts: 250}\n");
  ASSERT_TRUE(
      AppendControl(node_.writer(), "kind: power_limit, gpu: 0, watts: 300", kSecondUs).ok());
  EXPECT_EQ(Read("control.yaml"),
            "- {at: 5s, kind: power_limit, gpu: 1, watts: 250}\n"
            "- {at: 1s, kind: power_limit, gpu: 0, watts: 300}\n");
  EXPECT_EQ(reader_->world().PowerLimitMw(1, 5 * kSecondUs), 250'000);
  const std::string wrong = "- {at: 9s, kind: xid, gpu: 1, number: 0}\n";
  node_.folder().Write("control.yaml", wrong);
  const StatusOr<TimeUs> refused =
      AppendControl(node_.writer(), "kind: power_limit, gpu: 0, watts: 200", 2 * kSecondUs);
  EXPECT_EQ(refused.status().message(),
            "control.yaml:1:39: [0].number: found '0'; must be a whole number from 1 to 999");
  EXPECT_EQ(Read("control.yaml"), wrong) << "a person's text is not overwritten";
}

TEST_F(ControlLogTest, RefusesChangesToEntriesThatHaveTakenEffect) {
  ASSERT_TRUE(
      AppendControl(node_.writer(), "kind: power_limit, gpu: 0, watts: 300", 5 * kSecondUs).ok());
  ASSERT_TRUE(
      AppendControl(node_.writer(), "kind: power_limit, gpu: 0, watts: 200", 90 * kSecondUs).ok());
  generation_ = 2;
  ASSERT_TRUE(node_.writer().Tick(10 * kSecondUs).ok());
  EXPECT_EQ(Refusal("- {at: 90s, kind: power_limit, gpu: 0, watts: 200}\n"),
            "control.yaml:1:1: the entry {at: 5s, kind: power_limit, gpu: 0, watts: 300} has taken "
            "effect and cannot change; restore it, and add an entry that undoes it");
  // An entry in the future may be removed.
  node_.folder().Write("control.yaml", "- {at: 5s, kind: power_limit, gpu: 0, watts: 300}\n");
  const StatusOr<bool> accepted = AcceptControlFile(node_.writer());
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_EQ(reader_->world().PowerLimitMw(0, 91 * kSecondUs), 300'000);
}

TEST_F(ControlLogTest, HealsWhatItChanged) {
  StatusOr<std::optional<TimeUs>> healed = HealControl(node_.writer(), std::nullopt);
  ASSERT_TRUE(healed.ok()) << healed.status();
  EXPECT_FALSE(healed->has_value()) << "nothing was changed yet";
  ASSERT_TRUE(
      AppendControl(node_.writer(), "kind: power_limit, gpu: 0, watts: 300", kSecondUs).ok());
  ASSERT_TRUE(
      AppendControl(node_.writer(), "kind: mig_set, gpu: 1, layout: [7g.80gb]", kSecondUs).ok());
  ASSERT_TRUE(
      AppendControl(node_.writer(), "kind: power_limit, gpu: 1, watts: 200", 90 * kSecondUs).ok());
  ASSERT_TRUE(node_.writer().Tick(10 * kSecondUs).ok());
  healed = HealControl(node_.writer(), std::nullopt);
  ASSERT_TRUE(healed.ok()) << healed.status();
  ASSERT_TRUE(healed->has_value());
  const World& world = reader_->world();
  const TimeUs at = **healed;
  EXPECT_EQ(world.PowerLimitMw(0, at - 1), 300'000);
  EXPECT_EQ(world.PowerLimitMw(0, at), 700'000);
  EXPECT_EQ(world.instance_count(1, at - 1), 1);
  EXPECT_EQ(world.instance_count(1, at), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(world.instance(1, i, at).profile, world.instance(1, i, 0).profile);
    EXPECT_EQ(world.instance(1, i, at).placement_start, world.instance(1, i, 0).placement_start);
  }
  EXPECT_EQ(world.PowerLimitMw(1, 91 * kSecondUs), 700'000);
}

TEST_F(ControlLogTest, HealsFaultsOfOneKindOrOfAll) {
  ASSERT_TRUE(AppendControl(node_.writer(), "kind: gpu_lost, gpu: 0", kSecondUs).ok());
  ASSERT_TRUE(AppendControl(node_.writer(), "kind: hang, calls: [\"*Get*\"]", kSecondUs).ok());
  ASSERT_TRUE(AppendControl(node_.writer(), "kind: watch_stale, gpu: 1, for: 5s", kSecondUs).ok());
  ASSERT_TRUE(AppendControl(node_.writer(), "kind: xid, gpu: 1, number: 31", kSecondUs).ok());
  ASSERT_TRUE(node_.writer().Tick(10 * kSecondUs).ok());
  StatusOr<std::optional<TimeUs>> healed = HealControl(node_.writer(), FaultKind::kGpuLost);
  ASSERT_TRUE(healed.ok() && healed->has_value()) << healed.status();
  EXPECT_EQ(reader_->world().FaultAt(FaultKind::kGpuLost, **healed), nullptr);
  EXPECT_NE(reader_->world().FaultAt(FaultKind::kHang, **healed), nullptr);
  ASSERT_TRUE(node_.writer().Tick(10 * kSecondUs).ok());
  healed = HealControl(node_.writer(), std::nullopt);
  ASSERT_TRUE(healed.ok() && healed->has_value()) << healed.status();
  EXPECT_EQ(Read("control.yaml"),
            "- {at: 1s, kind: gpu_lost, gpu: 0}\n"
            "- {at: 1s, kind: hang, calls: [\"*Get*\"]}\n"
            "- {at: 1s, kind: watch_stale, gpu: 1, for: 5s}\n"
            "- {at: 1s, kind: xid, gpu: 1, number: 31}\n"
            "- {at: 10.2s, kind: heal, of: gpu_lost}\n"
            "- {at: 20.2s, kind: heal, of: hang}\n");
  EXPECT_EQ(reader_->world().NextFaultChange(**healed), std::numeric_limits<TimeUs>::max());
  ASSERT_TRUE(node_.writer().Tick(10 * kSecondUs).ok());
  healed = HealControl(node_.writer(), std::nullopt);
  ASSERT_TRUE(healed.ok()) << healed.status();
  EXPECT_FALSE(healed->has_value()) << "nothing is left to undo";
}

TEST_F(ControlLogTest, ComplaintsAboutACommandsEntryHaveNoPlace) {
  ASSERT_TRUE(AppendControl(node_.writer(), "kind: gpu_lost, gpu: 0", kSecondUs).ok());
  EXPECT_EQ(AppendControl(node_.writer(), "kind: gpu_lost, gpu: 7", kSecondUs).status().message(),
            "gpu: found '7'; must be a whole number from 0 to 1");
  EXPECT_EQ(
      AppendControl(node_.writer(), "kind: gpu_lost, gpu: 0", 9 * kSecondUs).status().message(),
      "[0] (gpu_lost) is already in force on GPU 0 from 1 s to the end; end it first");
}

TEST_F(ControlLogTest, TakesEffectOnARunningClock) {
  node_.writer().SetSpeed({1, 1});
  const TimeUs now = node_.writer().Now();
  const StatusOr<TimeUs> at =
      AppendControl(node_.writer(), "kind: power_limit, gpu: 0, watts: 300", std::nullopt);
  ASSERT_TRUE(at.ok()) << at.status();
  EXPECT_GE(*at, now + 50'000);
  EXPECT_EQ(reader_->world().PowerLimitMw(0, *at), 300'000);
}

}  // namespace
}  // namespace podgpu::sim
