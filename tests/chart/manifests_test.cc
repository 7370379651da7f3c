// The plain manifests: those that are made from the chart are up to date, and a cluster accepts
// all of them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/e2e/child.h"

namespace podgpu {
namespace {

std::string FileText(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ManifestsTest, AreThoseThatTheChartMakes) {
  const TemporaryFolder made;
  Child make({"tests/chart/manifests/make", PODGPU_HELM, made.path()});
  ASSERT_EQ(make.Wait(), 0) << make.output();
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(made.path())) {
    if (entry.is_regular_file()) {
      const auto path = std::filesystem::relative(entry.path(), made.path());
      EXPECT_EQ(FileText("deploy/" + path.string()), FileText(entry.path()))
          << path << ": ./dev manifests makes it from the chart";
      ++files;
    }
  }
  EXPECT_GE(files, 13U);
}

// A file that no set names, by itself or by its folder, would be checked by nothing.
TEST(ManifestsTest, EachFileIsInASetThatIsChecked) {
  const std::string sets = FileText("tests/chart/manifests/sets");
  const auto names = [&sets](const std::string& path) {
    const size_t at = sets.find(path);
    return at != std::string::npos &&
           (at + path.size() == sets.size() || sets.find_first_of(",\n", at) == at + path.size());
  };
  for (const char* folder : {"deploy/manifests", "deploy/autoscaling"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const auto& path = entry.path();
      if (path.extension() == ".yaml") {
        EXPECT_TRUE(names(path.string()) || names(path.parent_path().string())) << path;
      }
    }
  }
}

TEST(ManifestsTest, EachFolderSaysHowToApplyCheckAndUndoIt) {
  size_t folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator("deploy/manifests")) {
    if (!entry.is_directory()) {
      continue;
    }
    ++folders;
    const std::string text = FileText(entry.path() / "README.md");
    for (const char* part : {"\n- Apply: ", "\n- Check: ", "\n- Undo: "}) {
      EXPECT_NE(text.find(part), std::string::npos) << entry.path();
    }
  }
  EXPECT_EQ(folders, 5U);
}

// Its own tests have an object for each check.
TEST(ManifestsTest, TheCheckerFindsEachDefect) {
  Child tests({PODGPU_DEPLOYCHECK "_test"});
  EXPECT_EQ(tests.Wait(), 0) << tests.output();
}

}  // namespace
}  // namespace podgpu
