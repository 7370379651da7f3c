#include "pages/text_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "base/testing/temporary_folder.h"
#include "base/worker.h"
#include "exposition/series_plan.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

std::string Content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A writer on its own thread, pages that the test publishes, and a folder for this test alone.
class TextFilesTest : public ::testing::Test {
 protected:
  ~TextFilesTest() override { End(); }

  void Start(TextFileOptions options) {
    files_.emplace(std::move(options), pages_, counts_, clock_);
    thread_.Start([this](const std::stop_token& stop) { files_->Run(stop); });
    clock_.AwaitSleepers(1);
  }
  void End() {
    thread_.RequestStop();
    thread_.JoinWithin(std::chrono::hours(1));
  }
  void Turn() {
    clock_.Advance(seconds(1));
    clock_.AwaitSleepers(1);
  }
  // A main page of one GPU, temperature `value`, held by one pod.
  void Publish(int64_t value) {
    auto grid = std::make_shared<Grid>(std::make_shared<Topology>(FakeDriver::Gpus(1)),
                                       std::vector<const Field*>{FindField(150)});
    grid->at(FieldRow{0}, EntityId{0}) = Value::OfInt64(value);
    auto owners = std::make_shared<Owners>();
    owners->by_entity = {{{"ml", "train-0", "main", "nvidia.com/gpu", "", {}, ""}}};
    pages_.Set(std::make_shared<const Snapshot>(
        SnapshotParts{std::make_shared<const SeriesPlan>(), grid, owners, {}, ++tick_}));
  }

  const TemporaryFolder folder_;
  ManualClock clock_;
  Published<Snapshot> pages_;
  WriteCounts counts_;
  std::optional<TextFiles> files_;
  Worker thread_;
  uint64_t tick_ = 0;
};

TEST_F(TextFilesTest, OneFileHasDevicesAndTheOtherAlsoPods) {
  const fs::path devices = folder_ / "dcgm.prom";
  const fs::path pods = folder_ / "dcgm-pod.prom";
  Publish(34);
  Start({devices, pods, seconds(1)});
  EXPECT_EQ(Content(devices),
            "# HELP dcgm_gpu_temp GPU temperature (in C).\n# TYPE dcgm_gpu_temp gauge\n"
            "dcgm_gpu_temp{gpu=\"0\",uuid=\"" +
                FakeDriver::Uuid(0) + "\"} 34\n");
  EXPECT_NE(Content(pods).find("pod_name=\"train-0\""), std::string::npos);
  struct stat facts {};
  ASSERT_EQ(::stat(pods.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0644U);
  Publish(35);
  Turn();
  EXPECT_TRUE(Content(devices).ends_with("} 35\n"));
  EXPECT_EQ(counts_.written, 4U);
}

TEST_F(TextFilesTest, WritesAFileWhenThereIsANewerReading) {
  Publish(34);
  Start({folder_ / "a.prom", "", seconds(1)});
  Turn();
  Turn();
  EXPECT_EQ(counts_.written, 1U);
}

// A reader that opened the old file can still read all of the old file.
TEST_F(TextFilesTest, AReaderNeverSeesAPartOfAFile) {
  const fs::path path = folder_ / "a.prom";
  Publish(34);
  Start({path, "", seconds(1)});
  std::ifstream reader(path);
  std::string first_line;
  std::getline(reader, first_line);
  Publish(35);
  Turn();
  const std::string rest{std::istreambuf_iterator<char>(reader), {}};
  EXPECT_TRUE(rest.ends_with("} 34\n"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1)
      << "no temporary file is left";
}

// Another user of the machine may have put a link or a pipe at the path of the file.
TEST_F(TextFilesTest, OverwritesNeitherALinksTargetNorWaitsForAPipe) {
  const fs::path precious = folder_ / "precious";
  std::ofstream(precious) << "root's own";
  fs::create_symlink(precious, folder_ / "a.prom");
  fs::create_symlink(precious, folder_ / "a.prom.swp");
  ASSERT_EQ(::mkfifo((folder_ / "b.prom").c_str(), 0666), 0);
  ASSERT_EQ(::mkfifo((folder_ / "b.prom.swp").c_str(), 0666), 0);
  Publish(34);
  Start({folder_ / "a.prom", folder_ / "b.prom", seconds(1)});
  EXPECT_EQ(Content(precious), "root's own");
  EXPECT_TRUE(Content(folder_ / "a.prom").ends_with("} 34\n"));
  EXPECT_TRUE(Content(folder_ / "b.prom").ends_with("} 34\n"));
  EXPECT_EQ(counts_.written, 2U);
}

TEST_F(TextFilesTest, RefusesADirectoryThatOthersMayWriteAndLogsItOnce) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 01777), 0);
  Publish(34);
  testing::internal::CaptureStderr();
  Start({folder_ / "a.prom", "", seconds(1)});
  Turn();
  const std::string log = testing::internal::GetCapturedStderr();
  const std::string what = folder_.path() + " may be written by other users (mode 1777): " +
                           "nothing is written where they can plant links. chmod go-w it, or " +
                           "name another directory";
  EXPECT_EQ(std::ranges::count(log, '\n'), 1) << log;
  EXPECT_NE(
      log.find("level=ERROR msg=\"cannot write the text file; retrying in the next interval\""),
      std::string::npos)
      << log;
  EXPECT_NE(log.find("error=\"" + what + "\""), std::string::npos) << log;
  EXPECT_FALSE(fs::exists(folder_ / "a.prom"));
  EXPECT_EQ(counts_.failed, 2U);
  EXPECT_EQ(*counts_.failure.Get(), what) << "the page / shows it";
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  Turn();
  EXPECT_TRUE(Content(folder_ / "a.prom").ends_with("} 34\n"));
  EXPECT_EQ(counts_.failure.Get(), nullptr);
}

TEST_F(TextFilesTest, RemovesTheTemporaryFileOfAKilledProcess) {
  const fs::path left = folder_ / "a.prom.0123456789abcdef.swp";
  const fs::path other = folder_ / "b.prom.0123456789abcdef.swp";
  std::ofstream(left) << "a part";
  std::ofstream(other) << "another program's";
  Publish(34);
  Start({folder_ / "a.prom", "", seconds(1)});
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(TextFilesTest, RetriesWhileTheFolderIsMissing) {
  const fs::path path = folder_ / "later" / "a.prom";
  Publish(34);
  Start({path, "", seconds(1)});
  EXPECT_EQ(counts_.failed, 1U);
  fs::create_directory(folder_ / "later");
  Turn();
  EXPECT_TRUE(Content(path).ends_with("} 34\n"));
}

TEST_F(TextFilesTest, RemovesItsFilesAtTheEnd) {
  const fs::path path = folder_ / "a.prom";
  Publish(34);
  Start({path, "", seconds(1)});
  ASSERT_TRUE(fs::exists(path));
  End();
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace podgpu
