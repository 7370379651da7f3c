// Defects of dcgm-exporter that podgpu does not have.  defect_lines.cc lists all of them with the
// test of each; the tests that belong to no room are here.
#include <csignal>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_links.h"
#include "tests/e2e/failure_fixture.h"
#include "tests/page_node.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

using abi::DCGM_FE_GPU;

constexpr const char* kTempLine = "DCGM_FI_DEV_GPU_TEMP,gauge,t\n";

TEST(Defects, HostileNamesAreEscaped) {
  PageNode node(1);
  node.options.kubernetes = true;
  node.dcgm.gpus[0].model = "a \"quoted\" back\\slash";
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 42);
  const std::string page =
      node.Page("DCGM_FI_DEV_GPU_TEMP,gauge,\"a \"\"word\"\" and a \\ in the help\"\n");
  EXPECT_NE(page.find(R"(modelName="a \"quoted\" back\\slash")"), std::string::npos) << page;
  const auto families = ParseTextStrictly(page);
  ASSERT_TRUE(families.ok()) << families.status();
  EXPECT_EQ(families->at(0).help, "a \"word\" and a \\ in the help");
}

TEST(Defects, AnUnknownMigDeviceAffectsNoOtherRow) {
  PageNode node(1);
  node.options.kubernetes = true;
  node.dcgm.switches = {{0, {}}};
  node.dcgm.cpus = {{0, {17}}};
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 42);
  node.dcgm.SetInt64(abi::DCGM_FE_SWITCH, 0, 858, 38);
  node.dcgm.SetDouble(abi::DCGM_FE_CPU, 0, 1100, 0.5);
  node.allocations = {Given("ml", "train-0", "main", "MIG-aaaaaaaa-0000-0000-0000-000000000099",
                            "nvidia.com/mig-1g.10gb")};
  const auto rows = node.Rows(std::string(kTempLine) +
                                  "DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT,gauge,x\n"
                                  "DCGM_FI_DEV_CPU_UTIL_TOTAL,gauge,x\n",
                              "DCGM_FI_");
  EXPECT_EQ(rows.size(), 3U);
  for (const std::string& row : rows) {
    EXPECT_EQ(row.find("pod="), std::string::npos) << row;
  }
}

TEST(Defects, IdsOfGpusMayHaveGaps) {
  PageNode node(3);
  node.dcgm.gpus.erase(node.dcgm.gpus.begin() + 1);
  for (const uint32_t gpu : {0U, 2U}) {
    node.dcgm.SetInt64(DCGM_FE_GPU, gpu, 150, 40 + gpu);
  }
  const auto rows = node.Rows(kTempLine, "DCGM_FI_");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_NE(rows[1].find(R"({gpu="2",UUID="GPU-33333333-)"), std::string::npos) << rows[1];
  EXPECT_NE(rows[1].find(R"(device="nvidia2")"), std::string::npos) << rows[1];
  EXPECT_TRUE(rows[1].ends_with("} 42")) << rows[1];
}

class DefectsOfReloads : public FailureFixture {
 protected:
  DefectsOfReloads() : FailureFixture(kThreeGpus) {}
};

TEST_F(DefectsOfReloads, AreAppliedAfterAGpuWasRemovedAndAdded) {
  const std::string path = files_.Write("counters.csv", kTempLine);
  exporter_.emplace(node_, std::vector<std::string>{"-c=200", "--stale-after=20s", "-f", path});
  const auto has_gpu_1 = [](const MetricPage& page) {
    return page.Has("DCGM_FI_DEV_GPU_TEMP", {Gpu("1")});
  };
  ASSERT_TRUE(AwaitPage(has_gpu_1));
  node_.Command({"fault", "bind_unbind", "gpu=1", "for=6s"});
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) { return !has_gpu_1(page); }));
  ASSERT_TRUE(AwaitPage(has_gpu_1));
  files_.Write("counters.csv", "DCGM_FI_DEV_POWER_USAGE,gauge,p\n");
  ::kill(exporter_->process().pid(), SIGHUP);
  EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Has("DCGM_FI_DEV_POWER_USAGE", {Gpu("1")}) && !page.Has("DCGM_FI_DEV_GPU_TEMP");
  }));
}

class DefectsOfLinks : public FailureFixture {
 protected:
  DefectsOfLinks() : FailureFixture(kTwoLinkedGpus) {}
  static constexpr char kTwoLinkedGpus[] = R"(format: 1
name: links
seed: 5
gpus: [{count: 2, class: h100-sxm5-80gb}]
links: {per_gpu: 1, switches: 1}
)";
};

TEST_F(DefectsOfLinks, KindsOfRowsThatAppearLaterAreShown) {
  node_.Command({"fault", "nvlink", "gpu=0", "link=0", "down=true"});
  node_.Command({"fault", "nvlink", "gpu=1", "link=0", "down=true"});
  const std::string path =
      files_.Write("counters.csv",
                   std::string(kTempLine) + "DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX,counter,x\n");
  const std::vector<std::string> flags = {"-c=200", "-f", path};
  exporter_.emplace(node_, flags);
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Has("DCGM_FI_DEV_GPU_TEMP") && page.text().find("{nvlink=") == std::string::npos;
  })) << exporter_->Get("/");
  exporter_.emplace(node_, flags);  // A new process, which has never seen a link.
  ASSERT_TRUE(exporter_->Await("/metrics", "\nDCGM_FI_DEV_GPU_TEMP{")) << exporter_->Get("/");
  EXPECT_EQ(exporter_->Get("/metrics").find("{nvlink="), std::string::npos);
  node_.Command({"heal"});
  EXPECT_TRUE(exporter_->Await("/metrics", "{nvlink=\"0\",nvswitch=")) << exporter_->Get("/");
}

// Upstream reads its own standard output; a line of another program can stop it or make it spin.
class DefectsOfOutput : public FailureFixture {
 protected:
  DefectsOfOutput() : FailureFixture(kThreeGpus) {}
};

TEST_F(DefectsOfOutput, AreIgnored) {
  exporter_.emplace(
      node_, std::vector<std::string>{"-c=200", "--enable-dcgm-log", "--dcgm-log-level=INFO"});
  ASSERT_TRUE(exporter_->Await("/metrics", "\nDCGM_FI_DEV_GPU_TEMP{"));
  const std::string fd = "/proc/" + std::to_string(exporter_->process().pid()) + "/fd/1";
  std::ofstream(fd) << "2026-05-12 13:12:48.123 three-tokens\nnot a line of DCGM\n";
  const std::optional<std::string> line = exporter_->process().AwaitLine("not a line of DCGM");
  EXPECT_TRUE(line.has_value());
  EXPECT_EQ(exporter_->Fetch("/metrics").status, 200);
  exporter_->process().Signal(SIGTERM);
  EXPECT_EQ(exporter_->process().Wait(), 0);
  const std::string& output = exporter_->process().output();
  EXPECT_EQ(output.find("not a line of DCGM"), output.rfind("not a line of DCGM")) << "only once";
}

}  // namespace
}  // namespace podgpu
