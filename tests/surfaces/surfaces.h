// What people see of a simulated node, from the program surfaces_at.
//
// For tests of what top, page, explanation and log say in a scenario.  Each call runs the program
// once, in a process of its own, on the virtual clock; it needs no port.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu {

struct Scene {
  std::string scenario;                 // The text of a scenario.
  std::string seconds;                  // "35" or "35,36": when to look.
  std::vector<std::string> words = {};  // KEY=VALUE, as surfaces_at.cc lists them.
};

// The sections that the program prints, in their order; names such as "top at 35 s".  Fails the
// test when the program fails.
std::vector<std::pair<std::string, std::string>> SectionsOf(const Scene& scene);

// A shipped scenario, with a fixed start date.
std::string ScenarioText(std::string_view name);

// Returns `text` with the figures that differ from run to run replaced by words: what podgpu itself
// costs, times of the log, temporary folders, the version.
std::string WithoutOwnFigures(std::string text);

}  // namespace podgpu
