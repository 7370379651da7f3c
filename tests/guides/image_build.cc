#include "tests/guides/image_build.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/text.h"

namespace podgpu::guides {
namespace {

// The names of all stages: NAME of each "FROM IMAGE AS NAME", in order.
std::vector<std::string> StagesOf(std::string_view dockerfile) {
  constexpr std::string_view kAs = " AS ";
  std::vector<std::string> stages;
  for (const std::string_view line : Split(dockerfile, '\n')) {
    const size_t at = line.find(kAs);
    if (line.starts_with("FROM ")) {
      stages.emplace_back(at == line.npos ? "" : line.substr(at + kAs.size()));
    }
  }
  return stages;
}

}  // namespace

std::string WrongBuild(const std::vector<std::string>& words, std::string_view dockerfile) {
  const std::vector<std::string> stages = StagesOf(dockerfile);
  std::string target = stages.empty() ? "" : stages.back();
  std::string wrong;
  if (words.size() < 3 || words[1] != "build" || words.back() != ".") {
    wrong += "is not `docker build ... .`\n";
  }
  bool is_chosen = false;
  for (size_t i = 2; i + 1 < words.size(); ++i) {
    if (words[i] == "--target") {
      is_chosen = true;
      target = words[i + 1];
    } else if (words[i] == "--build-arg") {
      const std::string name = words[i + 1].substr(0, words[i + 1].find('='));
      if (dockerfile.find("\nARG " + name + "=") == dockerfile.npos) {
        wrong += "the Dockerfile has no argument " + name + "\n";
      }
    }
  }
  if (std::ranges::find(stages, target) == stages.end()) {
    wrong += "the Dockerfile has no stage " + target + "\n";
  } else if (!is_chosen && target != "podgpu") {
    wrong += "without --target the last stage is built, which is " + target + ", not podgpu\n";
  }
  return wrong;
}

std::string Dockerfile() {
  std::ifstream file("Dockerfile", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace podgpu::guides
