#include "attribution/hpc_jobs.h"

#include <gtest/gtest.h>

#include "base/testing/fake_files.h"

namespace podgpu {
namespace {

using Jobs = std::vector<std::string>;

// A directory of files, some of which may be gone when they are read.
class JobFiles final : public FakeFiles {
 public:
  StatusOr<std::vector<std::string>> List(std::string_view path) const override {
    if (!listing.ok()) {
      return listing;
    }
    std::vector<std::string> names = FakeFiles::List(path).value();
    names.insert(names.end(), vanished.begin(), vanished.end());
    return names;
  }

  std::vector<std::string> vanished;
  Status listing;
};

TEST(HpcJobs, AFileListsOneJobPerLine) {
  const std::string limit(kLongestJobBytes, 'x');
  struct Row {
    std::string content;
    Jobs jobs;
    size_t too_long;
  };
  const Row rows[] = {
      {"", {}, 0},
      {"\n\n", {}, 0},
      {" \t\r\n", {}, 0},
      {"1001", {"1001"}, 0},
      {"1001\n1002\n", {"1001", "1002"}, 0},
      {"1002\n\n1001\n", {"1002", "1001"}, 0},
      {"1001\r\n1002\r\n", {"1001", "1002"}, 0},
      {"7\n7\n", {"7"}, 0},
      {"a job with words_[3-5]\n", {"a job with words_[3-5]"}, 0},
      {limit + "\n", {limit}, 0},
      {limit + "x\n8\n", {"8"}, 1},
  };
  for (const Row& row : rows) {
    const JobList list = ParseJobList(row.content);
    EXPECT_EQ(list.jobs, row.jobs) << row.content;
    EXPECT_EQ(list.too_long, row.too_long) << row.content;
  }
}

TEST(HpcJobs, LimitsTheJobsOfADevice) {
  std::string content;
  for (size_t i = 0; i < kMostJobsPerDevice + 3; ++i) {
    content += std::to_string(i) + "\n";
  }
  const JobList list = ParseJobList(content);
  EXPECT_EQ(list.jobs.size(), kMostJobsPerDevice);
  EXPECT_EQ(list.jobs.back(), std::to_string(kMostJobsPerDevice - 1));
  EXPECT_EQ(list.too_many, 3U);
}

TEST(HpcJobs, ReadsOnlyFilesNamedAfterDevices) {
  struct Row {
    std::string name;
    bool counts;
  };
  const Row rows[] = {{"0", true},        {"17", true},        {"3.0", true},  {"foo", false},
                      {"bar.txt", false}, {".gitkeep", false}, {"1e5", false}, {"NaN", false},
                      {"Inf", false},     {"+3", false},       {"-2", false},  {".5", false},
                      {"5.", false},      {"1.2.3", false},    {"0 ", false},  {"0.7.swp", false}};
  for (const Row& row : rows) {
    JobFiles files;
    files.files.emplace("/jobs/" + row.name, "1");
    const StatusOr<HpcJobs> jobs = ReadHpcJobs(files, "/jobs");
    ASSERT_TRUE(jobs.ok());
    EXPECT_EQ(jobs->by_device.contains(row.name), row.counts) << row.name;
    EXPECT_EQ(jobs->complaints, Jobs{}) << row.name;
  }
}

TEST(HpcJobs, LeavesOutUnreadableFiles) {
  JobFiles files;
  files.files.emplace("/jobs/0", "1001\n");
  files.files.emplace("/jobs/1", absl::PermissionDeniedError("/jobs/1: permission denied"));
  files.files.emplace("/jobs/2", std::string(kLongestJobBytes + 1, 'x') + "\n1003\n");
  files.files.emplace("/jobs/3", "");
  files.vanished = {"4"};
  const StatusOr<HpcJobs> jobs = ReadHpcJobs(files, "/jobs");
  ASSERT_TRUE(jobs.ok());
  EXPECT_EQ(jobs->by_device, (std::map<std::string, Jobs>{{"0", {"1001"}}, {"2", {"1003"}}}));
  EXPECT_EQ(jobs->job_count(), 2U);
  EXPECT_EQ(jobs->complaints, (Jobs{"/jobs/1: permission denied",
                                    "/jobs/2: ignored 1 lines: a job id has at most 256 bytes"}));
}

TEST(HpcJobs, AMissingDirectoryIsAFailure) {
  JobFiles files;
  files.listing = absl::NotFoundError("/jobs: no such directory");
  EXPECT_EQ(ReadHpcJobs(files, "/jobs").status(), files.listing);
}

TEST(HpcJobs, AnInstanceHasOnlyTheJobsOfItsDottedName) {
  Topology topology;
  topology.gpus.resize(2);
  topology.gpus[1].gpu_id = 3;
  topology.instances = {{.gpu = 1, .gpu_instance_id = 7, .profile = "", .compute_instances = {}},
                        {.gpu = 1, .gpu_instance_id = 0, .profile = "", .compute_instances = {}}};
  NumberEntities(topology);
  HpcJobs jobs;
  jobs.by_device = {{"0", {"a", "b"}}, {"3", {"c"}}, {"3.0", {"d"}}, {"9", {"e"}}, {"00", {"f"}}};
  EXPECT_EQ(JobsByEntity(topology, jobs), (std::vector<Jobs>{{"a", "b"}, {"c"}, {}, {"d"}}));
}

}  // namespace
}  // namespace podgpu
