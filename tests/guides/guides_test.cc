// Every guide in docs/ is run: its changes of manifests start podgpu on a simulated node, its
// commands give the output that it shows, its queries have an answer, its tables name what exists.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <re2/re2.h>

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/cluster_flags.h"
#include "cli/flag_table.h"
#include "fields/field.h"
#include "tests/e2e/child.h"
#include "tests/guides/cluster_model.h"
#include "tests/guides/guide.h"
#include "tests/guides/image_build.h"
#include "tests/guides/world.h"

namespace podgpu::guides {
namespace {

constexpr std::string_view kOurColumn = "with podgpu";
constexpr std::array<std::string_view, 6> kBlockKinds = {"sh",   "text",   "diff",
                                                         "yaml", "promql", ""};
constexpr std::array<std::string_view, 5> kFilters = {"grep", "head", "sort", "wc", "cut"};
constexpr std::string_view kPromtool = "build/tools/prometheus/usr/bin/promtool";
constexpr size_t kMostChangedLines = 5;

// What the GPU Operator starts when only the image of dcgm-exporter is changed.
const Program kOperatorsPod = {
    "podgpu",
    {},
    {"DCGM_EXPORTER_LISTEN=:9400", "DCGM_EXPORTER_KUBERNETES=true",
     "DCGM_EXPORTER_COLLECTORS=/etc/dcgm-exporter/dcp-metrics-included.csv"}};

// A guide of which only the file name without docs/ and .md is shown.
class Guides : public ::testing::TestWithParam<std::string> {
 protected:
  Guides() : guide_(ReadGuide(GetParam())) {}

  // Starts what the guide's changes start.
  void StartChanged(World& world) const {
    for (const Block* diff : guide_.Of("diff")) {
      for (const YamlNode& document : Documents(AfterChange(*diff), guide_.path)) {
        if (At(At(At(document, "spec"), "dcgmExporter"), "image").text == "podgpu") {
          world.Start(kOperatorsPod);
        }
        for (const Program& program : ProgramsOf(document)) {
          world.Start(program);
        }
      }
    }
  }

  // A Prometheus with the guide's own configuration, if it has one.
  void StartPrometheus(World& world) const {
    std::string config;
    for (const Block* file : guide_.Of("yaml")) {
      if (file->text().find("\nscrape_configs:") != std::string::npos) {
        config = file->text();
      }
    }
    if (!world.is_running()) {
      world.StartDefault();
    }
    world.StartPrometheus(config);
  }

  void RunOne(World& world, ClusterModel& cluster, const Command& command) const {
    Command one = command;
    std::vector<std::string> words = Words(command.text);
    ASSERT_FALSE(words.empty()) << guide_.path << ":" << command.line;
    if (command.text.starts_with("docker build ")) {
      EXPECT_EQ(WrongBuild(words, Dockerfile()), "") << guide_.path << ":" << command.line;
      return;
    }
    if (ClusterModel::Knows(words.front())) {
      words = cluster.Check(command);
      if (words.empty()) {
        return;
      }
      const size_t dashes = command.text.find(" -- ") + 4;
      one.text = command.text.substr(dashes);
    }
    const std::optional<Program> program = ProgramOf(words);
    if (program && !program->EndsAtOnce()) {
      world.Start(*program);
      return;
    }
    ASSERT_TRUE(program || words.front() == "curl" || words.front() == "promtool")
        << guide_.path << ":" << command.line << ": the test does not know " << command.text;
    CheckFilters(words, command);
    if (command.text.find(":9090") != std::string::npos && !world.has_prometheus()) {
      StartPrometheus(world);
    }
    world.Run(guide_.path, one);
  }

  const Guide guide_;

 private:
  void CheckFilters(const std::vector<std::string>& words, const Command& command) const {
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "|") {
        EXPECT_NE(std::ranges::find(kFilters, words[i + 1]), kFilters.end())
            << guide_.path << ":" << command.line << ": the test does not know " << words[i + 1];
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Docs, Guides, ::testing::ValuesIn(GuidePaths()),
                         [](const auto& path) { return TestNameOf(path.param); });

TEST_P(Guides, HasBlocksOfKnownKinds) {
  EXPECT_FALSE(guide_.Commands().empty()) << guide_.path;
  std::string before;
  for (const Block& block : guide_.blocks) {
    EXPECT_TRUE(block.kind != "text" || before == "sh")
        << guide_.path << ":" << block.line << ": output of no command";
    before = block.kind;
    EXPECT_NE(std::ranges::find(kBlockKinds, block.kind), kBlockKinds.end())
        << guide_.path << ":" << block.line << ": " << block.kind;
    if (block.kind == "yaml") {
      Documents(block.text(), guide_.path + ":" + std::to_string(block.line));
    }
  }
}

TEST_P(Guides, ChangesAtMostFiveLines) {
  for (const Block* diff : guide_.Of("diff")) {
    const auto added = std::ranges::count_if(
        diff->lines, [](const std::string& line) { return line.starts_with('+'); });
    EXPECT_LE(static_cast<size_t>(added), kMostChangedLines) << guide_.path << ":" << diff->line;
    EXPECT_GE(added, 1) << guide_.path << ":" << diff->line;
  }
}

TEST_P(Guides, RunsAsWritten) {
  World world;
  ClusterModel cluster(guide_, nullptr);
  StartChanged(world);
  for (const Command& command : guide_.Commands()) {
    RunOne(world, cluster, command);
  }
}

// The guides for which `has` is true.
std::vector<std::string> GuidesThat(bool (*has)(const Guide& guide)) {
  std::vector<std::string> paths = GuidePaths();
  std::erase_if(paths, [has](const std::string& path) { return !has(ReadGuide(path)); });
  return paths;
}

class GuidesWithQueries : public Guides {};

INSTANTIATE_TEST_SUITE_P(Docs, GuidesWithQueries,
                         ::testing::ValuesIn(GuidesThat([](const Guide& guide) {
                           return !guide.Of("promql").empty();
                         })),
                         [](const auto& path) { return TestNameOf(path.param); });

TEST_P(GuidesWithQueries, HasAnswers) {
  World world;
  StartChanged(world);
  StartPrometheus(world);
  for (const Block* block : guide_.Of("promql")) {
    for (const std::string& query : block->lines) {
      const std::string answer = world.Query(query);
      EXPECT_NE(answer.find("\"value\":["), std::string::npos)
          << guide_.path << ":" << block->line << ": " << query << "\n"
          << answer;
    }
  }
}

// A rule file of the groups of a PrometheusRule: the text below its "spec:", moved to the left.
std::string GroupsOf(const std::string& rule) {
  std::string groups;
  const size_t spec = rule.find("\nspec:\n");
  for (const std::string_view line : Split(std::string_view(rule).substr(spec + 7), '\n')) {
    groups += std::string(line.starts_with("  ") ? line.substr(2) : line) + "\n";
  }
  return groups;
}

TEST_P(Guides, HasRulesAndConfigurationsThatPromtoolAccepts) {
  const TemporaryFolder folder;
  for (const Block* file : guide_.Of("yaml")) {
    const std::string text = file->text();
    const bool is_config = text.find("\nscrape_configs:") != std::string::npos;
    const bool is_rule = text.find("\nkind: PrometheusRule") != std::string::npos;
    if (is_config || is_rule) {
      Child promtool({std::string(kPromtool), "check", is_rule ? "rules" : "config",
                      folder.Write("checked.yml", is_rule ? GroupsOf(text) : text)});
      EXPECT_EQ(promtool.Wait(), 0) << guide_.path << ":" << file->line << promtool.output();
    }
  }
}

// The variables of dcgm-exporter's flags; those of podgpu's own flags begin with PODGPU_.
TEST(MigrationGuides, NameEveryFlagOfTheOldPrograms) {
  const std::string dcgm = ReadGuide("docs/migrate-from-dcgm-exporter.md").text;
  const std::string mine = ReadGuide("docs/migrate-from-my-gpu-exporter.md").text;
  for (const Flag& flag : FlagTable()) {
    if (!flag.variable.empty() && !flag.variable.starts_with("PODGPU_")) {
      const std::string names =
          "`--" + std::string(flag.name) + "`, `" + std::string(flag.variable) + "`";
      EXPECT_NE(dcgm.find(names), std::string::npos) << names;
    }
    if (!flag.other_name.empty()) {
      EXPECT_NE(mine.find("`--" + std::string(flag.other_name) + "`"), std::string::npos)
          << flag.other_name;
    }
  }
}

TEST(MigrationGuides, NameEveryFamilyOfTheLegacyPage) {
  const std::string text = ReadGuide("docs/migrate-from-pod-gpu-metrics-exporter.md").text;
  for (const LegacyName& legacy : LegacyNames()) {
    EXPECT_NE(text.find("`" + std::string(legacy.name) + "`"), std::string::npos) << legacy.name;
  }
}

// All flags and variables of the program and its sub-commands.
std::set<std::string> FlagsAndVariables() {
  std::set<std::string> names = {"NODE_NAME", "POD_NAME", "POD_NAMESPACE", "HOST_IP"};
  const auto add = [&names](const auto& table) {
    for (const auto& flag : table) {
      names.insert("--" + std::string(flag.name));
      names.insert("--" + std::string(flag.other_name));
      names.insert("-" + std::string(flag.alias));
      names.insert(std::string(flag.variable));
    }
  };
  add(FlagTable());
  add(ClusterFlagTable());
  return names;
}

std::string GoldenPages() {
  std::string pages;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden")) {
    if (entry.is_regular_file()) {  // Not the folder of the doctor's texts.
      std::ifstream file(entry.path(), std::ios::binary);
      pages += std::string(std::istreambuf_iterator<char>(file), {}) + "\n";
    }
  }
  return pages;
}

class GuidesWithNames : public Guides {};

INSTANTIATE_TEST_SUITE_P(Docs, GuidesWithNames,
                         ::testing::ValuesIn(GuidesThat([](const Guide& guide) {
                           return !NamesInColumn(guide, kOurColumn).empty();
                         })),
                         [](const auto& path) { return TestNameOf(path.param); });

TEST_P(GuidesWithNames, ExistInTheProgram) {
  const std::vector<std::string> names = NamesInColumn(guide_, kOurColumn);
  World world;
  StartChanged(world);
  if (!world.is_running()) {
    world.StartDefault();
  }
  const std::set<std::string> flags = FlagsAndVariables();
  const std::string golden = GoldenPages();
  const RE2 is_flag(R"((--?[a-z][a-z-]*|[A-Z][A-Z_]+[A-Z])(=.*| .*)?)");
  const RE2 is_family(
      R"(((?:DCGM_|dcgm_|podgpu_|my_gpu_|avg_|pod_and_|POD_GPU_|container_)[A-Za-z0-9_]+)(\{.*)?)");
  for (const std::string& name : names) {
    std::string head;
    if (flags.contains(name)) {
      continue;
    }
    if (RE2::FullMatch(name, is_family, &head)) {
      const std::string line = "\n" + head;
      const auto is_on = [&](const std::string& pages) {
        return pages.find(line + "{") != std::string::npos ||
               pages.find(line + " ") != std::string::npos;
      };
      std::string pages = world.Pages();
      for (int tries = 0; tries < 100 && !is_on(golden) && !is_on(pages); ++tries) {
        pages = world.Pages();
      }
      EXPECT_TRUE(is_on(golden) || is_on(pages)) << guide_.path << ": no page has " << head;
    } else if (RE2::FullMatch(name, is_flag, &head)) {
      EXPECT_TRUE(flags.contains(head)) << guide_.path << ": no flag or variable " << head;
    }
  }
}

}  // namespace
}  // namespace podgpu::guides
