// The counters file, rule by rule: grammar, names, types, and lines that a node cannot serve.
// conformance_lines.cc gives the test of each rule.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fields/counters_csv.h"
#include "fields/field.h"
#include "tests/page_node.h"

namespace podgpu {
namespace {

using abi::DCGM_FE_GPU;

// The result of a list: "name type help", each in brackets; "refused" for an invalid list.
std::string Understood(const std::string& csv) {
  const StatusOr<Counters> counters = ParseCounters(csv, "list.csv");
  if (!counters.ok()) {
    return "refused";
  }
  std::string lines;
  for (const Counter& counter : counters->counters) {
    lines += "[" + counter.name + "][" + counter.type + "][" + counter.help + "]";
  }
  return lines;
}

struct ListCase {
  std::string csv, read;
};
void ExpectUnderstood(const std::vector<ListCase>& cases) {
  for (const ListCase& row : cases) {
    EXPECT_EQ(Understood(row.csv), row.read) << row.csv;
  }
}

const std::string kReadAsTemperature = "[DCGM_FI_DEV_GPU_TEMP][gauge][t]";
const std::string kTemperatureLine = "DCGM_FI_DEV_GPU_TEMP,gauge,t";

TEST(UpstreamCounters, Comments) {
  ExpectUnderstood({{"# words, \"quoted\nDCGM_FI_DEV_GPU_TEMP,gauge,t", kReadAsTemperature},
                    {kTemperatureLine + "\n#", kReadAsTemperature},
                    {kTemperatureLine + "\n # after a space, it is data, with columns", "refused"},
                    {kTemperatureLine + "\n\t#", "refused"},
                    {"DCGM_FI_DEV_GPU_TEMP,gauge,#", "[DCGM_FI_DEV_GPU_TEMP][gauge][#]"}});
}

TEST(UpstreamCounters, EmptyLinesAndLineEnds) {
  ExpectUnderstood(
      {{"\n\n" + kTemperatureLine + "\n\n", kReadAsTemperature},
       {"\r\n" + kTemperatureLine + "\r\n\r\n", kReadAsTemperature},
       {kTemperatureLine + "\r\n" + kTemperatureLine.substr(0, 20) + "X,gauge,t", "refused"},
       {"   \n" + kTemperatureLine, "refused"},
       {kTemperatureLine + "\n ", "refused"}});
}

TEST(UpstreamCounters, Columns) {
  ExpectUnderstood({{"DCGM_FI_DEV_GPU_TEMP", "refused"},
                    {"DCGM_FI_DEV_GPU_TEMP,gauge", "refused"},
                    {kTemperatureLine + ",more", "refused"},
                    {kTemperatureLine + "\nDCGM_FI_DEV_GPU_UTIL,gauge", "refused"},
                    {kTemperatureLine + "\nDCGM_FI_DEV_GPU_UTIL,gauge,busy, in percent", "refused"},
                    {kTemperatureLine + ",\n" + kTemperatureLine + ",", "refused"},
                    {"DCGM_FI_DEV_GPU_TEMP,gauge,", "[DCGM_FI_DEV_GPU_TEMP][gauge][]"}});
}

TEST(UpstreamCounters, Quotes) {
  ExpectUnderstood(
      {{"DCGM_FI_DEV_GPU_TEMP,gauge,\"hot, in C\"", "[DCGM_FI_DEV_GPU_TEMP][gauge][hot, in C]"},
       {"DCGM_FI_DEV_GPU_TEMP,gauge,\"a \"\"b\"\"\"", "[DCGM_FI_DEV_GPU_TEMP][gauge][a \"b\"]"},
       {"\"DCGM_FI_DEV_GPU_TEMP\",\"gauge\",\"t\"", kReadAsTemperature},
       {"DCGM_FI_DEV_GPU_TEMP,gauge,\"two\nlines\"", "[DCGM_FI_DEV_GPU_TEMP][gauge][two\nlines]"},
       {"DCGM_FI_DEV_GPU_TEMP,gauge, \"t\"", "refused"},
       {"DCGM_FI_DEV_GPU_TEMP,gauge,a \"b\" c", "refused"},
       {"DCGM_FI_DEV_GPU_TEMP,gauge,\"t\" ", "refused"},
       {"DCGM_FI_DEV_GPU_TEMP,gauge,\"t", "refused"}});
}

TEST(UpstreamCounters, BlanksAreTrimmedAndTabsKept) {
  ExpectUnderstood({{"  DCGM_FI_DEV_GPU_TEMP  ,  gauge  ,  t  ", kReadAsTemperature},
                    {"DCGM_FI_DEV_GPU_TEMP,gauge,\tt\t", "[DCGM_FI_DEV_GPU_TEMP][gauge][\tt\t]"},
                    {"DCGM_FI_DEV_GPU_TEMP\t,gauge,t", "refused"},
                    {"DCGM_FI_DEV_GPU_TEMP,gauge\t,t", "refused"}});
}

TEST(UpstreamCounters, Names) {
  ExpectUnderstood({{"dcgm_fi_dev_gpu_temp,gauge,t", "refused"},
                    {"DCGM_FI_DEV_GPU_TEMP_,gauge,t", "refused"},
                    {"150,gauge,t", "refused"},
                    {"dcgm_gpu_temp,gauge,t", "[dcgm_gpu_temp][gauge][t]"},
                    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS,gauge,t",
                     "[DCGM_FI_DEV_CLOCK_THROTTLE_REASONS][gauge][t]"},
                    {"DCGM_FI_UNKNOWN,gauge,t", "[DCGM_FI_UNKNOWN][gauge][t]"},
                    {kTemperatureLine + "\nDCGM_EXP_XID_ERRORS_COUNTS,gauge,t", "refused"}});
  PageNode node(1);
  node.options.hostname = "";
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 112, 4);
  const std::vector<std::string> rows =
      node.Rows("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS,gauge,t", "DCGM_FI_DEV_CLOCK");
  ASSERT_EQ(rows.size(), 1U) << "an old name is on the page as written";
  EXPECT_TRUE(rows[0].starts_with("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{")) << rows[0];
}

TEST(UpstreamCounters, TypesOfFields) {
  for (const std::string type : {"gauge", "counter", "histogram", "summary", "label"}) {
    EXPECT_EQ(Understood("DCGM_FI_DEV_GPU_TEMP," + type + ",t"),
              "[DCGM_FI_DEV_GPU_TEMP][" + type + "][t]");
  }
  for (const std::string type : {"Gauge", "untyped", "info", "", "gauge counter"}) {
    EXPECT_EQ(Understood("DCGM_FI_DEV_GPU_TEMP," + type + ",t"), "refused") << type;
  }
}

TEST(UpstreamCounters, TypesOfOwnCounters) {
  for (const std::string name : {"DCGM_EXP_XID_ERRORS_COUNT", "DCGM_EXP_CLOCK_EVENTS_COUNT",
                                 "DCGM_EXP_GPU_HEALTH_STATUS", "DCGM_EXP_P2P_STATUS"}) {
    EXPECT_EQ(Understood(name + ",counter,t"), "[" + name + "][counter][t]");
    EXPECT_EQ(Understood(name + ",anything,t"), "[" + name + "][untyped][t]");
    EXPECT_EQ(Understood(name + ",gauge,first\n" + name + ",counter,second"),
              "[" + name + "][gauge][first]");
  }
}

TEST(UpstreamCounters, ProfilingFieldsThatTheGpuLacks) {
  const std::string csv = kTemperatureLine +
                          "\nDCGM_FI_PROF_GR_ENGINE_ACTIVE,gauge,p\n"
                          "DCGM_FI_PROF_DRAM_ACTIVE,gauge,d\n";
  for (const bool some_is_offered : {false, true}) {
    PageNode node(1);
    node.dcgm.profiling_fields = {};
    if (some_is_offered) {
      node.dcgm.profiling_fields = {1005};
    }
    node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 42);
    node.dcgm.SetDouble(DCGM_FE_GPU, 0, 1001, 0.5);
    node.dcgm.SetDouble(DCGM_FE_GPU, 0, 1005, 0.5);
    EXPECT_EQ(node.Rows(csv, "DCGM_FI_DEV_GPU_TEMP{").size(), 1U);
    EXPECT_EQ(node.Rows(csv, "DCGM_FI_PROF_GR_ENGINE_ACTIVE{").size(), 0U);
    EXPECT_EQ(node.Rows(csv, "DCGM_FI_PROF_DRAM_ACTIVE{").size(), some_is_offered ? 1U : 0U);
  }
  EXPECT_EQ(Understood("DCGM_FI_PROF_GR_ENGINE_ACTIVE,anything,p"), "refused");
}

TEST(UpstreamCounters, Labels) {
  const std::string label = "DCGM_FI_DEV_NVML_INDEX,label,n\n";
  for (const std::string& csv : {label + kTemperatureLine, kTemperatureLine + "\n" + label}) {
    PageNode node(2);
    for (const uint32_t gpu : {0U, 1U}) {
      node.dcgm.SetInt64(DCGM_FE_GPU, gpu, 52, gpu + 7);
      node.dcgm.SetInt64(DCGM_FE_GPU, gpu, 150, 42);
    }
    const std::vector<std::string> rows = node.Rows(csv, "DCGM_FI_");
    ASSERT_EQ(rows.size(), 2U) << "a label is not a metric";
    EXPECT_NE(rows[0].find(",DCGM_FI_DEV_NVML_INDEX=\"7\"} 42"), std::string::npos) << rows[0];
    EXPECT_NE(rows[1].find(",DCGM_FI_DEV_NVML_INDEX=\"8\"} 42"), std::string::npos) << rows[1];
  }
  PageNode node(1);
  node.dcgm.SetDouble(DCGM_FE_GPU, 0, 155, 72.5);
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 42);
  EXPECT_NE(node.Rows(kTemperatureLine + "\nDCGM_FI_DEV_POWER_USAGE,label,p", "DCGM_FI_")
                .at(0)
                .find("DCGM_FI_DEV_POWER_USAGE=\"72.500000\""),
            std::string::npos);
}

TEST(UpstreamCounters, FieldsThatTheLibraryDoesNotKnow) {
  PageNode node(1);
  node.dcgm.unknown_fields = {1523};
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 42);
  const std::string unknown(FindField(1523)->name);
  EXPECT_EQ(node.Rows(unknown + ",gauge,r\n" + kTemperatureLine, "DCGM_FI_").size(), 1U);
}

TEST(UpstreamCounters, DuplicateNamesAndFields) {
  PageNode node(1);
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 42);
  EXPECT_EQ(node.Rows(kTemperatureLine + "\nDCGM_FI_DEV_GPU_TEMP,counter,again", "DCGM_FI_").size(),
            1U);
  const std::vector<std::string> rows = node.Rows(kTemperatureLine + "\ndcgm_gpu_temp,gauge,t", "");
  EXPECT_EQ(
      std::ranges::count_if(rows, [](const std::string& row) { return row.ends_with(" 42"); }), 2)
      << "two names of one field have rows under each";
}

TEST(UpstreamCounters, AnEmptyFile) {
  for (const char* csv : {"", "\n", "# nothing"}) {
    PageNode node(1);
    node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 42);
    EXPECT_EQ(Understood(csv), "");
    EXPECT_EQ(node.Page(csv), "");
  }
}

TEST(UpstreamCounters, MoreThan128Fields) {
  PageNode node(1);
  std::string csv;
  size_t fields = 0;
  for (const Field& field : Catalogue()) {
    if (field.level == FieldLevel::kGpu && field.type == FieldType::kInt64 && field.id < 1000 &&
        fields < 200) {
      csv += std::string(field.name) + ",gauge,x\n";
      node.dcgm.SetInt64(DCGM_FE_GPU, 0, field.id, 1);
      ++fields;
    }
  }
  ASSERT_EQ(fields, 200U);
  EXPECT_EQ(node.Rows(csv, "DCGM_FI_").size(), fields);
}

TEST(UpstreamCounters, ShippedLists) {
  for (const char* name :
       {"default-counters.csv", "dcp-metrics-included.csv", "1.x-compatibility-metrics.csv"}) {
    std::ifstream file(std::string("deploy/") + name);
    const std::string csv{std::istreambuf_iterator<char>(file), {}};
    const StatusOr<Counters> counters = ParseCounters(csv, name);
    ASSERT_TRUE(counters.ok()) << counters.status();
    EXPECT_TRUE(counters->warnings.empty()) << name;
    EXPECT_GE(counters->counters.size(), 20U) << name;
  }
}

}  // namespace
}  // namespace podgpu
