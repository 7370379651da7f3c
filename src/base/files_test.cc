#include "base/files.h"

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/library.h"
#include "base/process_usage.h"
#include "base/testing/temporary_folder.h"

namespace podgpu {
namespace {

class FilesTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& content) const {
    folder_.Write(name.substr(1), content);
  }

  const TemporaryFolder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(FilesTest, ReadsWholeFilesBelowTheRoot) {
  const std::string large(100'000, 'x');
  Write("/large", large);
  EXPECT_EQ(SystemFiles(root_).Read("/large").value(), large);
}

TEST_F(FilesTest, AMarkTellsOneFileFromAnother) {
  Write("/old", "same");
  Write("/new", "same");
  const SystemFiles files(root_);
  const std::optional<FileMark> first = files.Mark("/old");
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->bytes, 4);
  EXPECT_GT(first->changed_ns, 0);
  EXPECT_EQ(files.Mark("/old"), first);
  std::filesystem::rename(root_ + "/new", root_ + "/old");
  EXPECT_NE(files.Mark("/old"), first);
  EXPECT_EQ(files.Mark("/nothing"), std::nullopt);
}

TEST(Files, TheMarkOfAProcessStaysWhileItLives) {
  const SystemFiles files;
  const std::string folder = "/proc/" + std::to_string(::getpid());
  const std::optional<FileMark> first = files.Mark(folder);
  ASSERT_TRUE(first.has_value());
  ASSERT_TRUE(files.Read(folder + "/stat").ok());
  EXPECT_EQ(files.Mark(folder), first);
  EXPECT_NE(files.Mark("/proc/" + std::to_string(::getppid())), first);
}

TEST_F(FilesTest, SaysWhichFileIsMissing) {
  const Status status = SystemFiles(root_).Read("/nothing").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), root_ + "/nothing: No such file or directory");
}

TEST_F(FilesTest, RefusesFilesAboveTheLimit) {
  Write("/huge", std::string((size_t{16} << 20) + 1, 'x'));
  EXPECT_EQ(SystemFiles(root_).Read("/huge").status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(FilesTest, AFolderIsNotAFile) {
  EXPECT_EQ(SystemFiles(root_).Read("/").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(FilesTest, ListsNamesInOrder) {
  Write("/b", "");
  Write("/a", "");
  EXPECT_EQ(SystemFiles(root_).List("/").value(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(SystemFiles(root_).List("/none").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FilesTest, ReadsLinks) {
  std::filesystem::create_symlink("target", root_ + "/link");
  EXPECT_EQ(SystemFiles(root_).ReadLink("/link").value(), "target");
  EXPECT_FALSE(SystemFiles(root_).ReadLink("/none").ok());
}

TEST(SystemLibraryLoader, OpensALibraryAndFindsItsSymbols) {
  SystemLibraryLoader loader;
  const StatusOr<void*> library = loader.Open("libc.so.6");
  ASSERT_TRUE(library.ok());
  EXPECT_NE(loader.Symbol(*library, "getpid"), nullptr);
  EXPECT_EQ(loader.Symbol(*library, "no_such_symbol_anywhere"), nullptr);
}

TEST(SystemLibraryLoader, ReturnsTheDynamicLinkersMessage) {
  SystemLibraryLoader loader;
  const StatusOr<void*> library = loader.Open("libnothing-of-this-name.so.1");
  EXPECT_EQ(library.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(library.status().message().find("libnothing-of-this-name.so.1"),
            std::string_view::npos);
}

TEST(ProcessUsage, ReadsTheUsageOfThisProcess) {
  const ProcessUsage usage = ReadProcessUsage();
  EXPECT_GT(usage.cpu_seconds, 0);
  EXPECT_GT(usage.resident_bytes.value_or(0), 0);
  EXPECT_GE(usage.virtual_bytes.value_or(0), usage.resident_bytes.value_or(0));
  EXPECT_GE(usage.threads.value_or(0), 1);
  EXPECT_GT(usage.max_descriptors.value_or(0), 0);
  EXPECT_GT(ProcessStartSeconds().value_or(0), 1'600'000'000);
}

TEST(ProcessUsage, CountsDescriptorsExactly) {
  const int64_t before = ReadProcessUsage().open_descriptors.value_or(-1);
  ASSERT_GE(before, 0);
  const int one = ::dup(0);
  const int two = ::dup(0);
  EXPECT_EQ(ReadProcessUsage().open_descriptors, before + 2);
  ::close(one);
  ::close(two);
  EXPECT_EQ(ReadProcessUsage().open_descriptors, before);
}

}  // namespace
}  // namespace podgpu
