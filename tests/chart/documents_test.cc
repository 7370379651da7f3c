// The chart's documents: every value is in the schema, has a comment in values.yaml and a row in
// README.md, and each command of a document that installs the chart is one that Helm accepts.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/chart/helm.h"
#include "tests/e2e/child.h"
#include "tests/guides/guide.h"

namespace podgpu {
namespace {

std::string FileOfChart(const std::string& name) {
  std::ifstream file(ChartFolder() + "/" + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Maps whose keys the user chooses; so is every empty map.
bool IsOpenMap(const std::string& path) {
  return path == "securityContext" || path == "resources" || path == "cluster.resources";
}

// The paths of all values, with dots.
void CollectPaths(const YAML::Node& node, const std::string& path,
                  std::vector<std::string>& paths) {
  if (!node.IsMap() || node.size() == 0 || IsOpenMap(path)) {
    paths.push_back(path);
    return;
  }
  for (const auto& entry : node) {
    CollectPaths(entry.second,
                 path.empty() ? entry.first.Scalar() : path + "." + entry.first.Scalar(), paths);
  }
}

std::vector<std::string> ValuePaths() {
  std::vector<std::string> paths;
  CollectPaths(YAML::Load(FileOfChart("values.yaml")), "", paths);
  return paths;
}

TEST(ChartSchema, HasEveryValue) {
  const YAML::Node schema = YAML::Load(FileOfChart("values.schema.json"));
  for (const std::string& path : ValuePaths()) {
    std::string at;
    for (const std::string_view key : Split(path, '.')) {
      at.append(at.empty() ? "" : "/").append("properties/").append(key);
    }
    EXPECT_NE(TextAt(schema, at), "") << path;
  }
}

// The line above each key of values.yaml, by the path of the key.
std::map<std::string, std::string> LinesAbove() {
  std::map<std::string, std::string> above;
  std::vector<std::pair<size_t, std::string>> parents;  // Indentation and path.
  const std::string values = FileOfChart("values.yaml");
  std::string_view before;
  for (const std::string_view line : Split(values, '\n')) {
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view text = line.substr(indent);
    const size_t colon = text.find(':');
    if (colon != std::string_view::npos && text.front() != '#' && text.front() != '-') {
      while (!parents.empty() && parents.back().first >= indent) {
        parents.pop_back();
      }
      const std::string prefix = parents.empty() ? "" : parents.back().second + ".";
      parents.emplace_back(indent, prefix + std::string(text.substr(0, colon)));
      above[parents.back().second] = Trim(before);
    }
    before = line;
  }
  return above;
}

TEST(ChartValues, HaveAComment) {
  std::map<std::string, std::string> above = LinesAbove();
  for (const std::string& path : ValuePaths()) {
    EXPECT_TRUE(above[path].starts_with("# ")) << path << " has no comment in values.yaml";
  }
}

TEST(ChartReadme, HasARowForEveryValue) {
  const std::string readme = FileOfChart("README.md");
  for (const std::string& path : ValuePaths()) {
    EXPECT_NE(readme.find("`" + path + "`"), std::string::npos) << path << " is not in README.md";
  }
}

// A row of the table begins with the name of a value: it must exist.
TEST(ChartReadme, NamesNoOtherValue) {
  const std::vector<std::string> paths = ValuePaths();
  const std::string readme = FileOfChart("README.md");
  for (const std::string_view line : Split(readme, '\n')) {
    if (!line.starts_with("| `")) {
      continue;
    }
    const std::string_view cell = line.substr(1, line.find(" |", 1) - 1);
    const std::vector<std::string_view> quoted = Split(cell, '`');
    for (size_t at = 1; at < quoted.size(); at += 2) {
      EXPECT_TRUE(std::ranges::find(paths, std::string(quoted[at])) != paths.end()) << quoted[at];
    }
  }
}

// Helm renders what the command would install, with the values and files that the document shows.
TEST(ChartCommands, OfAllDocumentsAreAcceptedByHelm) {
  size_t commands = 0;
  for (const std::string& path : guides::DocumentPaths()) {
    const guides::Guide guide = guides::ReadGuide(path);
    const TemporaryFolder folder;
    for (const guides::Command& command : guide.Commands()) {
      std::vector<std::string> words = guides::Words(command.text);
      if (words[0] != "helm" || std::ranges::find(words, ChartFolder()) == words.end()) {
        continue;
      }
      words.erase(words.begin());
      words[0] = "template";  // In place of install or upgrade, as are these flags of upgrade.
      std::erase_if(words, [](const std::string& word) {
        return word == "--install" || word.ends_with("reuse-values");
      });
      for (size_t i = 1; i < words.size(); ++i) {
        words[i] =
            words[i - 1] == "-f" ? folder.Write(words[i], guide.FileNamed(words[i])) : words[i];
      }
      const HelmResult result = RunHelm(words);
      EXPECT_EQ(result.exit_code, 0) << path << ":" << command.line << ": " << command.text << "\n"
                                     << result.output;
      ++commands;
    }
  }
  EXPECT_GE(commands, 25U);
}

}  // namespace
}  // namespace podgpu
