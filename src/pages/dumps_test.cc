#include "pages/dumps.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "base/testing/temporary_folder.h"
#include "base/worker.h"
#include "source/testing/fake_source.h"
#include "tests/gunzip.h"

namespace podgpu {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using std::chrono::seconds;

constexpr const char* kList =
    "DCGM_FI_DEV_GPU_TEMP, gauge, temperature\nDCGM_FI_DEV_POWER_USAGE, gauge, power\n"
    "DCGM_FI_DEV_SERIAL, label, serial\nDCGM_FI_DEV_XID_ERRORS, gauge, XID\n";

// A writer on its own thread, readings that the test publishes, and a folder for this test alone.
class DumpsTest : public ::testing::Test {
 protected:
  DumpsTest() {
    options_.enabled = true;
    options_.directory = folder_ / "dumps";
    options_.compression = false;
  }
  ~DumpsTest() override {
    thread_.RequestStop();
    thread_.JoinWithin(std::chrono::hours(1));
  }

  void Start() {
    ViewOptions view;
    view.hostname = "node-a";
    dumps_.emplace(
        options_, view, pages_, counts_,
        [] { return ParseCounters(kList, "list.csv").value().counters; }, clock_);
    thread_.Start([this](const std::stop_token& stop) { dumps_->Run(stop); });
    clock_.AwaitSleepers(1);
  }
  // Publishes a reading of one GPU, `step` after the previous one; returns the files that exist
  // after it.
  std::set<std::string> Read(int64_t temperature, Duration step = seconds(1)) {
    auto grid = std::make_shared<Grid>(
        std::make_shared<Topology>(FakeDriver::Gpus(1)),
        std::vector<const Field*>{FindField(53), FindField(150), FindField(155), FindField(230)});
    grid->at(FieldRow{0}, EntityId{0}) = Value::OfText(grid->InternText("1654"));
    grid->at(FieldRow{1}, EntityId{0}) = Value::OfInt64(temperature);
    grid->at(FieldRow{2}, EntityId{0}) = Value::OfAbsence(Absence::kBlank);
    grid->at(FieldRow{3}, EntityId{0}) = Value::OfInt64(79);
    clock_.Advance(step);
    clock_.AwaitSleepers(1);
    grid->read_at = clock_.Now();
    grid->read_at_wall = clock_.WallNow();
    pages_.Set(std::make_shared<const Snapshot>(SnapshotParts{
        std::make_shared<const SeriesPlan>(), grid, std::make_shared<Owners>(), {}, ++tick_}));
    clock_.Advance(seconds(1));
    clock_.AwaitSleepers(1);
    return Files();
  }
  std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(options_.directory)) {
      names.insert(entry.path().filename());
    }
    return names;
  }
  std::string Content(const std::string& name) const {
    std::ifstream file(fs::path(options_.directory) / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TemporaryFolder folder_;
  DumpOptions options_;
  ManualClock clock_;
  Published<Snapshot> pages_;
  WriteCounts counts_;
  std::optional<Dumps> dumps_;
  Worker thread_;
  uint64_t tick_ = 0;
};

TEST_F(DumpsTest, WritesAFileOfValuesAndAFileOfDevicesPerReading) {
  Start();
  const std::set<std::string> files = Read(41);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_TRUE(files.begin()->starts_with("deviceinfo-GPU-"));
  const std::string text = Content(*files.rbegin());
  EXPECT_TRUE(files.rbegin()->starts_with("metrics-GPU-"));
  EXPECT_TRUE(text.starts_with("{\n  \"metrics\": {\n    \"DCGM_FI_DEV_GPU_TEMP\": [\n")) << text;
  const json::value root = json::parse(text);
  const json::object& metrics = root.at("metrics").as_object();
  EXPECT_FALSE(metrics.contains("DCGM_FI_DEV_POWER_USAGE")) << "there is no value";
  const json::value& row = metrics.at("DCGM_FI_DEV_GPU_TEMP").at(0);
  EXPECT_EQ(row.at("value"), "41");
  EXPECT_EQ(row.at("gpu"), "0");
  EXPECT_EQ(row.at("gpu_device"), "nvidia0");
  EXPECT_EQ(row.at("uuid"), "UUID");
  EXPECT_EQ(row.at("hostname"), "node-a");
  EXPECT_EQ(row.at("counter").at("field_id"), 150);
  EXPECT_EQ(row.at("counter").at("prom_type"), "gauge");
  EXPECT_EQ(row.at("labels").at("DCGM_FI_DEV_SERIAL"), "1654");
  EXPECT_FALSE(row.as_object().contains("mig_profile")) << "empty texts are left out";
  EXPECT_EQ(metrics.at("DCGM_FI_DEV_XID_ERRORS").at(0).at("attributes").at("err_code"), "79");
  const json::value devices = json::parse(Content(*files.begin()));
  EXPECT_EQ(devices.at("gpu_count"), 1);
  EXPECT_EQ(devices.at("gpu_options"), "f");
  EXPECT_EQ(devices.at("info_type"), "GPU");
}

TEST_F(DumpsTest, WritesEachReadingOnce) {
  Start();
  EXPECT_EQ(Read(41).size(), 2U);
  clock_.Advance(seconds(5));
  clock_.AwaitSleepers(1);
  EXPECT_EQ(Files().size(), 2U);
  EXPECT_EQ(Read(42).size(), 4U);
}

TEST_F(DumpsTest, CompressesFilesWhenAsked) {
  options_.compression = true;
  Start();
  const std::set<std::string> files = Read(41);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_TRUE(files.rbegin()->ends_with(".json.gz"));
  EXPECT_TRUE(Gunzip(Content(*files.rbegin())).value_or("").starts_with("{\n  \"metrics\""));
}

TEST_F(DumpsTest, RemovesOldDumpsAndNoOtherFiles) {
  fs::create_directories(options_.directory);
  const std::set<std::string> foreign = {"notes.txt", "metrics-GPU.json",
                                         "metrics-GPU-20200101-000000-xyzxyzxy.json",
                                         "metrics-TPU-20200101-000000-00000001.json"};
  for (const std::string& name : foreign) {
    std::ofstream(fs::path(options_.directory) / name) << "theirs";
  }
  const std::string old = "metrics-CPU Core-20000101-000000-00000001.json.gz";
  std::ofstream(fs::path(options_.directory) / old) << "ours";
  Start();
  std::set<std::string> files = Read(41);
  EXPECT_FALSE(files.contains(old));
  EXPECT_EQ(files.size(), foreign.size() + 2);
  files = Read(42, std::chrono::hours(25));
  EXPECT_EQ(files.size(), foreign.size() + 2) << "the dumps of a day ago are gone";
  for (const std::string& name : foreign) {
    EXPECT_TRUE(files.contains(name)) << name;
  }
}

TEST_F(DumpsTest, LimitsTheNumberOfFilesAlsoWithoutARetention) {
  options_.retention = std::chrono::hours(0);
  options_.most_files = 6;
  Start();
  std::set<std::string> files;
  for (int i = 0; i < 10; ++i) {
    files = Read(40 + i, std::chrono::hours(100));
  }
  EXPECT_EQ(files.size(), 6U);
  EXPECT_NE(Content(*files.rbegin()).find("\"value\": \"49\""), std::string::npos);
}

// A dump names devices and processes of pods: only the user who asked for it may read it.
TEST_F(DumpsTest, OnlyItsOwnUserMayReadDirectoryAndFiles) {
  Start();
  const std::set<std::string> files = Read(41);
  ASSERT_EQ(files.size(), 2U);
  struct stat facts {};
  ASSERT_EQ(::stat(options_.directory.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0700U);
  for (const std::string& name : files) {
    ASSERT_EQ(::stat((fs::path(options_.directory) / name).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0600U) << name;
  }
}

TEST_F(DumpsTest, RefusesADirectoryThatOthersMayWriteAndLogsItOnce) {
  fs::create_directory(options_.directory);
  ASSERT_EQ(::chmod(options_.directory.c_str(), 0777), 0);
  testing::internal::CaptureStderr();
  Start();
  Read(41);
  EXPECT_EQ(Read(42), std::set<std::string>());
  const std::string log = testing::internal::GetCapturedStderr();
  const std::string what = options_.directory + " may be written by other users (mode 0777): " +
                           "nothing is written where they can plant links. chmod go-w it, or " +
                           "name another directory (--dump-directory)";
  EXPECT_EQ(std::ranges::count(log, '\n'), 1) << log;
  EXPECT_NE(log.find("level=WARN msg=\"cannot write a dump; retrying with the next reading\""),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("error=\"" + what + "\""), std::string::npos) << log;
  EXPECT_EQ(counts_.failed, 2U);
  EXPECT_EQ(*counts_.failure.Get(), what) << "the page / shows it";
  ASSERT_EQ(::chmod(options_.directory.c_str(), 0700), 0);
  EXPECT_EQ(Read(43).size(), 2U);
  EXPECT_EQ(counts_.failure.Get(), nullptr);
}

TEST_F(DumpsTest, FollowsALinkOfItsOwnUserToTheDirectory) {
  fs::create_directory(folder_ / "real");
  fs::create_directory_symlink("real", options_.directory);
  const std::string left = "metrics-GPU-20200101-000000-00000001.json.0123456789abcdef.swp";
  std::ofstream(folder_ / "real" / left) << "a part";
  Start();
  EXPECT_EQ(Read(41).size(), 2U) << "the partly written file of a killed process is gone";
}

TEST_F(DumpsTest, RetriesToMakeTheDirectory) {
  std::ofstream(folder_ / "dumps") << "a file stands here";
  Start();
  options_.directory = folder_.path();  // Where to look.
  EXPECT_EQ(Read(41), (std::set<std::string>{"dumps"}));
  EXPECT_EQ(counts_.failed, 1U);
  EXPECT_EQ(counts_.written, 0U);
  fs::remove(folder_ / "dumps");
  options_.directory = folder_ / "dumps";
  fs::create_directory(options_.directory);
  EXPECT_EQ(Read(42).size(), 2U);
  EXPECT_EQ(counts_.failed, 1U);
  EXPECT_EQ(counts_.written, 1U);
}

}  // namespace
}  // namespace podgpu
