// What top, the page / and /explain say in each scene: golden files.  PODGPU_UPDATE_GOLDEN=1 writes
// them.
#include "tests/surfaces/scenes.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

constexpr std::string_view kGoldenScenes = "tests/golden/surfaces/";

class SceneOf : public ::testing::TestWithParam<NamedScene> {};

INSTANTIATE_TEST_SUITE_P(Scenarios, SceneOf, ::testing::ValuesIn(Scenes()),
                         [](const auto& tested) { return TestName(tested.param); });

TEST_P(SceneOf, TopPageAndExplanationAreTheGoldenOnes) {
  const NamedScene& scene = GetParam();
  std::string seen;
  for (const auto& [name, text] : SectionsOf(SceneText(scene))) {
    seen += "== " + name + "\n" + WithoutOwnFigures(text);
  }
  const std::string path = std::string(kGoldenScenes) + scene.name + ".txt";
  if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(kGoldenScenes);
    std::ofstream(path, std::ios::binary) << seen;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(seen, golden) << "PODGPU_UPDATE_GOLDEN=1 writes " << path;
}

}  // namespace
}  // namespace podgpu
