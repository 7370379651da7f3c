#include "base/guarded_directory.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "base/testing/temporary_folder.h"

namespace podgpu {
namespace {

namespace fs = std::filesystem;

class GuardedDirectoryTest : public ::testing::Test {
 protected:
  // Treats this process's own files as files of another user.
  static TrustedUsers OtherUsers() {
    return {.self = ::geteuid() + 1'000, .root = ::geteuid() + 1'001};
  }
  static std::string ContentOf(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static mode_t ModeOf(const fs::path& path) {
    struct stat facts {};
    EXPECT_EQ(::lstat(path.c_str(), &facts), 0) << path;
    return facts.st_mode & 07777;
  }
  static std::string Refusal(const StatusOr<GuardedDirectory>& opened) {
    return std::string(opened.status().message());
  }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
};

TEST_F(GuardedDirectoryTest, ReplacesFilesLinksAndPipesWithoutFollowingLinks) {
  const fs::path precious = root_ / "precious";
  std::ofstream(precious) << "root's own";
  const fs::path folder = root_ / "out";
  fs::create_directory(folder);
  fs::create_symlink(precious, folder / "link");
  fs::create_hard_link(precious, folder / "second-name");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0666), 0);
  std::ofstream(folder / "old") << "old";
  const StatusOr<GuardedDirectory> directory = GuardedDirectory::Open(folder);
  ASSERT_TRUE(directory.ok()) << directory.status();
  for (const std::string name : {"link", "second-name", "pipe", "old", "new"}) {
    ASSERT_TRUE(directory->Replace(name, "written", 0640).ok()) << name;
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder / name))) << name;
    EXPECT_EQ(ContentOf(folder / name), "written") << name;
    EXPECT_EQ(ModeOf(folder / name), 0640U) << name;
  }
  EXPECT_EQ(ContentOf(precious), "root's own");
  EXPECT_EQ(directory->List().value(),
            (std::vector<std::string>{"link", "new", "old", "pipe", "second-name"}))
      << "no temporary file stays";
  directory->Remove("new");
  EXPECT_FALSE(fs::exists(folder / "new"));
}

TEST_F(GuardedDirectoryTest, RefusesToReplaceAFolderAndLeavesNoTemporaryFile) {
  fs::create_directory(root_ / "a.prom");
  const StatusOr<GuardedDirectory> directory = GuardedDirectory::Open(root_);
  ASSERT_TRUE(directory.ok()) << directory.status();
  EXPECT_EQ(directory->Replace("a.prom", "x", 0644).message(),
            root_.string() + "/a.prom: cannot be replaced: Is a directory");
  EXPECT_EQ(directory->List().value(), std::vector<std::string>{"a.prom"});
}

TEST_F(GuardedDirectoryTest, RefusesADirectoryThatOthersMayWrite) {
  for (const mode_t mode : {0777U, 01777U, 0775U, 0757U}) {
    ASSERT_EQ(::chmod(root_.c_str(), mode), 0);
    EXPECT_EQ(
        Refusal(GuardedDirectory::Open(root_)),
        absl::StrFormat("%s may be written by other users (mode %04o): nothing is written "
                        "where they can plant links. chmod go-w it, or name another directory",
                        root_.string(), mode));
  }
  ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
  EXPECT_TRUE(GuardedDirectory::Open(root_).ok());
}

TEST_F(GuardedDirectoryTest, RefusesADirectoryOfAnotherUser) {
  EXPECT_EQ(Refusal(GuardedDirectory::Open(root_, OtherUsers())),
            absl::StrFormat("%s belongs to user %d, and podgpu runs as user %d: nothing is written "
                            "where another user can plant links. chown it to user %d, or name "
                            "another directory",
                            root_.string(), ::geteuid(), OtherUsers().self, OtherUsers().self));
  EXPECT_EQ(Refusal(GuardedDirectory::Make(root_, OtherUsers())),
            Refusal(GuardedDirectory::Open(root_, OtherUsers())))
      << "the directory existed before and keeps its mode";
}

TEST_F(GuardedDirectoryTest, FollowsOwnLinksAndRefusesLinksOfOtherUsers) {
  fs::create_directories(root_ / "real" / "deep");
  fs::create_directory_symlink("real", root_ / "relative");
  fs::create_directory_symlink(root_ / "relative" / "deep", root_ / "absolute");
  fs::create_directory_symlink("loop", root_ / "loop");
  const StatusOr<GuardedDirectory> directory =
      GuardedDirectory::Open(root_ / "absolute" / ".." / "deep" / "");
  ASSERT_TRUE(directory.ok()) << directory.status();
  ASSERT_TRUE(directory->Replace("a", "x", 0644).ok());
  EXPECT_TRUE(fs::exists(root_ / "real" / "deep" / "a"));
  EXPECT_EQ(Refusal(GuardedDirectory::Open(root_ / "absolute", OtherUsers())),
            absl::StrFormat("%s/absolute: user %d made the link \"absolute\" in this path, and "
                            "podgpu runs as user %d. Remove the link, or use the path without it",
                            root_.string(), ::geteuid(), OtherUsers().self));
  EXPECT_EQ(Refusal(GuardedDirectory::Open(root_ / "loop")),
            root_.string() + "/loop: cannot be opened: Too many levels of symbolic links");
}

TEST_F(GuardedDirectoryTest, MakesMissingDirectoriesWithMode0700) {
  const fs::path folder = root_ / "a" / "b";
  EXPECT_EQ(Refusal(GuardedDirectory::Open(folder)),
            folder.string() + ": cannot be opened: No such file or directory");
  EXPECT_FALSE(fs::exists(root_ / "a"));
  ASSERT_TRUE(GuardedDirectory::Make(folder).ok());
  EXPECT_EQ(ModeOf(root_ / "a"), 0700U);
  EXPECT_EQ(ModeOf(folder), 0700U);
  std::ofstream(root_ / "file") << "x";
  EXPECT_EQ(Refusal(GuardedDirectory::Make(root_ / "file")),
            (root_ / "file").string() + ": cannot be opened: Not a directory");
}

TEST(GuardedDirectoryNames, FindsTheFinalNameOfATemporaryFile) {
  EXPECT_EQ(ReplacedBy("a.prom.0123456789abcdef.swp"), "a.prom");
  for (const std::string_view name :
       {"a.prom", "a.prom.swp", ".0123456789abcdef.swp", "a.prom.0123456789abcdeg.swp",
        "a.prom.0123456789ABCDEF.swp", "a.prom_0123456789abcdef.swp", "", ".swp"}) {
    EXPECT_EQ(ReplacedBy(name), "") << name;
  }
}

}  // namespace
}  // namespace podgpu
