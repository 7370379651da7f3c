// Worlds for tests: compile a scenario that must be good, and open it.
//
// A TestWorld owns the image that its World reads.  Used by the tests of this folder and by
// in-process tests elsewhere that link podgpu_sim_scenario_instrumented.  GoogleTest only; a bad
// scenario ends the program with its errors, since no test can go on without a world.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/compile.h"
#include "sim/world.h"

namespace podgpu::sim {

class TestWorld {
 public:
  explicit TestWorld(std::string_view text, std::string_view control = "")
      : result_(CompileScenario(text, "test.yaml", control, "control.yaml")) {
    std::string error;
    if (result_.errors.empty()) {
      world_ = World::Open(result_.image, error);
    }
    for (const std::string& line : result_.errors) {
      std::fprintf(stderr, "%s\n", line.c_str());
    }
    if (world_ == nullptr) {
      std::fprintf(stderr, "%s\n", error.c_str());
      std::abort();
    }
  }

  const World* operator->() const { return world_.get(); }
  const World& operator*() const { return *world_; }
  const std::vector<std::byte>& image() const { return result_.image; }

 private:
  CompileResult result_;
  std::unique_ptr<World> world_;
};

// The text of a shipped scenario, by name.
inline std::string ShippedScenario(std::string_view name) {
  std::ifstream file(std::string(PODGPU_SOURCE_DIR) + "/sim/scenarios/" + std::string(name) +
                     ".yaml");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace podgpu::sim
