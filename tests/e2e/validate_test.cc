// What --validate says that /metrics will hold, against the page that podgpu then serves.
#include <fstream>
#include <iterator>
#include <map>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

using Counts = std::map<std::string, size_t>;

// The families of the devices.  Those of podgpu itself change as it runs: a reason for an absence,
// for instance, is a series of its own.
bool IsOfDevices(std::string_view family) {
  return family.starts_with("DCGM_") || family.starts_with("podgpu_gpu_") ||
         family == "podgpu_allocation_info";
}

// The lines "  series  family" below the heading of the families.
Counts Forecast(std::string_view output) {
  Counts counts;
  const size_t heading = output.find("  series  family\n");
  EXPECT_NE(heading, std::string_view::npos) << output;
  for (const std::string_view line : Split(output.substr(heading), '\n')) {
    const size_t gap = line.rfind(' ');
    const auto series = ParseDecimal(Trim(line.substr(0, gap == line.npos ? 0 : gap)));
    if (series && IsOfDevices(line.substr(gap + 1))) {
      counts[std::string(line.substr(gap + 1))] = *series;
    }
  }
  return counts;
}

Counts Served(std::string_view page) {
  Counts counts;
  for (const std::string_view line : Split(page, '\n')) {
    const std::string_view family = line.substr(0, line.find_first_of("{ "));
    if (IsOfDevices(family)) {
      ++counts[std::string(family)];
    }
  }
  return counts;
}

// The scenario with all its pods from the start.
std::string WithoutDelays(const std::string& path) {
  std::ifstream file(path);
  std::string scenario{std::istreambuf_iterator<char>(file), {}};
  const std::string delay = "    start: 30s\n";
  for (size_t at = scenario.find(delay); at != std::string::npos; at = scenario.find(delay)) {
    scenario.erase(at, delay.size());
  }
  return scenario;
}

class Validate : public ::testing::TestWithParam<const char*> {};

TEST_P(Validate, CountsTheSeriesThatThePageThenHas) {
  const TemporaryFolder folder;
  const SimNode node(folder.Write("node.yaml", WithoutDelays(SimNode::Shipped(GetParam()))),
                     SimNode::Pace::kReal);
  ASSERT_TRUE(node.ready()) << node.output();
  Child validate(ExporterProcess::Arguments(node, {"-c=1000", "--validate"}), node.variables());
  ASSERT_EQ(validate.Wait(), 0) << validate.output();
  EXPECT_EQ(validate.output().find("note: "), std::string::npos) << validate.output();
  const Counts forecast = Forecast(validate.output());
  EXPECT_GT(forecast.size(), 10U);
  const ExporterProcess exporter(node, {"-c=1000"});
  ASSERT_TRUE(exporter.ready());
  Counts served;
  EXPECT_TRUE(exporter.AwaitPage("/metrics",
                                 [&](const std::string& page) {
                                   served = Served(page);
                                   return served == forecast;
                                 }))
      << ::testing::PrintToString(served) << ::testing::PrintToString(forecast);
}

// NVML alone on GPUs before Hopper: every surface says which metrics of the list are lost.
TEST(BeforeHopper, EachSurfaceNamesTheMetricsThatNvmlNeverGives) {
  const SimNode node(SimNode::Shipped("a100x2"), SimNode::Pace::kReal);
  ASSERT_TRUE(node.ready()) << node.output();
  const std::string lost = "GPUs of this node can never give 5 metrics of the list: ";
  const std::string why = "NVML, the library of the driver, has them from Hopper on. Let DCGM";
  Child validate(ExporterProcess::Arguments(node, {"--source=nvml", "--validate"}),
                 node.variables());
  ASSERT_EQ(validate.Wait(), 0) << validate.output();
  EXPECT_NE(validate.output().find("warning: " + lost), std::string::npos) << validate.output();
  EXPECT_FALSE(Forecast(validate.output()).contains("DCGM_FI_PROF_DRAM_ACTIVE"));

  ExporterProcess exporter(node, {"--source=nvml"});
  ASSERT_TRUE(exporter.Await("/metrics", "\npodgpu_ready 1\n"));
  EXPECT_TRUE(exporter.Await("/metrics", "\npodgpu_config_warnings 1\n"));
  const std::string page = exporter.Get("/");
  EXPECT_NE(page.find("; 1 warning: " + lost), std::string::npos) << page;
  EXPECT_NE(page.find(why), std::string::npos) << page;
  const std::string explained = exporter.Get("/explain?gpu=0&metric=DCGM_FI_PROF_DRAM_ACTIVE");
  EXPECT_NE(explained.find(why), std::string::npos) << explained;
  const auto line = exporter.process().AwaitLine(lost);
  ASSERT_TRUE(line.has_value());
  EXPECT_NE(line->find("level=WARN msg=\"configuration entry has no effect\""), std::string::npos);
}

TEST(ValidateAScenario, SaysWhatThePageOfThatNodeCosts) {
  const TemporaryFolder folder;
  Child validate({PODGPU_BINARY_DIR "/bin/podgpu-sim", "run", SimNode::Shipped("mig-mixed"),
                  "--engine-tcp=127.0.0.1:0", "--dir=" + folder.path() + "/node", "--",
                  PODGPU_BINARY_DIR "/bin/podgpu", "--validate", "-k"});
  EXPECT_EQ(validate.Wait(), 0) << validate.output();
  EXPECT_GT(Forecast(validate.output()).size(), 10U);
  EXPECT_EQ(validate.output().find("eight GPUs"), std::string::npos) << "the node has a driver";
}

INSTANTIATE_TEST_SUITE_P(Topologies, Validate,
                         ::testing::Values("one-gpu", "mig-mixed", "time-slicing"));

}  // namespace
}  // namespace podgpu
