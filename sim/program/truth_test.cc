#include "sim/program/truth.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "sim/scenario/compile.h"

namespace podgpu::sim {
namespace {

// Two processes with known energy: 387 W for four of six seconds from the start, and 156 W from the
// tenth second on; idle 70 W.
constexpr char kWorkedScenario[] = R"(format: 1
name: "worked"
seed: 1
noise_mw: 0
gpus:
  - {class: h100-sxm5-80gb}
loads:
  a: {phases: [{for: 4s, sm: 60%, mem: 30%}, {for: 2s}]}
  b: {phases: [{for: 1s, sm: 30%, mem: 10%}]}
pods:
  - {name: p, namespace: n, containers: [{name: c, gpus: [0], processes: [
      {pid: 4101, gpu: 0, load: a, memory: 1GiB, k_w: 600, m_w: 90}]}]}
  - {name: q, namespace: n, start: 10s, stop: 50s, containers: [{name: c, gpus: [0], processes: [
      {pid: 4102, gpu: 0, load: b, memory: 1GiB, k_w: 500, m_w: 60}]}]}
)";

std::unique_ptr<World> WorkedExample(std::vector<std::byte>& image) {
  CompileResult compiled = CompileScenario(kWorkedScenario, "worked.yaml");
  for (const std::string& error : compiled.errors) {
    ADD_FAILURE() << error;
  }
  image = std::move(compiled.image);
  std::string error;
  std::unique_ptr<World> world = World::Open(image, error);
  EXPECT_NE(world, nullptr) << error;
  return world;
}

TEST(TruthJson, GivesKnownEnergyExactly) {
  std::vector<std::byte> image;
  const std::unique_ptr<World> world = WorkedExample(image);
  ASSERT_NE(world, nullptr);
  const std::string json = TruthJson(*world, 0, 12'345'678);
  for (const char* part : {
           R"({"scenario":"worked","from_us":0,"at_us":12345678,"gpus":[)",
           R"("energy_nj":"4459900614000","idle_nj":"864197460000","noise_nj":"0")",
           R"({"pid":4101,"gpu":0,"namespace":"n","pod":"p","container":"c",)",
           R"("pod":"p","container":"c","energy_nj":"3229777386000")",
           R"("pod":"q","container":"c","energy_nj":"365925768000")",
           // 70 W for ten seconds alone and half of the other 2.345678 s.
           R"("resident_idle_nj":"782098730000")",
           R"("resident_idle_nj":"82098730000")",
       }) {
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
  }
}

TEST(TruthJson, OfAPeriodIsTheDifferenceOfItsEnds) {
  std::vector<std::byte> image;
  const std::unique_ptr<World> world = WorkedExample(image);
  ASSERT_NE(world, nullptr);
  const std::string json = TruthJson(*world, 12'000'000, 12'300'000);
  EXPECT_NE(json.find(R"("energy_nj":"183900000000","idle_nj":"21000000000")"), std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("pod":"q","container":"c","energy_nj":"46800000000")"), std::string::npos)
      << json;
}

TEST(TruthJson, LeavesOutProcessesThatDidNotLiveThen) {
  std::vector<std::byte> image;
  const std::unique_ptr<World> world = WorkedExample(image);
  ASSERT_NE(world, nullptr);
  EXPECT_EQ(TruthJson(*world, 0, 10'000'000).find("4102"), std::string::npos);
  EXPECT_EQ(TruthJson(*world, 50'000'000, 60'000'000).find("4102"), std::string::npos);
  EXPECT_EQ(TruthJson(*world, 5, 5).find("\"pid\""), std::string::npos);
}

}  // namespace
}  // namespace podgpu::sim
