// The scenes that people see: a healthy node, a node of the GPU Operator, laptops, and each
// scenario of faults.
//
// For tests.  Any thread.
#pragma once

#include <string>
#include <vector>

#include "tests/surfaces/surfaces.h"

namespace podgpu {

struct NamedScene {
  std::string name;
  std::string scenario;  // Name of a shipped scenario.
  std::string seconds;
  std::vector<std::string> words = {};
};

std::vector<NamedScene> Scenes();

// The scene with the text of its scenario, and further words.
Scene SceneText(const NamedScene& scene, const std::vector<std::string>& more_words = {});

// The name of a test of this scene.
std::string TestName(const NamedScene& scene);

}  // namespace podgpu
