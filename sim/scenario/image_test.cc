// Damaged images, and the scenarios that the documents show.
#include "sim/world/image.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "sim/scenario/compile.h"
#include "sim/scenario/gpu_classes.h"
#include "sim/testing/world.h"

namespace podgpu::sim {
namespace {

// The fenced yaml blocks of docs/scenarios.md.
std::vector<std::string> DocumentedScenarios() {
  std::ifstream file("docs/scenarios.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  constexpr std::string_view kOpen = "```yaml\n";
  std::vector<std::string> blocks;
  for (size_t at = text.find(kOpen); at != std::string::npos; at = text.find(kOpen, at)) {
    at += kOpen.size();
    blocks.push_back(text.substr(at, text.find("```", at) - at));
  }
  return blocks;
}

TEST(Documents, ShowScenariosThatCompile) {
  const auto blocks = DocumentedScenarios();
  EXPECT_EQ(blocks.size(), 4U);
  for (const std::string& block : blocks) {
    EXPECT_EQ(CompileScenario(block, "docs/scenarios.md").errors, std::vector<std::string>())
        << block;
  }
}

TEST(Documents, NameEveryClassAndEveryShippedScenario) {
  std::ifstream file("docs/scenarios.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const GpuClass& row : GpuClasses()) {
    EXPECT_NE(text.find("`" + std::string(row.name) + "`"), std::string::npos) << row.name;
  }
  const std::string folder = "sim/scenarios";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << name;
    EXPECT_TRUE(CompileScenario(ShippedScenario(name), name).errors.empty()) << name;
  }
}

TEST(Images, AreRefusedWhenInvalid) {
  const TestWorld world(ShippedScenario("one-gpu"));
  const auto error_of = [](std::vector<std::byte> image) {
    std::string error;
    EXPECT_EQ(World::Open(image, error), nullptr);
    return error;
  };
  EXPECT_EQ(error_of({}), "world image: 0 bytes are too few for a header");
  auto image = world.image();
  image[0] = std::byte{'X'};
  EXPECT_EQ(error_of(image),
            "world image: wrong magic, so it is no world image; compile the scenario again");
  image = world.image();
  image[8] = std::byte{9};
  EXPECT_EQ(error_of(image),
            "world image: format version 9, this program reads 7; compile the scenario again");
  image = world.image();
  image.pop_back();
  EXPECT_EQ(error_of(image), "world image: " + std::to_string(image.size()) +
                                 " bytes, its header says " + std::to_string(image.size() + 1) +
                                 "; it is cut short or still being written");
}

TEST(Images, WithAnyWrongByteAreRefusedOrReadSafely) {
  const TestWorld world(ShippedScenario("worked-example"));
  for (size_t i = 40; i < world.image().size(); ++i) {
    auto image = world.image();
    image[i] ^= std::byte{0xff};
    std::string error;
    const auto broken = World::Open(image, error);
    if (broken == nullptr) {
      EXPECT_EQ(error, "world image: damaged; compile the scenario again") << i;
      continue;
    }
    for (const TimeUs t : {TimeUs{0}, 12 * kSecondUs, 3'600 * kSecondUs}) {
      PodsAt(*broken, t);
      EXPECT_GE(broken->process_count(t), 0);
      EXPECT_GE(broken->gpu_count(), 0);
      EXPECT_GE(broken->FindProcess(4102, t).value_or(ProcessLife()).peak_memory_bytes, 0);
      EXPECT_LE(broken->EndedProcesses(0, -1, t, 3).size(), 3U);
    }
  }
}

}  // namespace
}  // namespace podgpu::sim
