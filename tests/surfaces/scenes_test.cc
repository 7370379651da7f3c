// What top, the page / and /explain say of a healthy node, a node of the GPU Operator, a laptop,
// and each scenario of faults: golden files.  PODGPU_UPDATE_GOLDEN=1 writes them.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/surfaces/surfaces.h"

namespace podgpu {
namespace {

constexpr std::string_view kGoldenScenes = "tests/golden/surfaces/";

struct NamedScene {
  std::string name;
  std::string scenario;
  std::string seconds;
  std::vector<std::string> words = {};
};

std::vector<NamedScene> Scenes() {
  return {
      {"h100x8-pods", "h100x8-pods", "12"},
      {"gpu-operator", "h100x8-pods", "12", {"processes=on", "own_proc=1"}},
      {"laptop", "no-gpu", "12", {"kubernetes=off", "explain="}},
      {"mig-mixed", "mig-mixed", "12", {"explain=gpu=1"}},
      {"time-slicing", "time-slicing", "12"},
      {"fault-board", "fault-board", "55", {"explain=gpu=1"}},
      {"fault-call", "fault-call", "45"},
      {"fault-driver-reload", "fault-driver-reload", "45"},
      {"fault-field", "fault-field", "35", {"explain="}},
      {"fault-gpu-detached", "fault-gpu-detached", "45", {"explain="}},
      {"fault-gpu-lost", "fault-gpu-lost", "45", {"explain=gpu=3"}},
      {"fault-hang", "fault-hang", "35,45", {"hangs=30"}},
      {"fault-kubelet", "fault-kubelet", "35,95", {"kubelet_down=30"}},
      {"fault-mig", "fault-mig", "45", {"explain=gpu=1"}},
      {"fault-no-driver", "fault-no-driver", "12", {"explain="}},
      {"fault-stale", "fault-stale", "45", {"explain=gpu=1"}},
      {"no-library", "one-gpu", "12", {"library=/nowhere/libdcgm.so.4", "explain="}},
  };
}

class SceneOf : public ::testing::TestWithParam<NamedScene> {};

INSTANTIATE_TEST_SUITE_P(Scenarios, SceneOf, ::testing::ValuesIn(Scenes()), [](const auto& tested) {
  std::string name = tested.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(SceneOf, TopPageAndExplanationAreTheGoldenOnes) {
  const NamedScene& scene = GetParam();
  std::string seen;
  for (const auto& [name, text] :
       SectionsOf({ScenarioText(scene.scenario), scene.seconds, scene.words})) {
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
