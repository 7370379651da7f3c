// The assertions of dcgm-exporter's own tests about health and paths between GPUs, checked on the
// whole path from DCGM's answers to the page.  conformance_lines.cc gives the test of each line.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/metric_page.h"
#include "tests/page_node.h"

namespace podgpu {
namespace {

constexpr const char* kHealthCsv = "DCGM_EXP_GPU_HEALTH_STATUS,gauge,Health per watch\n";
constexpr const char* kHealthFamily = "DCGM_EXP_GPU_HEALTH_STATUS";
constexpr const char* kPathsCsv = "DCGM_EXP_P2P_STATUS,gauge,State of each path\n";
constexpr const char* kPathsFamily = "DCGM_EXP_P2P_STATUS";

void Report(PageNode& node, uint32_t system, int result, uint32_t code,
            abi::dcgmGroupEntityPair_t entity) {
  node.dcgm.incidents.push_back({system, result, {{}, code}, entity});
}

// "watch code value" of each row of a GPU.
std::vector<std::string> HealthOf(PageNode& node, const std::string& gpu) {
  std::vector<std::string> rows;
  for (const std::string& row : node.Rows(kHealthCsv, kHealthFamily + ("{gpu=\"" + gpu + "\""))) {
    rows.push_back(MetricPage::Label(row, "health_watch") + " " +
                   MetricPage::Label(row, "health_error_code") + row.substr(row.rfind('}') + 1));
  }
  return rows;
}

std::vector<std::string> Healthy() {
  std::vector<std::string> rows;
  for (const char* watch : {"PCIE", "NVLINK", "PMU", "MCU", "MEM", "SM", "INFOROM", "THERMAL",
                            "POWER", "DRIVER", "ALL"}) {
    rows.push_back(std::string(watch) + " DCGM_FR_OK 0");
  }
  return rows;
}

TEST(UpstreamFindings, ElevenRowsOfHealthForEachGpu) {
  PageNode node(2);
  EXPECT_EQ(HealthOf(node, "0"), Healthy());
  EXPECT_EQ(HealthOf(node, "1"), Healthy());
}

TEST(UpstreamFindings, AnIncidentReplacesTheRowOfItsWatch) {
  PageNode node(2);
  constexpr size_t kMemRow = 4, kThermalRow = 7;
  Report(node, abi::DCGM_HEALTH_WATCH_MEM, 10, 6, {abi::DCGM_FE_GPU, 1});
  Report(node, abi::DCGM_HEALTH_WATCH_MEM, 20, 4, {abi::DCGM_FE_GPU, 1});
  Report(node, abi::DCGM_HEALTH_WATCH_THERMAL, 10, 999, {abi::DCGM_FE_GPU, 1});
  std::vector<std::string> expected = Healthy();
  expected[kMemRow] = "MEM DCGM_FR_VOLATILE_DBE_DETECTED 20";
  expected[kThermalRow] = "THERMAL DCGM_FR_UNKNOWN(999) 10";
  EXPECT_EQ(HealthOf(node, "1"), expected);
  EXPECT_EQ(HealthOf(node, "0"), Healthy());
}

TEST(UpstreamFindings, TheRowOfAllWatchesIsSeparate) {
  PageNode node(1);
  Report(node, abi::DCGM_HEALTH_WATCH_PCIE, 20, 3, {abi::DCGM_FE_GPU, 0});
  std::vector<std::string> expected = Healthy();
  expected.front() = "PCIE DCGM_FR_PCI_REPLAY_RATE 20";
  EXPECT_EQ(HealthOf(node, "0"), expected);
  node.dcgm.incidents.clear();
  Report(node, abi::DCGM_HEALTH_WATCH_ALL, 20, 101, {abi::DCGM_FE_GPU, 0});
  expected = Healthy();
  expected.back() = "ALL DCGM_FR_XID_ERROR 20";
  EXPECT_EQ(HealthOf(node, "0"), expected);
}

TEST(UpstreamFindings, IncidentsOfUnknownGpusAreLeftOut) {
  PageNode node(1);
  for (const abi::dcgmGroupEntityPair_t entity : {abi::dcgmGroupEntityPair_t{abi::DCGM_FE_GPU, 7},
                                                  {abi::DCGM_FE_GPU_I, 0},
                                                  {abi::DCGM_FE_SWITCH, 0}}) {
    Report(node, abi::DCGM_HEALTH_WATCH_MEM, 20, 4, entity);
  }
  Report(node, abi::DCGM_HEALTH_WATCH_NVSWITCH_FATAL, 20, 15, {abi::DCGM_FE_GPU, 0});
  EXPECT_EQ(HealthOf(node, "0"), Healthy());
  EXPECT_EQ(node.Rows(kHealthCsv, kHealthFamily).size(), Healthy().size());
}

TEST(UpstreamFindings, PathStatesAreWords) {
  for (const auto& [state, word] :
       {std::pair(0, "OK"), std::pair(1, "ChipsetNotSupported"), std::pair(2, "GPUNotSupported"),
        std::pair(3, "TopologyNotSupported"), std::pair(4, "DisabledByRegKey"),
        std::pair(5, "NotSupported"), std::pair(6, "Unknown"), std::pair(77, "Unknown")}) {
    PageNode node(2);
    node.dcgm.peers = {{0, state}, {0, 0}};
    const std::vector<std::string> rows = node.Rows(kPathsCsv, kPathsFamily);
    ASSERT_EQ(rows.size(), 2U)
        << "a row for each pair in each direction, none for a GPU and itself";
    EXPECT_EQ(MetricPage::Label(rows[0], "gpu"), "0");
    EXPECT_EQ(MetricPage::Label(rows[0], "peer_gpu"), "1");
    EXPECT_EQ(MetricPage::Label(rows[0], "link_status"), word);
    EXPECT_TRUE(rows[0].ends_with("} " + std::to_string(state))) << rows[0];
    EXPECT_EQ(MetricPage::Label(rows[1], "link_status"), "OK");
  }
}

TEST(UpstreamFindings, WithoutLinksThereAreNoPaths) {
  PageNode node(2);
  EXPECT_EQ(node.Page(kPathsCsv), "") << "a family without rows has no header";
}

}  // namespace
}  // namespace podgpu
