// The per-pod page of pod-gpu-metrics-exporter on a real node: over HTTP and as files.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

constexpr std::string_view kOwned =
    "container_name=\"main\",gpu=\"0\",pod_name=\"train-0\",pod_namespace=\"research\",uuid=\"";

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Legacy : public FailureFixture {
 protected:
  Legacy() : FailureFixture(std::string(kThreeGpus) + "kubelet: {versions: [v1alpha1]}\n") {}
};

TEST_F(Legacy, ThePageNamesThePodsOfAnOldKubelet) {
  StartExporter();
  ASSERT_TRUE(exporter_->Await("/gpu/metrics", kOwned)) << exporter_->Get("/");
  ASSERT_TRUE(exporter_->Await("/gpu/metrics", "\ndcgm_power_violation{")) << exporter_->Get("/");
  ASSERT_TRUE(exporter_->Await("/gpu/metrics", "\ndcgm_fi_prof_sm_occupancy{"));
  const MetricPage page(exporter_->Get("/gpu/metrics"));
  EXPECT_EQ(page.Lines("dcgm_gpu_temp").size(), 3U);
  EXPECT_EQ(page.Lines("dcgm_gpu_temp", {Gpu("2"), "pod_name="}).size(), 0U)
      << "the pod holds an instance, not the GPU";
  EXPECT_EQ(page.text().find("DCGM_FI"), std::string::npos);
  EXPECT_EQ(page.text().find("podgpu_"), std::string::npos);
}

TEST_F(Legacy, TheFirstAnswerHasAllFamiliesAndThreeDecimals) {
  for (const char* source : {"dcgm", "nvml"}) {
    StartExporter({"--source=" + std::string(source)});
    const std::string first = exporter_->Get("/gpu/metrics");
    ASSERT_TRUE(exporter_->Await("/gpu/metrics", "\ndcgm_power_violation{")) << source;
    ASSERT_TRUE(exporter_->Await("/gpu/metrics", "\ndcgm_fi_prof_sm_occupancy{")) << source;
    const MetricPage later(exporter_->Get("/gpu/metrics"));
    const std::set<std::string> had = MetricPage(first).Series({"dcgm_"});
    for (const std::string& series : later.Series({"dcgm_"})) {
      EXPECT_TRUE(had.contains(series)) << source << ": " << series;
    }
    for (const char* family : {"dcgm_power_usage", "dcgm_fi_prof_sm_active"}) {
      for (const std::string_view line : later.Lines(family)) {
        EXPECT_EQ(line.size() - line.rfind('.'), 4U) << line;
      }
    }
  }
}

TEST_F(Legacy, PodsComeWithTheKubeletAndValuesContinueMeanwhile) {
  ASSERT_TRUE(node_.ready()) << node_.output();
  const std::string socket = node_.kubelet_socket();
  std::filesystem::rename(socket, socket + ".away");
  exporter_.emplace(node_, std::vector<std::string>{"-c=200", "--stale-after=20s"});
  ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  ASSERT_TRUE(exporter_->Await("/gpu/metrics", "\ndcgm_total_energy_consumption{gpu=\"0\",uuid="));
  const std::optional<double> before =
      MetricPage(exporter_->Get("/gpu/metrics")).Value("dcgm_total_energy_consumption", {Gpu("0")});
  EXPECT_TRUE(exporter_->AwaitPage("/gpu/metrics", [&](const std::string& text) {
    EXPECT_EQ(text.find("pod_name="), std::string::npos);
    return MetricPage(text).Value("dcgm_total_energy_consumption", {Gpu("0")}) > before;
  }));
  std::filesystem::rename(socket + ".away", socket);
  EXPECT_TRUE(exporter_->Await("/gpu/metrics", kOwned)) << exporter_->Get("/");
}

TEST_F(Legacy, TheFilesFollowTheReadingsAndAreRemovedAtTheEnd) {
  const std::string devices = files_.path() + "/dcgm.prom";
  const std::string pods = files_.path() + "/dcgm-pod.prom";
  StartExporter(
      {"--textfile-device=" + devices, "--textfile-pod=" + pods, "--textfile-interval=100"});
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Value("podgpu_textfile_writes_total", {R"(result="written")"}).value_or(0) > 20;
  }));
  EXPECT_NE(FileText(pods).find(kOwned), std::string::npos);
  EXPECT_EQ(FileText(devices).find("pod_name"), std::string::npos);
  EXPECT_NE(FileText(devices).find("\ndcgm_gpu_temp{gpu=\"1\",uuid="), std::string::npos);
  exporter_->process().Signal(SIGTERM);
  EXPECT_EQ(exporter_->process().Wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(pods));
  EXPECT_FALSE(std::filesystem::exists(devices));
}

}  // namespace
}  // namespace podgpu
