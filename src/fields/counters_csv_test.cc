#include "fields/counters_csv.h"

#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "fields/renamed_fields.h"

namespace podgpu {
namespace {

Counters MustParse(std::string_view content) {
  StatusOr<Counters> parsed = ParseCounters(content, "counters.csv");
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? *std::move(parsed) : Counters{};
}

TEST(CountersCsv, AcceptsEveryValidForm) {
  struct Case {
    std::string_view content;
    int line;
    std::string_view name, type, help;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"DCGM_FI_DEV_GPU_TEMP,gauge,GPU temperature", 1, "DCGM_FI_DEV_GPU_TEMP", "gauge",
            "GPU temperature"},
           {"# comment\n\n\r\nDCGM_FI_DEV_GPU_TEMP , counter ,  two  words \r\n", 4,
            "DCGM_FI_DEV_GPU_TEMP", "counter", "two  words"},
           {"DCGM_FI_DEV_GPU_TEMP,gauge,\"GPU temperature, Celsius\"\n", 1, "DCGM_FI_DEV_GPU_TEMP",
            "gauge", "GPU temperature, Celsius"},
           {"DCGM_FI_DEV_GPU_TEMP,gauge,\"the \"\"hot\"\" one\"\n", 1, "DCGM_FI_DEV_GPU_TEMP",
            "gauge", "the \"hot\" one"},
           {"\"DCGM_FI_DEV_GPU_TEMP\",\"gauge\",\"a\r\nb\"\n# end", 1, "DCGM_FI_DEV_GPU_TEMP",
            "gauge", "a\nb"},
           {"dcgm_gpu_temp,summary,", 1, "dcgm_gpu_temp", "summary", ""},
           {"dcgm_gpu_temp,untyped,", 1, "dcgm_gpu_temp", "untyped", ""},
           {"DCGM_FI_DEV_GPU_TEMP,histogram,\ttab kept\r", 1, "DCGM_FI_DEV_GPU_TEMP", "histogram",
            "\ttab kept"},
           {"DCGM_FI_UNKNOWN,gauge,# not a comment", 1, "DCGM_FI_UNKNOWN", "gauge",
            "# not a comment"},
           {"DCGM_FI_DEV_GPU_TEMP,label,two\n#", 1, "DCGM_FI_DEV_GPU_TEMP", "label", "two"},
           {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS,gauge,", 1, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS",
            "gauge", ""},
           {"DCGM_FI_DEV_GPU_TEMP,gauge,bad \xff byte", 1, "DCGM_FI_DEV_GPU_TEMP", "gauge",
            "bad \xEF\xBF\xBD byte"}}) {
    const Counters parsed = MustParse(c.content);
    ASSERT_EQ(parsed.counters.size(), 1U) << c.content;
    const Counter& counter = parsed.counters.front();
    EXPECT_EQ(counter.line, c.line) << c.content;
    EXPECT_EQ(counter.name, c.name) << c.content;
    EXPECT_EQ(counter.type, c.type) << c.content;
    EXPECT_EQ(counter.help, c.help) << c.content;
    EXPECT_EQ(counter.field, FindFieldByName(c.name)) << c.content;
    EXPECT_TRUE(parsed.warnings.empty()) << c.content;
  }
}

TEST(CountersCsv, AcceptsEmptyFilesAndFilesWithOnlyComments) {
  for (const std::string_view content : {"", "\n\n", "# nothing\n# here", "#\r\n\r"}) {
    EXPECT_TRUE(MustParse(content).counters.empty()) << content;
  }
}

TEST(CountersCsv, RefusesInvalidLinesWithOneCompleteMessage) {
  struct Case {
    std::string_view content, message;
  };
  constexpr std::string_view kTooMany =
      "columns, must be 3: field, type, help. Put a help text that contains a comma in quotation "
      "marks, directly after the comma";
  constexpr std::string_view kTypes =
      "types are gauge, counter, untyped, histogram, summary and label. Correct the line";
  for (const Case& c : std::initializer_list<Case>{
           {"DCGM_FI_DEV_GPU_TMP,gauge,x",
            "counters.csv:1: unknown field \"DCGM_FI_DEV_GPU_TMP\"; nearest is "
            "DCGM_FI_DEV_GPU_TEMP. Correct the line"},
           {"\n# c\nDCGM_EXP_XID_ERROR_COUNT,gauge,x",
            "counters.csv:3: unknown field \"DCGM_EXP_XID_ERROR_COUNT\"; nearest is "
            "DCGM_EXP_XID_ERRORS_COUNT. Correct the line"},
           {"temperature,gauge,x",
            "counters.csv:1: unknown field \"temperature\"; no field has a similar name. Correct "
            "or remove the line"},
           {",gauge,x",
            "counters.csv:1: unknown field \"\"; no field has a similar name. Correct or remove "
            "the line"},
           {"a\x01\xff,gauge,x",
            "counters.csv:1: unknown field \"a \xEF\xBF\xBD\"; no field has a similar name. "
            "Correct or remove the line"},
           {" ", "counters.csv:1: 1 column, must be 3: field, type, help. Add the missing columns"},
           {" # x",
            "counters.csv:1: 1 column, must be 3: field, type, help. Add the missing columns"},
           {"\t#",
            "counters.csv:1: 1 column, must be 3: field, type, help. Add the missing columns"},
           {"DCGM_FI_DEV_GPU_TEMP\t,gauge,x",
            "counters.csv:1: unknown field \"DCGM_FI_DEV_GPU_TEMP \"; nearest is "
            "DCGM_FI_DEV_GPU_TEMP. Correct the line"},
           {"DCGM_FI_DEV_GPU_TEMP,gauge",
            "counters.csv:1: 2 columns, must be 3: field, type, help. Add the missing columns"},
           {"DCGM_FI_DEV_GPU_TEMP,gauge,hot, very", "counters.csv:1: 4 #"},
           {"DCGM_FI_DEV_GPU_TEMP,Gauge,x",
            "counters.csv:1: unknown type \"Gauge\" of DCGM_FI_DEV_GPU_TEMP; @"},
           {"DCGM_FI_DEV_GPU_TEMP,gauge\t,x",
            "counters.csv:1: unknown type \"gauge \" of DCGM_FI_DEV_GPU_TEMP; @"},
           {"DCGM_FI_DEV_GPU_TEMP,unknown,x",
            "counters.csv:1: unknown type \"unknown\" of DCGM_FI_DEV_GPU_TEMP; @"},
           {"DCGM_FI_DEV_GPU_TEMP,,x",
            "counters.csv:1: unknown type \"\" of DCGM_FI_DEV_GPU_TEMP; @"},
           {"DCGM_FI_DEV_GPU_TEMP,gauge, \"x\"",
            "counters.csv:1: a quotation mark inside an unquoted column. Quote the whole column, "
            "directly after the comma, and write the mark twice"},
           {"DCGM_FI_DEV_GPU_TEMP,gauge,a \"b\" c",
            "counters.csv:1: a quotation mark inside an unquoted column. Quote the whole column, "
            "directly after the comma, and write the mark twice"},
           {"\nDCGM_FI_DEV_GPU_TEMP,gauge,\"x\" \n",
            "counters.csv:2: text after the closing quotation mark of a column. Write a mark "
            "inside a quoted column twice"},
           {"DCGM_FI_DEV_GPU_TEMP,gauge,\"x\ny\nz",
            "counters.csv:1: a quoted column has no closing quotation mark. Add it at the end"},
           {"DCGM_FI_DEV_GPU_TEMP,gauge,\"x\ny\"\nfoo,gauge,x",
            "counters.csv:3: unknown field \"foo\"; no field has a similar name. Correct or remove "
            "the line"},
           {"\xEF\xBB\xBF# x",
            "counters.csv:1: the file begins with a byte order mark. Save it as UTF-8 without "
            "one"}}) {
    std::string expected(c.message);
    if (const size_t at = expected.find('#'); at != std::string::npos) {
      expected.replace(at, 1, kTooMany);
    }
    if (const size_t at = expected.find('@'); at != std::string::npos) {
      expected.replace(at, 1, kTypes);
    }
    const StatusOr<Counters> parsed = ParseCounters(c.content, "counters.csv");
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << c.content;
    EXPECT_EQ(parsed.status().message(), expected);
  }
}

// A wrong file, such as a core dump, must not cost a multiple of its size in memory.
TEST(CountersCsv, RefusesFilesAboveTheSizeLimit) {
  const auto refusal = [](const std::string& content) {
    return std::string(ParseCounters(content, "a.csv").status().message());
  };
  EXPECT_EQ(refusal(std::string(size_t{15} << 20, 'x')),
            "a.csv: 15728640 bytes are too many for a list of metrics; the limit is 1048576. "
            "Correct the path, or shorten the list");
  EXPECT_EQ(refusal(std::string(1 << 20, ',')),
            "a.csv:1: more than 64 columns. Write three: field, type, help");
  std::string lines;
  for (int i = 0; i < 10'001; ++i) {
    lines += "a\n";
  }
  EXPECT_EQ(refusal(lines),
            "a.csv:10001: more than 10000 lines of metrics. Remove lines that are not metrics");
  EXPECT_TRUE(ParseCounters("#" + std::string((1 << 20) - 1, 'c'), "a.csv").ok()) << "a comment";
}

TEST(CountersCsv, CutsALongNameInItsMessage) {
  const StatusOr<Counters> parsed = ParseCounters(std::string(5000, 'x') + ",gauge,x", "f");
  EXPECT_EQ(parsed.status().message(), "f:1: unknown field \"" + std::string(80, 'x') +
                                           "...\"; no field has a similar name. Correct or remove "
                                           "the line");
}

TEST(CountersCsv, WarnsAboutLinesThatYieldNoSeries) {
  struct Case {
    std::string_view line, warning;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"DCGM_FI_DRIVER_VERSION,gauge,x",
            "counters.csv:1: DCGM_FI_DRIVER_VERSION is a text, not a number; the line yields no "
            "series. Change its type to label"},
           {"DCGM_FI_DEV_CONNECTX_HEALTH,gauge,x",
            "counters.csv:1: DCGM_FI_DEV_CONNECTX_HEALTH is a field of ConnectX adapters, which "
            "are not "
            "supported; the line yields no series"},
           {"DCGM_FI_GPU_TOPOLOGY_PCI,label,x",
            "counters.csv:1: DCGM_FI_GPU_TOPOLOGY_PCI has neither a number nor a text; the line "
            "yields no series"}}) {
    const Counters parsed = MustParse(c.line);
    ASSERT_EQ(parsed.counters.size(), 1U) << c.line;
    EXPECT_EQ(parsed.warnings, std::vector<std::string>{std::string(c.warning)});
  }
}

TEST(CountersCsv, DoesNotWarnAboutServedKindsOfDevices) {
  for (const std::string_view name :
       {"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT",
        "DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX", "DCGM_FI_DEV_CPU_TEMP_CURRENT",
        "DCGM_FI_DEV_CPU_UTIL_TOTAL"}) {
    EXPECT_TRUE(MustParse(std::string(name) + ",gauge,x").warnings.empty()) << name;
  }
}

// dcgm-exporter prints the type of its computed counters unchecked, and Prometheus refuses the
// page.
TEST(CountersCsv, ShowsAComputedCounterWithAnInvalidTypeAsUntypedAndWarns) {
  for (const std::string type : {"whatever", "label", ""}) {
    const Counters parsed = MustParse("DCGM_EXP_XID_ERRORS_COUNT," + type + ",x");
    ASSERT_EQ(parsed.counters.size(), 1U) << type;
    EXPECT_EQ(parsed.counters[0].own, ExporterCounter::kXidErrors);
    EXPECT_EQ(parsed.counters[0].type, "untyped");
    EXPECT_EQ(parsed.warnings,
              std::vector<std::string>{
                  "counters.csv:1: DCGM_EXP_XID_ERRORS_COUNT has the type \"" + type +
                  "\", which a metrics page does not allow; it is shown as untyped. "
                  "Change it to gauge"});
  }
  const Counters parsed = MustParse("DCGM_EXP_CLOCK_EVENTS_COUNT,counter,x");
  EXPECT_EQ(parsed.counters[0].type, "counter");
  EXPECT_TRUE(parsed.warnings.empty());
}

TEST(CountersCsv, UsesTheFirstOfTwoLinesWithOneNameAndWarns) {
  const Counters parsed = MustParse(
      "dcgm_gpu_temp,gauge,first\ndcgm_gpu_temp,counter,second\nDCGM_FI_DEV_GPU_TEMP,gauge,"
      "third\n");
  ASSERT_EQ(parsed.counters.size(), 2U);
  EXPECT_EQ(parsed.counters[0].help, "first");
  EXPECT_EQ(parsed.counters[1].name, "DCGM_FI_DEV_GPU_TEMP");
  EXPECT_EQ(parsed.warnings,
            std::vector<std::string>{"counters.csv:2: dcgm_gpu_temp is already on line 1; this "
                                     "line has no effect. Remove one"});
}

TEST(CountersCsv, KeepsALabelAndAMetricWithTheSameName) {
  const Counters parsed =
      MustParse("DCGM_FI_DEV_NVML_INDEX,gauge,x\nDCGM_FI_DEV_NVML_INDEX,label,x\n");
  ASSERT_EQ(parsed.counters.size(), 2U);
  EXPECT_FALSE(parsed.counters[0].is_label());
  EXPECT_TRUE(parsed.counters[1].is_label());
}

TEST(DefaultCounters, EqualTheReleasedDefaultSet) {
  const Counters parsed = MustParse(DefaultCountersCsv());
  EXPECT_TRUE(parsed.warnings.empty());
  std::vector<std::pair<int, std::string>> found;
  for (const Counter& counter : parsed.counters) {
    ASSERT_NE(counter.field, nullptr);
    found.emplace_back(counter.field->id, counter.type);
  }
  std::ranges::sort(found);
  const std::vector<std::pair<int, std::string>> expected = {
      {1, "label"},   {100, "gauge"},   {101, "gauge"},   {140, "gauge"},  {150, "gauge"},
      {155, "gauge"}, {156, "counter"}, {202, "counter"}, {203, "gauge"},  {204, "gauge"},
      {206, "gauge"}, {207, "gauge"},   {230, "gauge"},   {251, "gauge"},  {252, "gauge"},
      {253, "gauge"}, {393, "counter"}, {394, "counter"}, {395, "gauge"},  {449, "counter"},
      {526, "gauge"}, {1001, "gauge"},  {1004, "gauge"},  {1005, "gauge"}, {1009, "gauge"},
      {1010, "gauge"}};
  EXPECT_EQ(found, expected);
}

std::string Shipped(const std::string& name) {
  std::ifstream file("deploy/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ShippedCounters, AreInTheProgram) {
  ASSERT_EQ(CounterLists().size(), 4U);
  for (const EmbeddedFile& list : CounterLists()) {
    EXPECT_EQ(list.bytes, Shipped(std::string(list.name))) << list.name;
    EXPECT_EQ(BuiltInListFor("/etc/dcgm-exporter/" + std::string(list.name)).value().csv,
              list.bytes);
    EXPECT_TRUE(MustParse(list.bytes).warnings.empty()) << list.name;
  }
  EXPECT_EQ(DefaultCountersCsv(), Shipped("default-counters.csv"));
  EXPECT_FALSE(BuiltInListFor("/etc/dcgm-exporter/").has_value());
  EXPECT_FALSE(BuiltInListFor("/etc/default-counters.csv").has_value());
}

// "100 gauge" and so on: the fields and types of a list, without names.
std::vector<std::string> WhatIsOn(std::string_view csv) {
  std::vector<std::string> found;
  for (const Counter& counter : MustParse(std::string(csv)).counters) {
    found.push_back(std::to_string(counter.field->id) + " " + counter.type);
  }
  return found;
}

TEST(ShippedCounters, TheListOfTheGpuOperatorHasTheSameFields) {
  EXPECT_EQ(WhatIsOn(Shipped("dcp-metrics-included.csv")), WhatIsOn(DefaultCountersCsv()));
}

TEST(ShippedCounters, TheListOf49HasTheDefaultMetricsUnderTheirNewNames) {
  std::set<std::string> expected = {"DCGM_FI_DEV_FB_CAPACITY_BYTES"};
  for (const Counter& counter : MustParse(DefaultCountersCsv()).counters) {
    const std::string_view other = OtherNameOf(counter.name);
    expected.emplace(other.empty() ? counter.name : other);
  }
  std::set<std::string> found;
  for (const Counter& counter : MustParse(Shipped("default-counters-4.9.csv")).counters) {
    EXPECT_TRUE(found.insert(counter.name).second) << counter.name;
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(RenamedFields().size(), 23U);
}

TEST(ShippedCounters, TheListForOldDashboardsUsesTheOldNames) {
  std::vector<std::string> found;
  for (const Counter& counter : MustParse(Shipped("1.x-compatibility-metrics.csv")).counters) {
    found.push_back(std::to_string(counter.field->id) + " " + counter.name + " " + counter.type);
  }
  const std::vector<std::string> expected = {
      "100 dcgm_sm_clock gauge",
      "101 dcgm_memory_clock gauge",
      "140 dcgm_memory_temp gauge",
      "150 dcgm_gpu_temp gauge",
      "155 dcgm_power_usage gauge",
      "156 dcgm_total_energy_consumption counter",
      "202 dcgm_pcie_replay_counter counter",
      "203 dcgm_gpu_utilization gauge",
      "204 dcgm_mem_copy_utilization gauge",
      "206 dcgm_enc_utilization gauge",
      "207 dcgm_dec_utilization gauge",
      "230 dcgm_xid_errors gauge",
      "251 dcgm_fb_free gauge",
      "252 dcgm_fb_used gauge",
      "449 dcgm_nvlink_bandwidth_total counter",
      "1001 dcgm_fi_prof_gr_engine_active gauge",
      "1004 dcgm_fi_prof_pipe_tensor_active gauge",
      "1005 dcgm_fi_prof_dram_active gauge",
      "1009 dcgm_fi_prof_pcie_tx_bytes counter",
      "1010 dcgm_fi_prof_pcie_rx_bytes counter",
  };
  EXPECT_EQ(found, expected);
}

TEST(DefaultCounters, HaveValidCommentedOutLinesToo) {
  std::string all_on;
  std::string_view rest = DefaultCountersCsv();
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n') + 1);
    rest.remove_prefix(line.size());
    if (line.starts_with("# DCGM_")) {
      line.remove_prefix(2);
    }
    all_on += line;
  }
  const Counters parsed = MustParse(all_on);
  EXPECT_EQ(parsed.counters.size(), 63U);  // It contains 1009 and 1010 twice.
}

}  // namespace
}  // namespace podgpu
