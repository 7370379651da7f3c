#include "process/identity_cache.h"

#include <algorithm>
#include <map>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/testing/fake_files.h"

namespace podgpu {
namespace {

// A /proc of texts, with marks.
class CountingProc final : public FakeFiles {
 public:
  std::optional<FileMark> Mark(std::string_view path) const override {
    ++looks;
    const auto found = marks.find(path);
    return found == marks.end() ? std::nullopt : std::optional(FileMark{.inode = found->second});
  }
  void Add(uint32_t pid, const std::string& name, uint64_t start_ticks) {
    files["/proc/" + std::to_string(pid) + "/stat"] =
        "1 (" + name + ") S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " + std::to_string(start_ticks);
  }

  // The kernel has given out pids up to this one.
  void GiveOut(uint32_t pid) {
    links["/proc/self"] = std::to_string(::getpid());
    files["/proc/loadavg"] = "0.1 0.2 0.3 2/1500 " + std::to_string(pid);
  }

  std::map<std::string, uint64_t, std::less<>> marks;
  mutable size_t looks = 0;  // At marks.
};

class IdentityCacheTest : public ::testing::Test {
 protected:
  IdentityCacheTest() {
    files_.Add(2, "kthreadd", 0);
    files_.Add(7, "train", 100);
  }
  std::shared_ptr<const ProcessIdentity> FindOnce(uint32_t pid) {
    now_ += std::chrono::seconds(1);
    cache_.Begin(now_);
    auto found = cache_.Find(pid);
    cache_.End();
    return found;
  }

  CountingProc files_;
  ProcReader reader_{files_};
  IdentityCache cache_{reader_};
  Instant now_;
};

TEST_F(IdentityCacheTest, DoesNotReadAProcessWhoseFolderHasTheSameMark) {
  files_.marks["/proc/7"] = 31;
  const auto first = FindOnce(7);
  ASSERT_NE(first, nullptr);
  files_.reads.clear();
  EXPECT_EQ(FindOnce(7), first);
  EXPECT_EQ(files_.reads.size(), 0U);
  files_.marks["/proc/7"] = 32;  // The kernel had forgotten the folder.
  EXPECT_EQ(FindOnce(7), first) << "the start time is the same";
  EXPECT_EQ(files_.reads.size(), 1U);
  EXPECT_EQ(FindOnce(7), first);
  EXPECT_EQ(files_.reads.size(), 1U);
}

TEST_F(IdentityCacheTest, APidThatIsUsedAgainHasAnotherMarkAndIsIdentified) {
  files_.marks["/proc/7"] = 31;
  ASSERT_EQ(FindOnce(7)->name, "train");
  files_.Add(7, "serve", 200);
  files_.marks["/proc/7"] = 32;
  ASSERT_NE(FindOnce(7), nullptr);
  EXPECT_EQ(FindOnce(7)->name, "serve");
}

TEST_F(IdentityCacheTest, LooksAtAKnownPidOnlyIfItWasGivenOutSince) {
  files_.marks["/proc/7"] = 31;
  files_.GiveOut(4);
  ASSERT_EQ(FindOnce(7)->name, "train");
  files_.looks = 0;
  files_.GiveOut(6);
  FindOnce(7);
  EXPECT_EQ(files_.looks, 0U);
  files_.Add(7, "serve", 200);
  files_.marks["/proc/7"] = 32;
  files_.GiveOut(7);
  EXPECT_EQ(FindOnce(7)->name, "serve");
  EXPECT_EQ(files_.looks, 1U);
}

TEST_F(IdentityCacheTest, LooksAtAllPidsEachTenSeconds) {
  files_.marks["/proc/7"] = 31;
  files_.GiveOut(9);
  FindOnce(7);
  files_.Add(7, "restored", 200);
  files_.marks["/proc/7"] = 32;
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(FindOnce(7)->name, "train");
  }
  testing::internal::CaptureStderr();
  EXPECT_EQ(FindOnce(7)->name, "restored");
  EXPECT_EQ(FindOnce(7)->name, "restored");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(log, '\n'), 1) << log;
  EXPECT_NE(log.find("/proc/loadavg"), std::string::npos) << log;
  files_.Add(7, "again", 300);
  files_.marks["/proc/7"] = 33;
  EXPECT_EQ(FindOnce(7)->name, "again") << "the kernel's word is not believed any more";
}

TEST_F(IdentityCacheTest, BelievesTheKernelWhileOrdinaryProcessesComeAndGo) {
  files_.marks["/proc/7"] = 31;
  for (uint32_t scan = 0; scan < 42; ++scan) {
    const uint32_t born = 100 + scan % 20;  // Pids are used again.
    files_.GiveOut(born);
    files_.Add(born, "short", 1'000 + scan);
    files_.marks["/proc/" + std::to_string(born)] = 1'000 + scan;
    cache_.Begin(now_ += std::chrono::seconds(1));
    EXPECT_EQ(cache_.Find(born)->key.start_ticks, 1'000 + scan);
    EXPECT_EQ(cache_.Find(7)->name, "train");
    cache_.End();
  }
  files_.looks = 0;
  FindOnce(7);
  EXPECT_EQ(files_.looks, 0U);
}

TEST_F(IdentityCacheTest, AProcessWithoutMarkIsReadInEachScan) {
  files_.marks["/proc/7"] = 31;
  const auto first = FindOnce(7);
  files_.marks.clear();
  files_.files["/proc/7/stat"] = absl::NotFoundError("/proc/7/stat");
  EXPECT_EQ(FindOnce(7), nullptr) << "it is gone";
  files_.Add(7, "train", 100);
  files_.marks["/proc/7"] = 31;
  files_.reads.clear();
  EXPECT_NE(FindOnce(7), nullptr);
  EXPECT_GT(files_.reads.size(), 0U);
}

TEST_F(IdentityCacheTest, ReadsAKnownProcessOncePerScan) {
  const auto first = FindOnce(7);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->name, "train");
  files_.reads.clear();
  cache_.Begin(now_);
  EXPECT_EQ(cache_.Find(7), first);
  EXPECT_EQ(cache_.Find(7), first) << "it runs on two devices";
  cache_.End();
  EXPECT_EQ(files_.reads.size(), 1U);
}

TEST_F(IdentityCacheTest, NoticesAReusedPid) {
  const auto first = FindOnce(7);
  files_.Add(7, "other", 200);
  const auto second = FindOnce(7);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->name, "other");
  EXPECT_EQ(second->key.start_ticks, 200U);
  EXPECT_EQ(first->key.start_ticks, 100U) << "a holder of the old identity keeps it";
}

TEST_F(IdentityCacheTest, ForgetsPidsThatAScanDoesNotAskFor) {
  FindOnce(7);
  cache_.Begin(now_);
  cache_.End();
  files_.reads.clear();
  FindOnce(7);
  EXPECT_GT(files_.reads.size(), 1U);
}

TEST_F(IdentityCacheTest, CountsProcessesThatCannotBeIdentified) {
  FindOnce(8);
  EXPECT_EQ(cache_.unknown(), 0U) << "a process that is gone does not count";
  files_.Add(2, "sh", 4);
  EXPECT_EQ(FindOnce(8), nullptr);
  EXPECT_EQ(cache_.unknown(), 1U);
  EXPECT_EQ(cache_.reason().code(), absl::StatusCode::kFailedPrecondition);
  FindOnce(7);
  EXPECT_EQ(cache_.unknown(), 0U);
  EXPECT_TRUE(cache_.reason().ok());
}

}  // namespace
}  // namespace podgpu
