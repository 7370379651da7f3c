// Every document for users is run: its changes of manifests start podgpu on a simulated node, its
// commands give the output that it shows, its queries have an answer, its tables name what exists.
//
// The commands that need a cluster are checked in guide_test.cc; tests/documents_test.cc checks
// those of ./dev.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <re2/re2.h>
#include <set>
#include <span>

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/cluster_flags.h"
#include "cli/flag_table.h"
#include "fields/field.h"
#include "tests/e2e/child.h"
#include "tests/guides/guide.h"
#include "tests/guides/unrun.h"
#include "tests/guides/world.h"

namespace podgpu::guides {
namespace {

constexpr std::string_view kOurColumn = "with podgpu";
constexpr std::string_view kPromtool = "build/tools/prometheus/usr/bin/promtool";
constexpr size_t kMostChangedLines = 5;

// What the GPU Operator starts when only the image of dcgm-exporter is changed.
const Program kOperatorsPod = {
    "podgpu",
    {},
    {"DCGM_EXPORTER_LISTEN=:9400", "DCGM_EXPORTER_KUBERNETES=true",
     "DCGM_EXPORTER_COLLECTORS=/etc/dcgm-exporter/dcp-metrics-included.csv"}};

// A YAML text of a document; errors fail the running test.
YamlNode Parsed(const std::string& text, const std::string& where) {
  std::vector<YamlError> errors;
  YamlNode node = ReadYaml(text, errors);
  EXPECT_TRUE(errors.empty()) << where << ": " << (errors.empty() ? "" : errors.front().what);
  return node;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

class Documents : public ::testing::TestWithParam<std::string> {
 protected:
  Documents() : guide_(ReadGuide(GetParam())) {}

  World& world() {
    if (world_ == nullptr) {
      world_ = std::make_unique<World>();
    }
    return *world_;
  }

  // Starts what the document's changes start.
  void StartChanged() {
    for (const Block* diff : guide_.Of("diff")) {
      const YamlNode changed = Parsed(AfterChange(*diff), guide_.path);
      if (!At(At(changed, "spec"), "dcgmExporter").keys.empty()) {
        world().Start(kOperatorsPod);
        continue;
      }
      for (const Program& program : ProgramsOf(changed)) {
        world().Start(program);
      }
    }
  }

  // A Prometheus with the document's own configuration, if it has one.
  void StartPrometheus() {
    std::string config;
    for (const Block* file : guide_.Of("yaml")) {
      if (file->text().find("\nscrape_configs:") != std::string::npos) {
        config = file->text();
      }
    }
    world().StartPrometheus(config);
  }

  void RunOne(const Command& command) {
    SCOPED_TRACE(guide_.path + ":" + std::to_string(command.line) + ": " + command.text);
    std::vector<std::string> words = Words(command.text);
    if (IsUnrun(words)) {  // What follows "--" runs in the container.
      const auto dashes = std::ranges::find(words, "--");
      words.erase(words.begin(), dashes == words.end() ? dashes : dashes + 1);
      if (words.empty()) {
        return;
      }
    }
    // Variables come first, alone or as words of `env`.
    const RE2 is_variable(R"(env|[A-Z_]+=.*|\$\(cat|.*/env\))");
    words.erase(words.begin(), std::ranges::find_if_not(words, [&](const std::string& word) {
                  return RE2::FullMatch(word, is_variable);
                }));
    ASSERT_FALSE(words.empty());
    if (words.front().starts_with("./podgpu")) {
      words.front().erase(0, 2);
    }
    const std::string& name = words.front();
    if (const std::optional<Program> program = ProgramOf(words)) {
      RunPodgpu(*program, words, command.shown);
    } else if (name == "curl") {
      Ask(command);
    } else if (name == "podgpu-sim") {
      RunSimulator(words);
    } else {
      EXPECT_EQ(name, "./dev") << "the test does not know this command";
    }
  }

  const Guide guide_;

 private:
  // As it is written, but an error of the server is one of the command.  The simulated node has no
  // history.
  void Ask(const Command& command) {
    if (command.text.find(":9090") != command.text.npos && !world().has_prometheus()) {
      StartPrometheus();
    }
    std::string text = command.text;
    if (command.shown.empty() && text.find("/history") == text.npos) {
      RE2::Replace(&text, "^curl ", "curl --fail ");
    }
    world().Run(text, command.shown);
  }

  void RunPodgpu(const Program& program, const std::vector<std::string>& words,
                 const std::vector<std::string>& shown) {
    if (program.Says({"top"})) {
      RunTop(words);
    } else if (program.Says({"doctor"})) {
      world().Run(Joined(words) + " || [ $? -eq 1 ]", shown);  // 1: with a `warn`.
    } else if (program.EndsAtOnce()) {
      world().Run(Joined(words), shown);
    } else if (program.Says({"--metrics-api-listen"})) {
      // It starts only where an API server is: the tests of the metrics APIs start it.
      const auto parsed = ParseClusterFlags(
          std::span(program.arguments).subspan(1), [](const std::string& variable) {
            return variable.starts_with("KUBERNETES_SERVICE_") ? std::optional<std::string>("443")
                                                               : std::nullopt;
          });
      EXPECT_TRUE(parsed.ok()) << parsed.status();
    } else {
      world().Start(program);
    }
  }

  // Asks the programs that run here, whatever host the document names.
  void RunTop(const std::vector<std::string>& words) {
    const bool is_fleet = std::ranges::find(words, "--fleet") != words.end();
    world().StartFor(is_fleet ? ":9401" : ":9400");
    std::string text = Joined(words) + " ";
    RE2::Replace(&text, "[a-z]+://[^ ]+", "");
    world().Run(
        text + "http://127.0.0.1:" + std::to_string(world().RealPort(is_fleet ? 9401 : 9400)), {});
  }

  // A node or a fleet is one of its own, on free ports; the other commands act on the world's node.
  void RunSimulator(std::vector<std::string> words) {
    if (words.at(1) != "run" && words[1] != "fleet") {
      world().Run(Joined(words), {});
      return;
    }
    const bool has_program = std::ranges::find(words, "--") != words.end();
    for (std::string& word : words) {
      RE2::Replace(&word, "^(?:/tmp/node|build/run)$", folder_.path() + "/own");
      RE2::Replace(&word, "^build/nodes$", folder_.path() + "/nodes");
      RE2::Replace(&word, R"(^node\.yaml$)", SimNode::Shipped("one-gpu"));
      RE2::Replace(&word, "^podgpu(?:-sim)?$", PODGPU_BINARY_DIR "/bin/\\0");
    }
    words.insert(words.begin() + 2, words[1] == "run" ? "--engine-tcp=127.0.0.1:0" : "--port=0");
    if (has_program) {
      words.insert(words.begin() + 2, "--dir=" + folder_.path() + "/own");
    }
    Child simulator(words);
    if (has_program) {
      EXPECT_EQ(simulator.Wait(), 0) << simulator.output();
    } else {
      EXPECT_TRUE(simulator.AwaitLine("Ctrl-C ends it").has_value()) << simulator.output();
    }
  }

  const TemporaryFolder folder_;
  std::unique_ptr<World> world_;
};

// "docs/api.md" as the name of a test: "docs_api".
std::string TestName(const ::testing::TestParamInfo<std::string>& path) {
  std::string name = path.param.substr(0, path.param.rfind('.'));
  RE2::GlobalReplace(&name, "[/-]", "_");
  return name;
}

INSTANTIATE_TEST_SUITE_P(Docs, Documents, ::testing::ValuesIn(DocumentPaths()), TestName);

TEST_P(Documents, RunAsWritten) {
  StartChanged();
  for (const Command& command : guide_.Commands()) {
    RunOne(command);
  }
}

class Guides : public Documents {};

std::vector<std::string> GuidePaths() {
  std::vector<std::string> paths = DocumentPaths();
  std::erase_if(paths, [](const std::string& path) { return !IsGuide(path); });
  return paths;
}

INSTANTIATE_TEST_SUITE_P(Docs, Guides, ::testing::ValuesIn(GuidePaths()), TestName);

TEST_P(Guides, HaveBlocksOfKnownKinds) {
  EXPECT_FALSE(guide_.Commands().empty());
  std::string before;
  for (const Block& block : guide_.blocks) {
    const std::string where = guide_.path + ":" + std::to_string(block.line);
    EXPECT_TRUE(RE2::FullMatch(block.kind, "sh|text|diff|yaml|promql|")) << where;
    EXPECT_TRUE(block.kind != "text" || before == "sh") << where << ": output of no command";
    before = block.kind;
    if (block.kind == "yaml") {
      Parsed(block.text(), where);
    }
  }
}

TEST_P(Guides, ChangeAtMostFiveLines) {
  for (const Block* diff : guide_.Of("diff")) {
    const auto added = std::ranges::count_if(
        diff->lines, [](const std::string& line) { return line.starts_with('+'); });
    EXPECT_LE(static_cast<size_t>(added), kMostChangedLines) << guide_.path << ":" << diff->line;
    EXPECT_GE(added, 1) << guide_.path << ":" << diff->line;
  }
}

TEST_P(Guides, HaveQueriesWithAnswers) {
  if (guide_.Of("promql").empty()) {
    return;
  }
  StartChanged();
  StartPrometheus();
  for (const Block* block : guide_.Of("promql")) {
    for (const std::string& query : block->lines) {
      SCOPED_TRACE(guide_.path + ":" + std::to_string(block->line) + ": " + query);
      world().Run(
          "curl -s -G http://localhost:9090/api/v1/query --data-urlencode 'query=" + query + "'",
          {R"(..."value":[...)"});
    }
  }
}

// A rule file of the groups of a PrometheusRule: the text below its "spec:", moved to the left.
std::string GroupsOf(const std::string& rule) {
  std::string groups = rule.substr(rule.find("\nspec:\n") + 7);
  RE2::GlobalReplace(&groups, "(?m)^  ", "");
  return groups;
}

TEST_P(Guides, HaveRulesAndConfigurationsThatPromtoolAccepts) {
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

// All flags and variables of the program and its sub-commands.
std::set<std::string> FlagsAndVariables() {
  std::set<std::string> names = {"NODE_NAME", "POD_NAME", "POD_NAMESPACE", "HOST_IP"};
  const auto add = [&names](const auto& table) {
    for (const auto& flag : table) {
      names.insert({"--" + std::string(flag.name), "--" + std::string(flag.other_name),
                    "-" + std::string(flag.alias), std::string(flag.variable)});
    }
  };
  add(FlagTable());
  add(ClusterFlagTable());
  return names;
}

// All pages of podgpu, and the tables of families, that other tests compare with the program.
std::string Families() {
  std::string all = ReadText("docs/metrics.md") + ReadText("docs/cluster.md");
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden")) {
    all += entry.is_regular_file() ? ReadText(entry.path().string()) + "\n" : "";
  }
  return all;
}

TEST_P(Guides, NameWhatExistsInTheProgram) {
  const std::set<std::string> flags = FlagsAndVariables();
  const std::string families = Families();
  const RE2 is_flag(R"((--?[a-z][a-z-]*|[A-Z][A-Z_]+[A-Z])(=.*| .*)?)");
  const RE2 is_family(
      R"(((?:DCGM_|dcgm_|podgpu_|my_gpu_|avg_|pod_and_|POD_GPU_|container_)[A-Za-z0-9_]+)(\{.*)?)");
  for (const std::string& name : NamesInColumn(guide_, kOurColumn)) {
    std::string head;
    if (flags.contains(name)) {
      continue;
    }
    if (RE2::FullMatch(name, is_family, &head)) {
      EXPECT_TRUE(RE2::PartialMatch(families, "(?m)^(?:\\| `)?" + head + "[{` ]"))
          << guide_.path << ": no page has " << head;
    } else if (RE2::FullMatch(name, is_flag, &head)) {
      EXPECT_TRUE(flags.contains(head)) << guide_.path << ": no flag or variable " << head;
    }
  }
}

// The variables of dcgm-exporter's flags; those of podgpu's own flags begin with PODGPU_.
TEST(MigrationGuides, NameEveryFlagOfTheOldPrograms) {
  const std::string dcgm = ReadText("docs/migrate-from-dcgm-exporter.md");
  const std::string mine = ReadText("docs/migrate-from-my-gpu-exporter.md");
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
  const std::string text = ReadText("docs/migrate-from-pod-gpu-metrics-exporter.md");
  for (const LegacyName& legacy : LegacyNames()) {
    EXPECT_NE(text.find("`" + std::string(legacy.name) + "`"), std::string::npos) << legacy.name;
  }
}

}  // namespace
}  // namespace podgpu::guides
