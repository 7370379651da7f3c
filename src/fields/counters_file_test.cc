#include "fields/counters_file.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/testing/fake_files.h"

namespace podgpu {
namespace {

constexpr std::string_view kTemp = "DCGM_FI_DEV_GPU_TEMP, gauge, temperature\n";
constexpr std::string_view kUsed = "DCGM_FI_DEV_FB_USED, gauge, used\n";

// A file system with one file or none, for any path.
class OneFile final : public FakeFiles {
 public:
  StatusOr<std::string> content = absl::NotFoundError("/etc/c.csv: No such file or directory");

  StatusOr<std::string> Read(std::string_view /*path*/) const override { return content; }
};

// Returns the first name of the list, or the message of the error; "unchanged" without a result.
std::string Outcome(const std::optional<StatusOr<Counters>>& loaded) {
  if (!loaded) {
    return "unchanged";
  }
  return loaded->ok() ? (*loaded)->counters.front().name : std::string(loaded->status().message());
}

TEST(CountersFile, AppliesAChangeAfterTwoEqualReads) {
  OneFile disk;
  disk.content = std::string(kTemp);
  CountersFile file("/etc/c.csv", disk);
  EXPECT_EQ(Outcome(file.Load()), "DCGM_FI_DEV_GPU_TEMP");
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  disk.content = std::string(kUsed.substr(0, 15));  // Half written.
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  disk.content = std::string(kUsed);
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "DCGM_FI_DEV_FB_USED");
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
}

TEST(CountersFile, IgnoresAChangeThatIsReverted) {
  OneFile disk;
  disk.content = std::string(kTemp);
  CountersFile file("/etc/c.csv", disk);
  ASSERT_TRUE(file.Load().ok());
  disk.content = std::string(kUsed);
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  disk.content = std::string(kTemp);
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  disk.content = std::string(kUsed);
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged") << "only one read so far";
}

TEST(CountersFile, ReportsAnInvalidFileOnce) {
  OneFile disk;
  disk.content = std::string(kTemp);
  CountersFile file("/etc/c.csv", disk);
  ASSERT_TRUE(file.Load().ok());
  disk.content = "DCGM_FI_DEV_GPU_TEMP, gauge\n";
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  EXPECT_TRUE(Outcome(file.LoadIfChanged()).starts_with("/etc/c.csv:1: "));
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  EXPECT_TRUE(Outcome(file.Load()).starts_with("/etc/c.csv:1: ")) << "Load reports it again";
}

TEST(CountersFile, ReportsATooLargeFileOnceAndDoesNotKeepIt) {
  OneFile disk;
  disk.content = std::string(kTemp);
  CountersFile file("/etc/c.csv", disk);
  ASSERT_TRUE(file.Load().ok());
  disk.content = std::string(size_t{15} << 20, 'x');
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  EXPECT_EQ(Outcome(file.LoadIfChanged()),
            "/etc/c.csv: 15728640 bytes are too many for a list of metrics; the limit is 1048576. "
            "Correct the path, or shorten the list");
  disk.content = std::string(size_t{15} << 20, 'y');
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged") << "still too large, so unchanged";
  disk.content = std::string(kTemp);
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "DCGM_FI_DEV_GPU_TEMP");
}

TEST(CountersFile, ReportsARemovedFileOnceAndNoticesItsReturn) {
  OneFile disk;
  disk.content = std::string(kTemp);
  CountersFile file("/etc/c.csv", disk);
  ASSERT_TRUE(file.Load().ok());
  disk.content = absl::NotFoundError("/etc/c.csv: No such file or directory");
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  EXPECT_EQ(Outcome(file.LoadIfChanged()),
            "counters file /etc/c.csv: No such file or directory. Correct --collectors (-f)");
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  disk.content = std::string(kTemp);
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "DCGM_FI_DEV_GPU_TEMP");
}

TEST(CountersFile, UsesTheBuiltInSetWithoutADefaultFile) {
  OneFile disk;
  CountersFile file("", disk);
  EXPECT_EQ(file.path(), kDefaultCountersPath);
  const StatusOr<Counters> built_in = file.Load();
  ASSERT_TRUE(built_in.ok());
  EXPECT_EQ(built_in->path, "built-in counters");
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  disk.content = std::string(kUsed);
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "unchanged");
  EXPECT_EQ(Outcome(file.LoadIfChanged()), "DCGM_FI_DEV_FB_USED");
  EXPECT_FALSE(CountersFile("/asked/for.csv", OneFile()).Load().ok());
}

TEST(CountersFile, GivesNvlinkBandwidthTheTypeOfTheReleaseInBuiltInLists) {
  const auto type_in = [](std::string_view path, const StatusOr<std::string>& content) {
    OneFile disk;
    disk.content = content;
    CountersFile file(std::string(path), disk, {.nvlink_bandwidth_type = "gauge"});
    const Counters list = file.Load().value();
    return std::ranges::find(list.counters, "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", &Counter::name)
        ->type;
  };
  const auto missing = absl::NotFoundError("no such file");
  EXPECT_EQ(type_in("", missing), "gauge");
  EXPECT_EQ(type_in("/etc/dcgm-exporter/dcp-metrics-included.csv", missing), "gauge");
  EXPECT_EQ(type_in("/etc/c.csv", std::string(DefaultCountersCsv())), "gauge") << "a copy";
  EXPECT_EQ(type_in("/etc/c.csv", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL, counter, mine\n"),
            "counter");
}

TEST(CountersFile, UsesTheDefaultListOfTheRelease) {
  const ListsOfRelease release = {.renamed_list = "default-counters-4.9.csv"};
  OneFile disk;
  CountersFile file("", disk, release);
  const Counters missing = file.Load().value();
  EXPECT_EQ(missing.path, "built-in counters (default-counters-4.9.csv)");
  EXPECT_EQ(missing.counters.front().name, "DCGM_FI_DEV_SM_CLOCK_HERTZ");
  EXPECT_TRUE(missing.warnings.empty());
  disk.content = std::string(DefaultCountersCsv());
  const Counters copy = file.Load().value();
  EXPECT_EQ(copy.counters.front().name, "DCGM_FI_DEV_SM_CLOCK_HERTZ");
  EXPECT_EQ(copy.path, missing.path);
  EXPECT_TRUE(copy.warnings.empty()) << "the operator asked for it";
  disk.content = std::string(kTemp);
  EXPECT_EQ(file.Load().value().counters.size(), 1U) << "a list of one's own stays";
  disk.content = std::string(BuiltInListFor("/etc/dcgm-exporter/dcp-metrics-included.csv")->csv);
  const Counters of_operator = file.Load().value();
  EXPECT_EQ(of_operator.counters.front().name, "DCGM_FI_DEV_SM_CLOCK_HERTZ");
  EXPECT_EQ(of_operator.path,
            "built-in counters (default-counters-4.9.csv in place of dcp-metrics-included.csv)");
  EXPECT_FALSE(IsDefaultList(of_operator.path)) << "its profiling fields were asked for";
  disk.content =
      std::string(BuiltInListFor("/etc/dcgm-exporter/1.x-compatibility-metrics.csv")->csv);
  EXPECT_EQ(file.Load().value().counters.front().name, "dcgm_sm_clock") << "old by intention";
}

// What dcgm-exporter's image has; old command lines name these paths outside the image too.
TEST(CountersFile, UsesTheBuiltInListOfEachMissingFileOfTheImage) {
  const std::string folder = "/etc/dcgm-exporter/";
  const auto told = [&](const std::string& name) {
    OneFile disk;
    CountersFile file(folder + name, disk);
    const StatusOr<Counters> list = file.Load();
    return list.ok() ? list->path + ": " + list->counters.front().name
                     : std::string(list.status().message());
  };
  EXPECT_EQ(told("default-counters.csv"), "built-in counters: DCGM_FI_DEV_SM_CLOCK");
  EXPECT_EQ(told("dcp-metrics-included.csv"),
            "built-in counters (dcp-metrics-included.csv): DCGM_FI_DEV_SM_CLOCK");
  EXPECT_EQ(told("1.x-compatibility-metrics.csv"),
            "built-in counters (1.x-compatibility-metrics.csv): dcgm_sm_clock");
  EXPECT_EQ(told("dcp-metrics.csv"),
            "counters file /etc/c.csv: No such file or directory. Correct --collectors (-f)");
}

TEST(CountersFile, AFileOfTheImageThatCannotBeReadIsAnError) {
  OneFile disk;
  disk.content = absl::PermissionDeniedError("/etc/c.csv: Permission denied");
  CountersFile file("/etc/dcgm-exporter/dcp-metrics-included.csv", disk);
  EXPECT_EQ(Outcome(file.Load()),
            "counters file /etc/c.csv: Permission denied. Correct --collectors (-f)");
}

}  // namespace
}  // namespace podgpu
