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
#include "cli/top_flags.h"
#include "health/self_metrics.h"
#include "tests/e2e/child.h"
#include "view/collection_view.h"

namespace podgpu {
namespace {

constexpr std::array<std::string_view, 11> kDocuments = {"README.md",
                                                         "ARCHITECTURE.md",
                                                         "CONTRIBUTING.md",
                                                         "CHANGELOG.md",
                                                         "docs/operations.md",
                                                         "docs/performance.md",
                                                         "docs/compatibility.md",
                                                         "docs/cluster.md",
                                                         "docs/install-bare-metal.md",
                                                         "docs/install-slurm.md",
                                                         "docs/top.md"};

std::string Read(std::string_view path) {
  std::ifstream file(std::string(path), std::ios::binary);
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
    constexpr std::array<std::string_view, 10> kOthers = {
        "cmake --",   "podgpu-sim", "--benchmark", "podgpu_tidy", ".ci/run",
        "nvidia-smi", "helm ",      "--set ",      "./dev check", "docker run"};
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
  const auto top_flags = TopFlagTable();
  return std::ranges::count(flags, name, &Flag::name) +
             std::ranges::count(flags, name, &Flag::other_name) +
             std::ranges::count(cluster_flags, name, &FlagOf<ClusterCommand>::name) +
             std::ranges::count(doctor_flags, name, &FlagOf<DoctorCommand>::name) +
             std::ranges::count(top_flags, name, &FlagOf<TopCommand>::name) >
         0;
}

TEST(Documents, NameOnlyFlagsThatExist) {
  for (std::string_view path : kDocuments) {
    for (const std::string& flag : WordsAfter(OwnLines(Read(path)), "--")) {
      EXPECT_TRUE(IsFlag(flag)) << path << ": --" << flag;
    }
  }
}

TEST(Documents, CapturesOfTopAreItsGoldens) {
  const std::string text = Read("docs/top.md");
  for (const std::string_view golden : {"h100-80x24", "h100-160x50", "fleet-80x24"}) {
    const std::string frame = Read("tests/golden/top/" + std::string(golden) + ".txt");
    ASSERT_FALSE(frame.empty()) << golden;
    EXPECT_NE(text.find("```text\n" + frame + "```\n"), std::string::npos)
        << "docs/top.md does not show tests/golden/top/" << golden << ".txt";
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
  Child help({"./dev", "help"});
  ASSERT_EQ(help.Wait(), 0);
  for (std::string_view path : kDocuments) {
    for (const std::string& command : WordsAfter(Read(path), "./dev ")) {
      EXPECT_NE(help.output().find(" " + command), std::string::npos)
          << path << ": ./dev " << command;
    }
  }
}

TEST(Documents, DevRefusesAnUnknownCommand) {
  Child wrong({"./dev", "tset"});
  EXPECT_EQ(wrong.Wait(), 2);
  EXPECT_EQ(wrong.output(), "dev: no command \"tset\"; ./dev help lists them\n");
}

// The chart says: kubeVersion: ">=1.22.0-0".
TEST(Documents, PagesNameTheOldestKubernetesOfTheChart) {
  const std::string chart = Read("deploy/helm/podgpu/Chart.yaml");
  const std::string mark = "kubeVersion: \">=";
  const size_t begin = chart.find(mark);
  ASSERT_NE(begin, std::string::npos);
  const size_t at = begin + mark.size();
  const size_t end = chart.find(".0-0\"", at);
  ASSERT_NE(end, std::string::npos);
  const std::string sentence = "Kubernetes " + chart.substr(at, end - at) + " or newer";
  for (const char* path : {"docs/install-kubernetes.md", "docs/migrate-from-dcgm-exporter.md"}) {
    EXPECT_NE(Read(path).find("| " + sentence), std::string::npos) << path << ": " << sentence;
  }
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
  for (const SlotView view : {SlotView::kCore, SlotView::kSelf}) {
    for (const FamilyDoc& doc : SlotFamilyDocs(view)) {
      families.insert(doc.family.name);
    }
  }
  for (const FamilyDoc& doc : CollectionFamilies()) {
    families.insert(doc.family.name);
  }
  EXPECT_EQ(headings, families);
}

constexpr size_t kFirstScreen = 40;

// README's lines up to the fold.
std::string FirstScreen() {
  const std::string text = Read("README.md");
  std::string screen;
  const std::vector<std::string_view> lines = Split(text, '\n');
  for (size_t i = 0; i < kFirstScreen && i < lines.size(); ++i) {
    screen += std::string(lines[i]) + "\n";
  }
  return screen;
}

// The text between two marks; "" where one is missing.
std::string Between(const std::string& text, std::string_view begin, std::string_view end) {
  const size_t from = text.find(begin);
  const size_t to = from == std::string::npos ? from : text.find(end, from + begin.size());
  return to == std::string::npos ? "" : text.substr(from + begin.size(), to - from - begin.size());
}

TEST(Statement3, ReadmesFirstScreenHoldsPictureCommandsTableAndTheTruthfulSentence) {
  const std::string screen = FirstScreen();
  EXPECT_EQ(screen.rfind("# podgpu\n\nTells ", 0), 0U) << "nothing stands above the name";
  const std::string picture = Between(screen, "<picture>\n", "</picture>");
  const std::string dark = "media=\"(prefers-color-scheme: dark)\" srcset=\"docs/node-dark.png\"";
  EXPECT_NE(picture.find(dark), std::string::npos);
  EXPECT_NE(picture.find("<img src=\"docs/node-light.png\""), std::string::npos);
  EXPECT_NE(picture.find(" alt=\""), std::string::npos);
  EXPECT_NE(screen.find("\n./dev demo "), std::string::npos);
  EXPECT_NE(screen.find("\n./dev test "), std::string::npos);
  std::string prose = screen;
  std::ranges::replace(prose, '\n', ' ');
  EXPECT_NE(prose.find("Device energy is measured; where processes share a GPU, theirs is "
                       "apportioned and marked so, and the parts always add up to the device."),
            std::string::npos);
}

TEST(Statement3, ReadmesTableLinksEachMigrationPage) {
  const std::string table =
      Between(FirstScreen(), "| You run one of these? | Change the image |\n|---|---|\n", "\n\n");
  const std::vector<std::string_view> rows = Split(table, '\n');
  EXPECT_EQ(rows.size(), 5U);
  const std::string text = Read("README.md");
  std::set<std::string> pages;
  for (const std::string_view row : rows) {
    const std::string name = Between(std::string(row), "][", "] |");
    const std::string page = Between(text, "\n[" + name + "]: ", "\n");
    EXPECT_TRUE(page.starts_with("docs/migrate-from-")) << row;
    EXPECT_NE(Read(page), "") << page;
    pages.insert(page);
  }
  EXPECT_EQ(pages.size(), 5U);
}

TEST(Statement3, ReadmesThreeFiguresStandWhereTheyWereMeasured) {
  const std::string measured = Read("docs/performance.md");
  const struct {
    std::string figure, link, in_the_document;
  } figures[] = {{"8.3 MiB of memory", "cost", "8 GPUs (824 series) 8.3 MiB resident"},
                 {"12 to 55 times less CPU a scrape", "peers", "| 480 | 15.6 to 17.8 x | 12.4 to"},
                 {"10 to 27 ms", "start", "10 to 27 ms of wall time"}};
  for (const auto& row : figures) {
    EXPECT_NE(FirstScreen().find("[" + row.figure + "][" + row.link + "]"), std::string::npos);
    EXPECT_NE(measured.find(row.in_the_document), std::string::npos) << row.in_the_document;
  }
}

TEST(Statement3, ReadmesSixLinesNameFamiliesAndPodsOfTheDemo) {
  const std::string sample = Between(FirstScreen(), "```text\n", "\n```");
  const std::vector<std::string_view> lines = Split(sample, '\n');
  EXPECT_EQ(lines.size(), 6U);
  const std::string families = Read("docs/metrics.md") + Read("deploy/default-counters.csv");
  const std::string demo = Read("sim/scenarios/demo.yaml");
  for (const std::string_view line : lines) {
    const std::string family(line.substr(0, line.find_first_of("{ ")));
    EXPECT_NE(families.find(family), std::string::npos) << family;
    const std::string pod = Between(std::string(line), ",pod=\"", "\"");
    EXPECT_NE(demo.find(pod), std::string::npos) << pod;
  }
}

TEST(Statement3, ReadmeIsShortAndItsFirstScreenNarrow) {
  const std::string text = Read("README.md");
  const std::vector<std::string_view> lines = Split(text, '\n');
  EXPECT_LE(lines.size(), 151U);
  for (size_t i = 0; i < kFirstScreen && i < lines.size(); ++i) {
    EXPECT_TRUE(lines[i].size() <= 80U || lines[i].starts_with('|')) << "README.md:" << i + 1;
  }
}

}  // namespace
}  // namespace podgpu
