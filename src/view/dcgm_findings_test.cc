#include "view/dcgm_findings.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "exposition/text.h"
#include "tests/node_fixture.h"
#include "tests/strict_parser.h"
#include "view/finding_slots.h"

namespace podgpu {
namespace {

// A node with findings, and the lines that the DCGM view writes for them.
struct FoundNode {
  FoundNode(size_t gpus, size_t instances, const std::string& csv)
      : counters(CountersOf(csv)),
        grid(MakeTopology(gpus, instances), FieldsOf(counters, {1, 150})) {
    owners.by_entity.resize(grid.topology().entities.size());
    owners.jobs_by_entity.resize(grid.topology().entities.size());
    grid.findings.asked = {std::chrono::seconds(300), std::chrono::seconds(60)};
    grid.findings.gpus.resize(gpus, {.xids_known = true, .clocks_known = true});
  }

  void AddXid(uint16_t gpu, int64_t code, uint64_t in_window) {
    grid.findings.xids.push_back({.gpu = gpu, .code = code, .total = 9, .in_window = in_window});
    grid.findings.gpus[gpu].xids += in_window;
  }

  // The page without headers and without the labels that all rows have.
  std::string Lines(bool stale = false) const {
    constexpr uint32_t kOthers = 5;
    PlanBuilder builder;
    AddDcgmView({grid, owners, counters, options, nullptr, kOthers}, builder);
    std::vector<Value> slots(kOthers, Value::OfInt64(4711));
    AppendFindings(grid.findings, stale, slots);
    std::string page;
    RenderText(std::move(builder).Build(), &grid, slots, page);
    const auto parsed = ParseTextStrictly(page);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    std::string lines;
    for (size_t at = 0; at < page.size(); at = page.find('\n', at) + 1) {
      std::string line = page.substr(at, page.find('\n', at) + 1 - at);
      const size_t shared = line.find(",UUID=");
      if (line[0] != '#') {
        lines += line.erase(shared, line.find("HBM3\"") + 5 - shared);
      }
    }
    return lines;
  }

  std::vector<Counter> counters;
  Grid grid;
  Owners owners;
  ViewOptions options;
};

constexpr const char* kXidCsv = "DCGM_EXP_XID_ERRORS_COUNT,gauge,x\n";
constexpr const char* kClockCsv = "DCGM_EXP_CLOCK_EVENTS_COUNT,gauge,c\n";

TEST(DcgmFindings, CountXidsByCodeAndAreZeroWithoutOne) {
  FoundNode node(3, 0, kXidCsv);
  node.AddXid(0, 43, 3);
  node.AddXid(0, 79, 1);
  node.AddXid(1, 31, 0);  // Counted once, but before the window.
  node.grid.findings.gpus[2].xids_known = false;
  EXPECT_EQ(node.Lines(),
            "DCGM_EXP_XID_ERRORS_COUNT{gpu=\"0\",window_size_in_ms=\"300000\",xid=\"43\"} 3\n"
            "DCGM_EXP_XID_ERRORS_COUNT{gpu=\"0\",window_size_in_ms=\"300000\",xid=\"79\"} 1\n"
            "DCGM_EXP_XID_ERRORS_COUNT{gpu=\"1\",window_size_in_ms=\"300000\"} 0\n");
}

TEST(DcgmFindings, CountClockReasonsAndHaveNoRowForSamplesWithoutAReason) {
  FoundNode node(3, 0, kClockCsv);
  node.grid.findings.gpus[0].clock_samples = 5;
  node.grid.findings.gpus[0].clock_events = {5, 0, 2};
  node.grid.findings.gpus[1].clock_samples = 5;  // Without any known reason.
  const std::string row = "DCGM_EXP_CLOCK_EVENTS_COUNT{gpu=";
  EXPECT_EQ(node.Lines(), row + "\"0\",clock_event=\"gpu_idle\",window_size_in_ms=\"60000\"} 5\n" +
                              row +
                              "\"0\",clock_event=\"power_cap\",window_size_in_ms=\"60000\"} 2\n" +
                              row + "\"2\",window_size_in_ms=\"60000\"} 0\n");
}

TEST(DcgmFindings, HaveTotalsOfWhatHappenedAlsoWhenTheReadingIsTooOld) {
  FoundNode node(2, 0,
                 "DCGM_EXP_XID_ERRORS_TOTAL,counter,x\nDCGM_EXP_CLOCK_EVENTS_TOTAL,counter,c\n");
  node.AddXid(0, 43, 0);
  node.grid.findings.xids[0].total = 3;
  node.AddXid(1, 79, 1);  // From before the start.
  node.grid.findings.xids[1].total = 0;
  node.AddXid(1, 0, 1);
  node.grid.findings.xids[2].total = 1;
  node.grid.findings.gpus[1].clock_event_totals = {0, 0, 2, 0, 0, 0, 0, 0, 5};
  const std::string expected =
      "DCGM_EXP_XID_ERRORS_TOTAL{gpu=\"0\",xid=\"43\"} 3\n"
      "DCGM_EXP_CLOCK_EVENTS_TOTAL{gpu=\"1\",clock_event=\"power_cap\"} 2\n"
      "DCGM_EXP_CLOCK_EVENTS_TOTAL{gpu=\"1\",clock_event=\"display_clocks\"} 5\n";
  EXPECT_EQ(node.Lines(), expected);
  EXPECT_EQ(node.Lines(/*stale=*/true), expected);
}

TEST(DcgmFindings, NameEachOfNineReasons) {
  FoundNode node(1, 0, kClockCsv);
  node.grid.findings.gpus[0].clock_samples = 9;
  node.grid.findings.gpus[0].clock_events = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::string lines = node.Lines();
  const char* names[] = {"gpu_idle",    "clocks_setting", "power_cap",
                         "hw_slowdown", "sync_boost",     "sw_thermal",
                         "hw_thermal",  "hw_power_brake", "display_clocks"};
  for (size_t i = 0; i < std::size(names); ++i) {
    EXPECT_NE(lines.find("clock_event=\"" + std::string(names[i]) +
                         "\",window_size_in_ms=\"60000\"} " + std::to_string(i + 1)),
              std::string::npos)
        << names[i];
  }
}

// dcgm-exporter looks up the number of an instance among the GPUs, and repeats the row of a GPU for
// each of its instances.
TEST(DcgmFindings, BelongToTheGpuEvenIfItsInstancesAreShown) {
  FoundNode node(2, 3, std::string(kXidCsv) + "DCGM_FI_DRIVER_VERSION,label,v\n");
  node.AddXid(1, 79, 1);
  for (uint16_t column = 0; column < node.grid.topology().entities.size(); ++column) {
    const std::string version = "v" + std::to_string(column);
    node.grid.at(*node.grid.RowOf(1), EntityId{column}) =
        Value::OfText(node.grid.InternText(version));
  }
  const std::string row = "DCGM_EXP_XID_ERRORS_COUNT{gpu=";
  EXPECT_EQ(node.Lines(),
            row + "\"0\",DCGM_FI_DRIVER_VERSION=\"v0\",window_size_in_ms=\"300000\"} 0\n" + row +
                "\"1\",DCGM_FI_DRIVER_VERSION=\"v4\",window_size_in_ms=\"300000\",xid=\"79\"} 1\n")
      << "each row has the labels of its own GPU";
}

TEST(DcgmFindings, HaveTheLabelsOfTheirPodAndJobs) {
  FoundNode node(2, 0, kXidCsv);
  node.options.kubernetes = true;
  Owner owner;
  owner.pod_namespace = "ml";
  owner.pod = "train-0";
  owner.container = "main";
  owner.labels = {{"team", "vision"}, {"xid", "mine"}};
  node.owners.by_entity[0] = {owner};
  node.owners.jobs_by_entity[1] = {"1001", "1002"};
  const std::string row = "DCGM_EXP_XID_ERRORS_COUNT{gpu=";
  EXPECT_EQ(node.Lines(),
            row +
                "\"0\",team=\"vision\",window_size_in_ms=\"300000\",xid=\"mine\",container="
                "\"main\",namespace=\"ml\",pod=\"train-0\"} 0\n" +
                row + "\"1\",window_size_in_ms=\"300000\",hpc_job=\"1001\"} 0\n" + row +
                "\"1\",window_size_in_ms=\"300000\",hpc_job=\"1002\"} 0\n");
  node.AddXid(0, 43, 1);
  EXPECT_NE(node.Lines().find("xid=\"43\",container=\"main\""), std::string::npos)
      << "the counter's own label wins";
}

TEST(DcgmFindings, ComeAfterTheFieldsAndOnlyForSelectedGpus) {
  FoundNode node(2, 0, std::string(kClockCsv) + kXidCsv + "DCGM_FI_DEV_GPU_TEMP,gauge,t\n");
  node.options.selections.gpus = ParseDeviceSelection("g:1").value();
  node.grid.at(*node.grid.RowOf(150), EntityId{1}) = Value::OfInt64(41);
  EXPECT_EQ(node.Lines(),
            "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\"} 41\n"
            "DCGM_EXP_XID_ERRORS_COUNT{gpu=\"1\",window_size_in_ms=\"300000\"} 0\n"
            "DCGM_EXP_CLOCK_EVENTS_COUNT{gpu=\"1\",window_size_in_ms=\"60000\"} 0\n");
}

TEST(DcgmFindings, AreWithdrawnWhenTheyAreOldOrNotCounted) {
  FoundNode node(1, 0, std::string(kClockCsv) + kXidCsv);
  node.AddXid(0, 43, 1);
  EXPECT_NE(node.Lines(), "");
  EXPECT_EQ(node.Lines(/*stale=*/true), "");
  node.grid.findings.Clear();
  EXPECT_EQ(node.Lines(), "");
}

TEST(DcgmFindings, ShowElevenVerdictsOfEachGpuForAnySelection) {
  FoundNode node(2, 2, "DCGM_EXP_GPU_HEALTH_STATUS,gauge,h\n");
  node.options.selections.gpus = ParseDeviceSelection("g:1").value();
  node.grid.findings.health.resize(2);
  node.grid.findings.health[0].is_known = true;
  node.grid.findings.health[0].watches[7] = {10, 10};
  node.grid.findings.health[0].watches[10] = {20, 4711};
  const std::string row = "DCGM_EXP_GPU_HEALTH_STATUS{gpu=\"0\",health_error_code=\"DCGM_FR_";
  std::string expected;
  for (const char* watch : {"PCIE", "NVLINK", "PMU", "MCU", "MEM", "SM", "INFOROM"}) {
    expected += row + "OK\",health_watch=\"" + watch + "\"} 0\n";
  }
  expected += row + "CLOCK_THROTTLE_THERMAL\",health_watch=\"THERMAL\"} 10\n";
  for (const char* watch : {"POWER", "DRIVER"}) {
    expected += row + "OK\",health_watch=\"" + watch + "\"} 0\n";
  }
  EXPECT_EQ(node.Lines(), expected + row + "UNKNOWN(4711)\",health_watch=\"ALL\"} 20\n")
      << "no line for the GPU without a health verdict";
  EXPECT_EQ(node.Lines(/*stale=*/true), "");
}

TEST(DcgmFindings, HaveTheKindOfAHealthErrorSince483) {
  FoundNode node(1, 0, "DCGM_EXP_GPU_HEALTH_STATUS,gauge,h\n");
  node.options.version = FindDcgmExporterVersion("4.8.3");
  GpuHealth& health = node.grid.findings.health.emplace_back();
  health.is_known = true;
  health.watches[7] = {.result = 10, .code = 10, .severity = 1, .category = 9};
  health.watches[9] = {.result = 20, .code = 118, .severity = -1, .category = 17};
  const auto has = [lines = node.Lines()](const std::string& labels) {
    return lines.find(labels) != std::string::npos;
  };
  EXPECT_TRUE(
      has("health_error_category=\"HARDWARE_THERMAL\",health_error_code=\"DCGM_FR_CLOCK_"
          "THROTTLE_THERMAL\",health_error_severity=\"MONITOR\",health_watch=\"THERMAL\""));
  EXPECT_TRUE(
      has("health_error_category=\"NONE\",health_error_code=\"DCGM_FR_OK\","
          "health_error_severity=\"NONE\",health_watch=\"PCIE\""));
  EXPECT_TRUE(
      has("health_error_category=\"UNKNOWN\",health_error_code=\"DCGM_FR_SRAM_THRESHOLD\","
          "health_error_severity=\"UNKNOWN\",health_watch=\"DRIVER\""))
      << "the library does not tell it";
}

TEST(DcgmFindings, NameTheStateOfEachPathToAPeer) {
  FoundNode node(8, 0, "DCGM_EXP_P2P_STATUS,gauge,p\n");
  node.grid.findings.peers.resize(64);
  for (int32_t peer = 1; peer < 8; ++peer) {
    node.grid.findings.peers[static_cast<size_t>(peer)] = peer - 1;
  }
  node.grid.findings.peers[8] = 77;  // From GPU 1 to GPU 0.
  const std::string lines = node.Lines();
  const char* names[] = {"OK",
                         "ChipsetNotSupported",
                         "GPUNotSupported",
                         "TopologyNotSupported",
                         "DisabledByRegKey",
                         "NotSupported",
                         "Unknown"};
  std::string expected;
  for (size_t i = 0; i < std::size(names); ++i) {
    expected += "DCGM_EXP_P2P_STATUS{gpu=\"0\",link_status=\"" + std::string(names[i]) +
                "\",peer_gpu=\"" + std::to_string(i + 1) + "\"} " + std::to_string(i) + "\n";
  }
  expected += "DCGM_EXP_P2P_STATUS{gpu=\"1\",link_status=\"Unknown\",peer_gpu=\"0\"} 77\n";
  EXPECT_TRUE(lines.starts_with(expected)) << lines;
  EXPECT_EQ(std::ranges::count(lines, '\n'), 56) << "none to itself";
}

}  // namespace
}  // namespace podgpu
