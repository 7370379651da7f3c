// The claims of the documents are true: flags, commands of ./dev, names of families.
#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/cluster_flags.h"
#include "cli/doctor_flags.h"
#include "cli/flag_table.h"
#include "health/self_metrics.h"
#include "tests/e2e/child.h"

namespace podgpu {
namespace {

constexpr std::array<std::string_view, 10> kDocuments = {"README.md",
                                                         "ARCHITECTURE.md",
                                                         "CONTRIBUTING.md",
                                                         "CHANGELOG.md",
                                                         "docs/operations.md",
                                                         "docs/performance.md",
                                                         "docs/compatibility.md",
                                                         "docs/cluster.md",
                                                         "docs/install-bare-metal.md",
                                                         "docs/install-slurm.md"};

std::string Read(std::string_view path) {
  std::ifstream file(std::string(PODGPU_SOURCE_DIR "/").append(path), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The words directly after `mark`, of lower-case letters and dashes.
std::set<std::string> WordsAfter(std::string_view text, std::string_view mark) {
  std::set<std::string> words;
  for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
    size_t end = at + mark.size();
    while (end < text.size() && (std::islower(static_cast<unsigned char>(text[end])) != 0 ||
                                 (text[end] == '-' && end > at + mark.size()))) {
      ++end;
    }
    const std::string word(text.substr(at + mark.size(), end - at - mark.size()));
    if (!word.empty()) {
      words.insert(word);
    }
  }
  return words;
}

// The lines of a document that do not mention another program's flags.
std::string OwnLines(std::string_view text) {
  std::string own;
  for (std::string_view line : Split(text, '\n')) {
    constexpr std::array<std::string_view, 8> kOthers = {"cmake --",    "podgpu-sim", "--benchmark",
                                                         "podgpu_tidy", ".ci/run",    "nvidia-smi",
                                                         "helm ",       "--set "};
    if (std::none_of(kOthers.begin(), kOthers.end(), [line](std::string_view other) {
          return line.find(other) != std::string_view::npos;
        })) {
      own += std::string(line) + "\n";
    }
  }
  return own;
}

bool IsFlag(const std::string& name) {
  const auto flags = FlagTable();
  const auto cluster_flags = ClusterFlagTable();
  const auto doctor_flags = DoctorFlagTable();
  return std::ranges::count(flags, name, &Flag::name) +
             std::ranges::count(flags, name, &Flag::other_name) +
             std::ranges::count(cluster_flags, name, &FlagOf<ClusterCommand>::name) +
             std::ranges::count(doctor_flags, name, &FlagOf<DoctorCommand>::name) >
         0;
}

TEST(Documents, NameOnlyFlagsThatExist) {
  for (std::string_view path : kDocuments) {
    for (const std::string& flag : WordsAfter(OwnLines(Read(path)), "--")) {
      EXPECT_TRUE(IsFlag(flag)) << path << ": --" << flag;
    }
  }
}

TEST(Documents, SettingsOfTheServiceAreVariablesOfFlags) {
  int settings = 0;
  const std::string text = Read("deploy/package/default");
  for (const std::string_view line : Split(text, '\n')) {
    const size_t equals = line.find('=');
    if (!line.starts_with('#') || line.starts_with("# ") || equals == std::string_view::npos) {
      continue;
    }
    const std::string_view name = line.substr(1, equals - 1);
    EXPECT_TRUE(name == "PODGPU_FLAGS" ||
                std::ranges::count(FlagTable(), name, &Flag::variable) > 0)
        << line;
    ++settings;
  }
  EXPECT_EQ(settings, 6);
}

TEST(Documents, NameOnlyCommandsOfDev) {
  Child help({PODGPU_SOURCE_DIR "/dev", "help"});
  ASSERT_EQ(help.Wait(), 0);
  for (std::string_view path : kDocuments) {
    for (const std::string& command : WordsAfter(Read(path), "./dev ")) {
      EXPECT_NE(help.output().find(" " + command), std::string::npos)
          << path << ": ./dev " << command;
    }
  }
}

TEST(Documents, DevRefusesAnUnknownCommand) {
  Child wrong({PODGPU_SOURCE_DIR "/dev", "tset"});
  EXPECT_EQ(wrong.Wait(), 2);
  EXPECT_EQ(wrong.output(), "dev: no command \"tset\"; ./dev help lists them\n");
}

TEST(Documents, OperationsGivesARemedyForEachFamilyOfPodgpu) {
  const std::string text = Read("docs/operations.md");
  std::set<std::string> headings;
  for (std::string_view line : Split(text, '\n')) {
    if (line.starts_with("### ")) {
      headings.insert(std::string(line.substr(4)));
    }
  }
  std::set<std::string> families;
  for (const SlotFamilyDoc& family : SlotFamilyDocs()) {
    families.insert(std::string(family.name));
  }
  EXPECT_EQ(headings, families);
}

TEST(Documents, ReadmeIsShortAndItsFirstScreenNarrow) {
  const std::string text = Read("README.md");
  const std::vector<std::string_view> lines = Split(text, '\n');
  EXPECT_LE(lines.size(), 151U);
  for (size_t i = 0; i < 40 && i < lines.size(); ++i) {
    EXPECT_LE(lines[i].size(), 80U) << "README.md:" << i + 1;
  }
}

}  // namespace
}  // namespace podgpu
