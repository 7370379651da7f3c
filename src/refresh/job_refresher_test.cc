#include "refresh/job_refresher.h"

#include <mutex>

#include <gtest/gtest.h>

#include "base/testing/fake_files.h"
#include "base/testing/manual_clock.h"
#include "base/worker.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// A directory that the test writes while the refresher reads it.
class SharedDirectory final : public FakeFiles {
 public:
  StatusOr<std::string> Read(std::string_view path) const override {
    const std::scoped_lock lock(mutex_);
    return FakeFiles::Read(path);
  }
  StatusOr<std::vector<std::string>> List(std::string_view path) const override {
    const std::scoped_lock lock(mutex_);
    if (!exists_) {
      return absl::NotFoundError(std::string(path) + ": No such file or directory");
    }
    return FakeFiles::List(path);
  }

  void Exist(bool exists) {
    const std::scoped_lock lock(mutex_);
    exists_ = exists;
  }
  void Write(const std::string& path, StatusOr<std::string> content) {
    const std::scoped_lock lock(mutex_);
    files.insert_or_assign(path, std::move(content));
  }

 private:
  mutable std::mutex mutex_;  // Guards exists_ and the files.
  bool exists_ = true;
};

class JobRefresherTest : public ::testing::Test {
 protected:
  JobRefresherTest() : refresher_(files_, {"/jobs", seconds(1)}, clock_, wakeup_) {}
  ~JobRefresherTest() override {
    thread_.RequestStop();
    thread_.JoinWithin(std::chrono::hours(1));
  }
  void Start() {
    thread_.Start([this](const std::stop_token& stop) { refresher_.Run(stop); });
    clock_.AwaitSleepers(1);
  }
  void Step() {
    clock_.Advance(seconds(1));
    clock_.AwaitSleepers(1);
  }
  JobFacts facts() const { return *refresher_.facts().Get(); }

  ManualClock clock_;
  Wakeup wakeup_;
  SharedDirectory files_;
  JobRefresher refresher_;
  Worker thread_;
};

TEST_F(JobRefresherTest, FollowsTheDirectory) {
  files_.Write("/jobs/0", "1001\n1002\n");
  EXPECT_EQ(facts().state, PartState::kStarting);
  Start();
  EXPECT_EQ(facts().state, PartState::kOk);
  EXPECT_EQ(facts().detail, "/jobs lists 2 jobs on 1 devices");
  const std::shared_ptr<const HpcJobs> first = facts().value;
  Step();
  EXPECT_EQ(facts().value, first) << "the same jobs are the same object";
  files_.Write("/jobs/0", "1003\n");
  Step();
  EXPECT_EQ(facts().value->by_device.at("0"), std::vector<std::string>{"1003"});
}

TEST_F(JobRefresherTest, WaitsForAMissingDirectoryAndWithdrawsItsJobsWhenItIsRemoved) {
  files_.Write("/jobs/0", "1001\n");
  files_.Exist(false);
  Start();
  Step();
  EXPECT_EQ(facts().state, PartState::kWaiting);
  EXPECT_EQ(facts().detail,
            "/jobs: No such file or directory. Rows have no job labels until then; correct "
            "--hpc-job-mapping-dir, or mount it");
  EXPECT_EQ(facts().value, nullptr);
  EXPECT_EQ(facts().failures, 2U);
  files_.Exist(true);
  Step();
  EXPECT_EQ(facts().state, PartState::kOk);
  EXPECT_EQ(facts().value->job_count(), 1U);
  files_.Exist(false);
  Step();
  EXPECT_EQ(facts().value, nullptr);
  EXPECT_EQ(facts().failures, 3U);
}

TEST_F(JobRefresherTest, UsesTheOtherFilesWhenOneCannotBeRead) {
  files_.Write("/jobs/0", "1001\n");
  files_.Write("/jobs/1", absl::PermissionDeniedError("/jobs/1: Permission denied"));
  Start();
  EXPECT_EQ(facts().state, PartState::kDegraded);
  EXPECT_EQ(facts().detail,
            "/jobs lists 1 jobs on 1 devices; problems: 1, the first: /jobs/1: Permission denied");
  EXPECT_EQ(facts().value->job_count(), 1U);
}

}  // namespace
}  // namespace podgpu
