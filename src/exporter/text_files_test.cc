#include "exporter/text_files.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "base/manual_clock.h"
#include "base/worker.h"
#include "exporter/fake_source.h"
#include "exposition/series_plan.h"

namespace podgpu {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

std::string Content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A writer on its own thread, pages that the test publishes, and a folder of its own.
class TextFilesTest : public ::testing::Test {
 protected:
  TextFilesTest() {
    std::string name = ::testing::TempDir() + "podgpu-textXXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~TextFilesTest() override {
    End();
    fs::remove_all(folder_);
  }

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

  fs::path folder_;
  ManualClock clock_;
  Published<Snapshot> pages_;
  WriteCounts counts_;
  std::optional<TextFiles> files_;
  Worker thread_;
  uint64_t tick_ = 0;
};

TEST_F(TextFilesTest, OneHasTheDevicesAndOneThePodsToo) {
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

TEST_F(TextFilesTest, AFileIsWrittenWhenThereIsANewerReading) {
  Publish(34);
  Start({folder_ / "a.prom", "", seconds(1)});
  Turn();
  Turn();
  EXPECT_EQ(counts_.written, 1U);
}

// A reader that opened the old file goes on reading the old file, whole.
TEST_F(TextFilesTest, AReaderNeverSeesAPart) {
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
  EXPECT_FALSE(fs::exists(folder_ / "a.prom.swp"));
}

TEST_F(TextFilesTest, AFolderThatIsNotThereIsTriedAgain) {
  const fs::path path = folder_ / "later" / "a.prom";
  Publish(34);
  Start({path, "", seconds(1)});
  EXPECT_EQ(counts_.failed, 1U);
  fs::create_directory(folder_ / "later");
  Turn();
  EXPECT_TRUE(Content(path).ends_with("} 34\n"));
}

TEST_F(TextFilesTest, NothingStaysBehind) {
  const fs::path path = folder_ / "a.prom";
  Publish(34);
  Start({path, "", seconds(1)});
  ASSERT_TRUE(fs::exists(path));
  End();
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace podgpu
