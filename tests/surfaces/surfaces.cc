#include "tests/surfaces/surfaces.h"

#include <fstream>
#include <iterator>
#include <re2/re2.h>
#include <utility>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {

std::vector<std::pair<std::string, std::string>> SectionsOf(const Scene& scene) {
  const TemporaryFolder folder;
  std::vector<std::string> words = {PODGPU_BINARY_DIR "/bin/surfaces_at",
                                    folder.Write("node.yaml", scene.scenario), scene.seconds};
  words.insert(words.end(), scene.words.begin(), scene.words.end());
  Child program(words);
  EXPECT_EQ(program.Wait(), 0) << program.output();
  std::vector<std::pair<std::string, std::string>> sections;
  constexpr std::string_view kHead = "== ";
  for (const std::string_view line : Split(program.output(), '\n')) {
    if (line.starts_with(kHead)) {
      sections.emplace_back(line.substr(kHead.size()), "");
    } else if (!sections.empty()) {
      sections.back().second += std::string(line) + "\n";
    }
  }
  if (!sections.empty()) {
    sections.back().second.pop_back();  // Split gives an empty line after the last newline.
  }
  return sections;
}

std::string ScenarioText(std::string_view name) {
  std::ifstream file(SimNode::Shipped(name));
  std::string scenario{std::istreambuf_iterator<char>(file), {}};
  const std::string now = "epoch: start\n";
  if (const size_t at = scenario.find(now); at != std::string::npos) {
    scenario.erase(at, now.size());
  }
  return scenario + "\nepoch: 2026-03-01T12:00:00Z\n";
}

std::string WithoutOwnFigures(std::string text) {
  constexpr std::pair<const char*, const char*> kOwn[] = {
      {R"([\d.]+ MiB)", "N MiB"},
      {R"([\d.]+ % of a core)", "N % of a core"},
      {R"([\d,]+ series)", "N series"},
      {R"(slowest scrape [\d.]+ ms)", "slowest scrape N ms"},
      {R"(time=\S+)", "time=TIME"},
      {R"(/tmp/run-\w+)", "DIR"},
      {R"(podgpu \d[\w.-]* on)", "podgpu VERSION on"},
      {PODGPU_BINARY_DIR, "BUILD"}};
  for (const auto& [pattern, word] : kOwn) {
    RE2::GlobalReplace(&text, pattern, word);
  }
  return text;
}

}  // namespace podgpu
