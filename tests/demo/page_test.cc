// The demo's own check: it accepts a page that agrees with the scenario and names every difference.
#include "tests/demo/page.h"

#include <gtest/gtest.h>

#include "sim/testing/world.h"

namespace podgpu::demo {
namespace {

constexpr char kScenario[] = R"(format: 1
name: two
gpus: [{class: h100-sxm5-80gb}, {class: h100-sxm5-80gb}]
pods:
  - {name: train, namespace: ml, containers: [{name: main, gpus: [0]}]}
)";
constexpr std::string_view kPage = R"(
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="A",pod="train",namespace="ml",container="main"} 97
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="B",Hostname="n"} 50
podgpu_allocation_info{gpu="0",namespace="ml",pod="train",container="main"} 1
podgpu_pod_gpu_energy_joules_total{gpu="0",namespace="ml",pod="train",container="main"} 1.5
)";

TEST(DemoPage, NamesEachDifferenceFromTheScenario) {
  const sim::TestWorld world(kScenario);
  struct Row {
    std::string_view what, by;
    std::vector<std::string> differences;
  };
  const Row rows[] = {
      {"", "", {}},
      {R"(UTIL{gpu="0")", "X{", {"missing: gpu 0 has the labels of ml/train/main"}},
      {R"(Hostname="n")",
       R"(pod="train")",
       {"missing: gpu 1 has the labels of //", "unexpected: gpu 1 has the labels of /train/"}},
      {R"(pod="train",container="main"} 1)",
       R"(pod="other",container="main"} 1)",
       {"missing: gpu 0 is given to ml/train/main", "unexpected: gpu 0 is given to ml/other/main"}},
      {"1.5", "0.000", {"missing: gpu 0 has used energy for ml/train/main"}},
  };
  for (const Row& row : rows) {
    std::string page(kPage);
    page.replace(page.find(row.what), row.what.size(), row.by);
    EXPECT_EQ(Differences(ExpectationOf(*world, 0).page, FactsOfNode(MetricPage(page))),
              row.differences);
  }
}

}  // namespace
}  // namespace podgpu::demo
