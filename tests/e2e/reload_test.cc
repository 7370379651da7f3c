// The counters file is changed while podgpu runs: by an editor, by a ConfigMap volume, by SIGHUP.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

constexpr std::string_view kTemperature = "DCGM_FI_DEV_GPU_TEMP, gauge, GPU temperature\n";
constexpr std::string_view kProfiling =
    "DCGM_FI_DEV_DEC_UTIL, gauge, decoder utilisation\n"
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE, gauge, graphics engine active\n"
    "DCGM_FI_DRIVER_VERSION, label, driver\n";
constexpr std::string_view kBroken = "DCGM_FI_DEV_GPU_TEMP, gauge\n";

void WriteInPlace(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::trunc) << content;
}

class Reload : public FailureFixture {
 protected:
  Reload() : FailureFixture(kThreeGpus) {}

  void StartWith(const std::string& path, const std::string& pace = "-c=200") {
    exporter_.emplace(node_, std::vector<std::string>{pace, "--collectors=" + path});
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
    ASSERT_TRUE(exporter_->Await("/metrics", "\nDCGM_FI_DEV_GPU_TEMP{")) << exporter_->Get("/");
  }
  // Waits for both at once, so no page has profiling without the label of the same list.
  void ExpectProfilingList() {
    EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
      return page.Has("DCGM_FI_PROF_GR_ENGINE_ACTIVE") && page.Has("DCGM_FI_DEV_DEC_UTIL") &&
             !page.Has("DCGM_FI_DEV_GPU_TEMP");
    })) << exporter_->Get("/");
    EXPECT_NE(exporter_->Get("/metrics").find("DCGM_FI_DRIVER_VERSION=\""), std::string::npos);
  }
};

// As the kubelet updates a ConfigMap volume: the file is a link into ..data, and ..data is a link
// that is replaced by a rename.
TEST_F(Reload, ASwappedConfigMapVolumeIsApplied) {
  namespace fs = std::filesystem;
  const fs::path volume = files_.path();
  for (const auto& [name, content] :
       {std::pair("..first", kTemperature), {"..second", kProfiling}}) {
    fs::create_directory(volume / name);
    WriteInPlace(volume / name / "counters.csv", content);
  }
  fs::create_directory_symlink("..first", volume / "..data");
  fs::create_symlink("..data/counters.csv", volume / "counters.csv");
  StartWith(volume / "counters.csv");
  fs::create_directory_symlink("..second", volume / "..data_tmp");
  fs::rename(volume / "..data_tmp", volume / "..data");
  ExpectProfilingList();
}

TEST_F(Reload, AnInvalidFileIsRefusedAndACorrectedOneApplied) {
  const std::string path = files_.Write("counters.csv", kTemperature);
  StartWith(path);
  WriteInPlace(path, kBroken);
  EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Value("podgpu_config_reloads_total", {R"(result="refused")"}) == 1;
  }));
  EXPECT_EQ(Page().Value("podgpu_config_last_reload_successful"), 0);
  EXPECT_TRUE(Page().Has("DCGM_FI_DEV_GPU_TEMP"));
  EXPECT_NE(exporter_->Get("/").find("counters.csv:1: "), std::string::npos);
  WriteInPlace(path, kProfiling);
  ExpectProfilingList();
  EXPECT_EQ(Page().Value("podgpu_config_last_reload_successful"), 1);
}

// The first rate of a first watch comes after a period; that of a renewed watch comes at once.
TEST_F(Reload, SighupWithAnUnchangedFileKeepsProfilingRows) {
  const std::string path =
      files_.Write("counters.csv", std::string(kTemperature) + std::string(kProfiling));
  StartWith(path, "-c=2000");
  ASSERT_TRUE(exporter_->Await("/metrics", "\nDCGM_FI_PROF_GR_ENGINE_ACTIVE{"));
  const std::set<std::string> before = Page().Series({"DCGM_FI_PROF_"});
  ::kill(exporter_->process().pid(), SIGHUP);
  constexpr int kPagesAfter = 20;  // Pages from the reading after the reload.
  int pages = 0;
  EXPECT_TRUE(AwaitPage([&](const MetricPage& page) {
    EXPECT_EQ(page.Series({"DCGM_FI_PROF_"}), before);
    pages += page.Value("podgpu_config_reloads_total", {R"(result="taken_over")"}) == 1 ? 1 : 0;
    return pages == kPagesAfter || HasFailure();
  }));
}

constexpr std::string_view kConfig =
    "version: 2\n"
    "metrics:\n"
    "  fields:\n"
    "    - {name: DCGM_FI_DEV_GPU_TEMP, prometheusType: gauge, help: GPU temperature}\n"
    "    - {name: DCGM_FI_DEV_POWER_USAGE, prometheusType: gauge, help: power}\n"
    "collections:\n"
    "  - {name: scrape, every: 200ms, metrics: {include: ['*']}}\n"
    "  - {name: slow, every: 1h, metrics: {include: ['*POWER*']}}\n";
constexpr std::string_view kFastConfig =
    "version: 1\n"
    "metrics:\n"
    "  fields:\n"
    "    - {name: DCGM_FI_DEV_POWER_USAGE, prometheusType: gauge, help: power}\n"
    "collection:\n"
    "  interval: 200ms\n"
    "  watchGroups: [{name: fast, interval: 100ms, fields: ['*POWER*']}]\n";

// The value of the slow collection stays, and the page tells its age.
TEST_F(Reload, AYamlConfigurationIsReadAndAChangedOneApplied) {
  const std::string path = files_.Write("config.yaml", kConfig);
  exporter_.emplace(node_, std::vector<std::string>{"--config-file=" + path});
  ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  // The first page may be older than the kubelet's first answer.
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Has("DCGM_FI_DEV_POWER_USAGE", {R"(pod="train-1")"}) &&
           page.Has("DCGM_FI_DEV_GPU_TEMP");
  })) << exporter_->Get("/");
  EXPECT_EQ(Page().Value("podgpu_collection_interval_seconds", {R"(collection="slow")"}), 3600);
  const std::set<std::string> powers = Page().Series({"DCGM_FI_DEV_POWER_USAGE"});
  EXPECT_TRUE(AwaitPage([&](const MetricPage& page) {
    EXPECT_EQ(page.Series({"DCGM_FI_DEV_POWER_USAGE"}), powers);
    return page.Value("podgpu_collection_age_seconds", {R"(collection="slow")"}) > 1 ||
           HasFailure();
  }));
  EXPECT_NE(exporter_->Get("/").find("(slow, 1 field: every 3600 s)"), std::string::npos);

  WriteInPlace(path, "version: 7\n");
  EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Value("podgpu_config_reloads_total", {R"(result="refused")"}) == 1;
  }));
  EXPECT_NE(exporter_->Get("/").find("config.yaml:1: version: "), std::string::npos);
  EXPECT_TRUE(Page().Has("DCGM_FI_DEV_GPU_TEMP"));

  WriteInPlace(path, kFastConfig);
  EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
    return !page.Has("DCGM_FI_DEV_GPU_TEMP") &&
           page.Value("podgpu_collection_interval_seconds", {R"(collection="fast")"}) == 0.1;
  })) << exporter_->Get("/");

  WriteInPlace(path, "version: 2\n");
  EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Has("DCGM_FI_DEV_GPU_TEMP") && !page.Has("podgpu_collection_interval_seconds");
  })) << exporter_->Get("/");
}

}  // namespace
}  // namespace podgpu
