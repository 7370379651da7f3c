#include "base/file_notice.h"

#include <filesystem>
#include <poll.h>

#include <gtest/gtest.h>

#include "base/testing/temporary_folder.h"

namespace podgpu {
namespace {

namespace fs = std::filesystem;

class FileNoticeTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& content = "x") const {
    folder_.Write(name, content);
  }
  static bool IsReadable(const FileNotice& notice) {
    pollfd wait{.fd = notice.descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&wait, 1, 0) == 1;
  }
  static bool Came(FileNotice& notice) {
    const bool readable = IsReadable(notice);
    EXPECT_EQ(notice.Take(), readable);
    EXPECT_FALSE(IsReadable(notice)) << "all are taken";
    return readable;
  }

  const TemporaryFolder folder_;
};

TEST_F(FileNoticeTest, TellsOfEveryWayToChangeAFile) {
  FileNotice notice(folder_ / "counters.csv");
  ASSERT_TRUE(notice.is_watching());
  EXPECT_FALSE(Came(notice)) << "nothing has changed";
  Write("counters.csv");
  EXPECT_TRUE(Came(notice)) << "it appeared";
  Write("counters.csv", "other");
  EXPECT_TRUE(Came(notice)) << "written in place";
  Write("new");
  EXPECT_TRUE(Came(notice)) << "another file";
  fs::rename(folder_ / "new", folder_ / "counters.csv");
  EXPECT_TRUE(Came(notice)) << "replaced";
  fs::remove(folder_ / "counters.csv");
  EXPECT_TRUE(Came(notice)) << "removed";
}

TEST_F(FileNoticeTest, TellsOfEverySwapOfAConfigMapVolume) {
  for (const char* version : {"..1", "..2", "..3"}) {
    fs::create_directory(folder_ / version);
    Write(std::string(version) + "/counters.csv", version);
  }
  fs::create_directory_symlink("..1", folder_ / "..data");
  fs::create_symlink("..data/counters.csv", folder_ / "counters.csv");
  FileNotice notice(folder_ / "counters.csv");
  for (const char* version : {"..2", "..3"}) {
    fs::create_directory_symlink(version, folder_ / "..data_tmp");
    fs::rename(folder_ / "..data_tmp", folder_ / "..data");
    EXPECT_TRUE(Came(notice)) << version;
    fs::remove_all(folder_ / (version == std::string("..2") ? "..1" : "..2"));
    EXPECT_TRUE(Came(notice)) << "the old version is gone";
  }
}

TEST_F(FileNoticeTest, FollowsALinkIntoAnotherFolder) {
  fs::create_directory(folder_ / "lists");
  Write("lists/long.csv");
  fs::create_symlink("lists/long.csv", folder_ / "counters.csv");
  FileNotice notice(folder_ / "counters.csv");
  Write("lists/long.csv", "changed");
  EXPECT_TRUE(Came(notice));
}

TEST_F(FileNoticeTest, AFolderThatAppearsLaterIsWatchedFromTheNextWatch) {
  FileNotice notice(folder_ / "later" / "counters.csv");
  EXPECT_FALSE(notice.is_watching());
  fs::create_directory(folder_ / "later");
  notice.Watch();
  ASSERT_TRUE(notice.is_watching());
  Write("later/counters.csv");
  EXPECT_TRUE(Came(notice));
  fs::remove_all(folder_ / "later");
  EXPECT_TRUE(Came(notice));
  EXPECT_FALSE(notice.is_watching()) << "the folder is gone";
}

}  // namespace
}  // namespace podgpu
