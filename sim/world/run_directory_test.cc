#include "sim/world/run_directory.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "sim/scenario/compile.h"
#include "sim/scenario/run_writer.h"
#include "sim/testing/node.h"

namespace podgpu::sim {
namespace {

// The image of a node with one GPU; `driver` distinguishes images.
std::vector<std::byte> Image(const std::string& driver, const std::string& epoch = "start") {
  CompileResult result = CompileScenario(
      "format: 1\nname: test\nseed: 1\nepoch: " + epoch + "\ndriver: {version: " + driver +
          ", nvml: 12.570.1, cuda: 12080}\ngpus:\n  - {class: h100-sxm5-80gb}\n",
      "test.yaml");
  EXPECT_TRUE(result.errors.empty()) << result.errors.front();
  return std::move(result.image);
}

class RunDirectoryTest : public testing::Test {
 protected:
  RunWriter Create(RunOptions options, const std::vector<std::byte>& image = Image("570.1")) {
    options.directory = directory_;
    StatusOr<RunWriter> writer = RunWriter::Create(options, image);
    EXPECT_TRUE(writer.ok()) << writer.status();
    return *std::move(writer);
  }

  std::unique_ptr<RunDirectory> Open() {
    std::string error;
    std::unique_ptr<RunDirectory> directory = RunDirectory::Open(directory_, error);
    EXPECT_NE(directory, nullptr) << error;
    return directory;
  }

  std::string OpenError(const std::string& path) {
    std::string error;
    EXPECT_EQ(RunDirectory::Open(path, error), nullptr);
    return error;
  }

  const TestFolder folder_;
  const std::string directory_ = folder_.path();
};

// A state page in this process's memory; the tests ask for its time at a given machine time.
class StatePageTime : public testing::Test {
 protected:
  void Use(int slot, ClockMode mode, int64_t base_boottime_ns, int64_t base_world_us, Speed speed) {
    ClockSlot& clock = page_->clocks[static_cast<size_t>(slot)];
    clock.mode = static_cast<uint64_t>(mode);
    clock.base_boottime_ns = base_boottime_ns;
    clock.base_world_us = base_world_us;
    clock.speed_numerator = speed.numerator;
    clock.speed_denominator = speed.denominator;
  }
  std::unique_ptr<StatePage> page_ = std::make_unique<StatePage>();
};

TEST_F(StatePageTime, FollowsTheMachineAtRealAndScaledSpeed) {
  struct Case {
    Speed speed;
    int64_t elapsed_ns;
    TimeUs expected_us;
  };
  const Case cases[] = {
      {{1, 1}, 0, 500},
      {{1, 1}, 999, 500},
      {{1, 1}, 1'000, 501},
      {{60, 1}, 1'000'000'000, 60'000'500},
      {{1, 3}, 1'000'000'000, 333'833},
      {{7, 2}, 86'400'000'000'000, 302'400'000'500},
      // A year of uptime at a hundred times the pace needs more than 64 bits on the way.
      {{100, 1}, 31'536'000'000'000'000, 3'153'600'000'000'500},
  };
  for (const Case& c : cases) {
    Use(0, ClockMode::kScaled, 77, 500, c.speed);
    EXPECT_EQ(WorldTimeUs(*page_, 77 + c.elapsed_ns), c.expected_us)
        << c.speed.numerator << "/" << c.speed.denominator << " after " << c.elapsed_ns << " ns";
  }
}

TEST_F(StatePageTime, OfAManualClockIsTheNumberInThePage) {
  Use(0, ClockMode::kManual, 0, 0, {});
  page_->manual_time_us = 12'345'678;
  EXPECT_EQ(WorldTimeUs(*page_, 0), 12'345'678);
  EXPECT_EQ(WorldTimeUs(*page_, 999'999'999'999), 12'345'678);
}

TEST_F(StatePageTime, ComesFromTheSlotOfTheCurrentGeneration) {
  Use(0, ClockMode::kReal, 0, 0, {1, 1});
  Use(1, ClockMode::kReal, 0, 1'000'000, {1, 1});
  EXPECT_EQ(WorldTimeUs(*page_, 5'000), 5);
  page_->clock_generation = 3;
  EXPECT_EQ(WorldTimeUs(*page_, 5'000), 1'000'005);
}

TEST_F(RunDirectoryTest, IsReadByTwoMappingsThatSeeTheSameManualTime) {
  RunWriter writer = Create({.mode = ClockMode::kManual});
  const auto first = Open();
  const auto second = Open();
  EXPECT_EQ(first->Now(), 0);
  ASSERT_TRUE(writer.Tick(12'345'678).ok());
  EXPECT_EQ(first->Now(), 12'345'678);
  EXPECT_EQ(second->Now(), 12'345'678);
  EXPECT_EQ(first->StampUs(12'345'678), second->StampUs(12'345'678));
}

TEST_F(RunDirectoryTest, EveryMappingSwitchesToTheNewControlLogAndOldWorldsStayReadable) {
  RunWriter writer = Create({.mode = ClockMode::kManual});
  const auto first = Open();
  const auto second = Open();
  const World& before = first->world();
  EXPECT_EQ(before.driver_version(), "570.1");
  ASSERT_TRUE(writer.PublishControl(Image("575.2")).ok());
  EXPECT_EQ(first->world().driver_version(), "575.2");
  EXPECT_EQ(second->world().driver_version(), "575.2");
  EXPECT_EQ(Open()->world().driver_version(), "575.2");
  EXPECT_EQ(before.driver_version(), "570.1");
  EXPECT_EQ(first->log_generation(), 1U);
  EXPECT_EQ(&first->world(), &first->world());
}

TEST_F(RunDirectoryTest, TimeDoesNotJumpWhenTheSpeedChanges) {
  RunWriter writer = Create({});
  const auto reader = Open();
  const TimeUs before = reader->Now();
  writer.SetSpeed({1000, 1});
  const TimeUs between = reader->Now();
  writer.SetManual();
  const TimeUs after = reader->Now();
  EXPECT_LE(before, between);
  EXPECT_LE(between, after);
  EXPECT_EQ(reader->Now(), after);
  EXPECT_EQ(writer.mode(), ClockMode::kManual);
  ASSERT_TRUE(writer.Tick(1'000'000).ok());
  EXPECT_EQ(reader->Now(), after + 1'000'000);
  writer.SetSpeed({1, 1});
  EXPECT_EQ(writer.mode(), ClockMode::kReal);
  EXPECT_GE(reader->Now(), after + 1'000'000);
}

TEST_F(RunDirectoryTest, CivilTimeStartsAtTheScenariosEpochOrAtTheStart) {
  Create({.mode = ClockMode::kManual}, Image("570.1", "2026-05-12T13:12:48Z"));
  const auto fixed = Open();
  EXPECT_EQ(fixed->StampUs(1'500'000), 1'778'591'569'500'000);
  EXPECT_EQ(fixed->FromStampUs(1'778'591'569'500'000), 1'500'000);
  Create({.mode = ClockMode::kManual});
  const auto started = Open();
  EXPECT_GT(started->StampUs(0), fixed->StampUs(0));
  EXPECT_EQ(started->FromStampUs(started->StampUs(7)), 7);
}

TEST_F(RunDirectoryTest, ReportsTheEngineProcess) {
  RunWriter writer = Create({.mode = ClockMode::kManual, .time_scale = 100});
  const auto reader = Open();
  EXPECT_FALSE(reader->engine_up());
  EXPECT_EQ(reader->engine_generation(), 0U);
  EXPECT_EQ(reader->time_scale(), 100);
  EXPECT_EQ(writer.BeginEngine(), 1U);
  writer.SetEngineUp(true);
  EXPECT_TRUE(reader->engine_up());
  writer.SetEngineUp(false);
  EXPECT_FALSE(reader->engine_up());
  EXPECT_EQ(reader->engine_began(), 0);
  ASSERT_TRUE(writer.Tick(5'000'000).ok());
  EXPECT_EQ(writer.BeginEngine(), 2U);
  EXPECT_EQ(reader->engine_generation(), 2U);
  EXPECT_EQ(reader->engine_began(), 5'000'000);
}

TEST_F(RunDirectoryTest, LetsASecondWriterAttach) {
  Create({.mode = ClockMode::kManual});
  StatusOr<RunWriter> other = RunWriter::Attach(directory_);
  ASSERT_TRUE(other.ok()) << other.status();
  ASSERT_TRUE(other->Tick(5).ok());
  EXPECT_EQ(Open()->Now(), 5);
}

TEST_F(RunDirectoryTest, LinksTheSharedObjects) {
  Create({.lib_links = {"/somewhere/libdcgm.so.4"}});
  EXPECT_EQ(std::filesystem::read_symlink(directory_ + "/lib/libdcgm.so.4"),
            "/somewhere/libdcgm.so.4");
}

TEST_F(RunDirectoryTest, ReportsInOneLineWhyItIsNotUsable) {
  const std::string start = "; start a simulated node with `podgpu-sim run SCENARIO`";
  EXPECT_EQ(OpenError(directory_ + "/none"),
            directory_ + "/none/state: No such file or directory" + start);
  std::ofstream(directory_ + "/state") << std::string(kStatePageBytes, '\0');
  EXPECT_EQ(OpenError(directory_),
            directory_ + "/state: not a finished state page of this podgpu-sim" + start);
  std::filesystem::remove(directory_ + "/state");
  Create({});
  std::ofstream(directory_ + "/world.bin") << "garbage";
  EXPECT_EQ(OpenError(directory_).find(directory_ + "/world.bin: "), 0U);
  unsetenv("PODGPU_SIM_DIR");
  EXPECT_EQ(OpenError(""),
            "PODGPU_SIM_DIR is not set; it names the run directory of a simulated node" + start);
}

TEST_F(RunDirectoryTest, IsFoundThroughTheEnvironment) {
  Create({});
  setenv("PODGPU_SIM_DIR", directory_.c_str(), 1);
  std::string error;
  const auto directory = RunDirectory::Open("", error);
  unsetenv("PODGPU_SIM_DIR");
  ASSERT_NE(directory, nullptr) << error;
  EXPECT_EQ(directory->path(), directory_);
}

TEST(RunWriter, RefusesAPathThatIsTooLongForItsSockets) {
  const std::string directory = "/tmp/" + std::string(100, 'd');
  const StatusOr<RunWriter> writer = RunWriter::Create({.directory = directory}, Image("570.1"));
  EXPECT_EQ(writer.status().message(),
            directory +
                "/engine.sock: a socket's path may have 107 bytes and this has 117; choose a "
                "shorter run directory with --dir");
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST_F(RunDirectoryTest, MovesOnlyAManualClockAndOnlyForward) {
  RunWriter running = Create({});
  EXPECT_EQ(running.Tick(1).message(),
            directory_ +
                ": the clock of this node runs by itself; start it with --manual to move it "
                "by ticks");
  RunWriter manual = Create({.mode = ClockMode::kManual});
  EXPECT_EQ(manual.Tick(-1).message(), "the step is negative; world time only goes forward");
  EXPECT_EQ(manual.Now(), 0);
}

TEST(RunWriter, NamesTheRemedyWhenThereIsNothingToAttachTo) {
  EXPECT_EQ(RunWriter::Attach("/nowhere/at/all").status().message(),
            "/nowhere/at/all/state: No such file or directory; start a simulated node with "
            "`podgpu-sim run SCENARIO --dir /nowhere/at/all`");
}

TEST_F(RunDirectoryTest, MapsScaledTimeThroughTheWriterToo) {
  RunWriter writer = Create({.mode = ClockMode::kScaled, .speed = {60, 1}});
  EXPECT_EQ(writer.WorldTimeOf(std::chrono::seconds(1)), 60'000'000);
  writer.SetManual();
  EXPECT_EQ(writer.WorldTimeOf(std::chrono::seconds(1)), 0);
}

}  // namespace
}  // namespace podgpu::sim
