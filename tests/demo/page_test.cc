// The demo's own check: it accepts a page that agrees with the scenario and names every difference.
#include "tests/demo/page.h"

#include <gtest/gtest.h>

namespace podgpu::demo {
namespace {

Expectation TwoGpus() {
  Expectation expected;
  expected.gpus = 2;
  expected.single = {{0, "ml/train/main"}};
  expected.shared = {1};
  expected.most_owners = 2;
  expected.allocations = {"gpu 0: ml/train/main", "gpu 1: web/a/srv", "gpu 1: web/b/srv"};
  return expected;
}

constexpr std::string_view kPage =
    "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n"
    "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\",pod=\"train\",namespace=\"ml\",container="
    "\"main\"} 97\n"
    "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",UUID=\"GPU-2\"} 50\n"
    "podgpu_allocation_info{gpu=\"0\",namespace=\"ml\",pod=\"train\",container=\"main\"} 1\n"
    "podgpu_allocation_info{gpu=\"1\",namespace=\"web\",pod=\"a\",container=\"srv\"} 1\n"
    "podgpu_allocation_info{gpu=\"1\",namespace=\"web\",pod=\"b\",container=\"srv\"} 1\n"
    "podgpu_gpu_energy_by_method_joules_total{gpu=\"1\",method=\"exclusive\"} 1.5\n"
    "podgpu_gpu_energy_by_method_joules_total{gpu=\"1\",method=\"sm_share\"} 30\n"
    "podgpu_gpu_energy_by_method_joules_total{gpu=\"1\",method=\"unattributed\"} 0.25\n"
    "podgpu_pod_gpu_energy_joules_total{gpu=\"1\",namespace=\"web\",pod=\"a\",method="
    "\"exclusive\"} 1.5\n"
    "podgpu_pod_gpu_energy_joules_total{gpu=\"1\",namespace=\"web\",pod=\"a\",method="
    "\"sm_share\"} 10\n"
    "podgpu_pod_gpu_energy_joules_total{gpu=\"1\",namespace=\"web\",pod=\"b\",method="
    "\"sm_share\"} 20\n";

std::string Replaced(std::string text, std::string_view what, std::string_view by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(DemoPage, PassesWhenThePageAgreesWithTheScenario) {
  EXPECT_TRUE(Compare(TwoGpus(), ParsePage(kPage)).empty());
}

TEST(DemoPage, NamesEachDifference) {
  struct Row {
    const char* what;
    const char* by;
    const char* named;
  };
  constexpr Row kRows[] = {
      {"gpu=\"1\",UUID", "gpu=\"0\",UUID", "the page shows 1 GPUs, the scenario has 2"},
      {"pod=\"train\"", "pod=\"other\"",
       "gpu 0 carries the pod labels \"ml/other/main\", the scenario says \"ml/train/main\""},
      {"UUID=\"GPU-2\"", "pod=\"a\",namespace=\"web\",container=\"srv\"",
       "gpu 1 carries the pod labels \"web/a/srv\", the scenario says \"\""},
      {"pod=\"b\"", "pod=\"a\"", "podgpu_allocation_info lacks gpu 1: web/b/srv"},
      {"pod=\"b\"", "pod=\"c\"",
       "podgpu_allocation_info has gpu 1: web/c/srv, which the scenario lacks"},
      {"\"sm_share\"} 20", "\"sm_share\"} 11.5",
       "gpu 1 has different parts of energy for 1 pods, the scenario has 2"},
      {"\"sm_share\"} 20", "\"sm_share\"} 21",
       "the parts of gpu 1's energy are 32.750000 J, the whole is 31.750000 J"},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.named);
    const auto wrong =
        Compare(TwoGpus(), ParsePage(Replaced(std::string(kPage), row.what, row.by)));
    EXPECT_NE(std::find(wrong.begin(), wrong.end(), row.named), wrong.end());
  }
}

TEST(DemoPage, ShowsALineOfEachKindWithOnlyTheMainLabels) {
  Expectation expected = TwoGpus();
  expected.free = {2};
  const std::string page = std::string(kPage) +
                           "DCGM_FI_DEV_GPU_UTIL{gpu=\"2\",UUID=\"GPU-3\"} 0\n"
                           "podgpu_pod_gpu_energy_joules_total{gpu=\"0\",UUID=\"GPU-1\",namespace="
                           "\"ml\",pod=\"train\",method=\"exclusive\"} 18734.5\n";
  EXPECT_EQ(
      ShownLines(expected, ParsePage(page)),
      (std::vector<std::string>{
          "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",...,pod=\"train\",namespace=\"ml\",container=\"main\"} "
          "97",
          "DCGM_FI_DEV_GPU_UTIL{gpu=\"2\",...} 0",
          "podgpu_pod_gpu_energy_joules_total{gpu=\"0\",...,pod=\"train\",method=\"exclusive\"} "
          "18734.5",
          "podgpu_pod_gpu_energy_joules_total{gpu=\"1\",namespace=\"web\",pod=\"a\",method=\"sm_"
          "share\"} 10"}));
}

TEST(DemoPage, DropsLabelsBeforeItCutsANumber) {
  const std::string long_name(60, 'x');
  const auto page = ParsePage(Replaced(std::string(kPage), "container=\"main\"} 97",
                                       "container=\"" + long_name + "\"} 597.408000"));
  EXPECT_EQ(ShownLines(TwoGpus(), page)[0],
            "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",...,pod=\"train\",namespace=\"ml\",...} 597.408000");
}

TEST(DemoPage, ReadsEscapesInLabels) {
  const auto page = ParsePage("a{b=\"x\\\"y\\\\z\\n\",c=\"}\"} 1 2\nd 3\n");
  ASSERT_EQ(page.size(), 2U);
  EXPECT_EQ(page[0].Label("b"), "x\"y\\z\n");
  EXPECT_EQ(page[0].Label("c"), "}");
  EXPECT_EQ(page[0].value, "1 2");
  EXPECT_EQ(page[1].family, "d");
  EXPECT_EQ(page[1].value, "3");
}

}  // namespace
}  // namespace podgpu::demo
