// The assertions of dcgm-exporter's own tests about fields, values and rows, checked on the whole
// path from raw vendor values to the page.  conformance_lines.cc gives the test of each line.
#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_links.h"
#include "fields/counters_csv.h"
#include "fields/field.h"
#include "source/dcgm/source.h"
#include "tests/page_node.h"
#include "topology/selection.h"

namespace podgpu {
namespace {

using abi::DCGM_FE_CPU;
using abi::DCGM_FE_CPU_CORE;
using abi::DCGM_FE_GPU;
using abi::DCGM_FE_GPU_I;
using abi::DCGM_FE_LINK;
using abi::DCGM_FE_SWITCH;

constexpr const char* kTemp = "DCGM_FI_DEV_GPU_TEMP,gauge,t\n";

// One of each kind of entity: a GPU with a link, a switch with a port, a CPU with two cores.
void AddEveryKind(PageNode& node) {
  node.dcgm.links_up = {{0, {0}}};
  node.dcgm.switches = {{0, {5}}};
  node.dcgm.cpus = {{0, {17, 18}}};
}
const uint32_t kGpuLink = abi::LinkEntityId(DCGM_FE_GPU, 0, 0);
const uint32_t kPort = abi::LinkEntityId(DCGM_FE_SWITCH, 5, 0);

std::vector<std::string> Names(const std::vector<std::string>& rows) {
  std::vector<std::string> names;
  for (const std::string& row : rows) {
    names.push_back(row.substr(0, row.find(',') == std::string::npos ? row.size() : row.find(',')));
  }
  return names;
}

TEST(UpstreamPages, RenderOfEachGroup) {
  PageNode node(1);
  AddEveryKind(node);
  node.dcgm.gpus[0].pci_bus_id = "";
  node.options.hostname = "h";
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 42);
  node.dcgm.SetInt64(DCGM_FE_SWITCH, 0, 858, 38);
  node.dcgm.SetInt64(DCGM_FE_LINK, kGpuLink, 780, 1);
  node.dcgm.SetInt64(DCGM_FE_LINK, kPort, 780, 2);
  node.dcgm.SetDouble(DCGM_FE_CPU, 0, 1100, 0.25);
  node.dcgm.SetDouble(DCGM_FE_CPU_CORE, 17, 1100, 0.5);
  const std::string device = R"(device="nvidia0",)";
  EXPECT_EQ(
      node.Page("DCGM_FI_DEV_GPU_TEMP,gauge,\n"
                "DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT,gauge,\n"
                "DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX,counter,\n"
                "DCGM_FI_DEV_CPU_UTIL_TOTAL,gauge,\n"),
      "# HELP DCGM_FI_DEV_GPU_TEMP \n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
      "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"" +
          node.dcgm.gpus[0].uuid + "\",pci_bus_id=\"\"," + device +
          "modelName=\"NVIDIA H100 80GB HBM3\",hostname=\"h\"} 42\n"
          "# HELP DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT \n"
          "# TYPE DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT gauge\n"
          "DCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT{nvswitch=\"nvswitch0\",hostname=\"h\"} 38\n"
          "# HELP DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX \n"
          "# TYPE DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX counter\n"
          "DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX{nvlink=\"1\",gpu=\"0\",gpu_uuid=\"" +
          node.dcgm.gpus[0].uuid + "\"," + device +
          "model_name=\"NVIDIA H100 80GB HBM3\",hostname=\"h\"} 1\n"
          "DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX{nvlink=\"5\",nvswitch=\"nvswitch0\","
          "hostname=\"h\"} 2\n"
          "# HELP DCGM_FI_DEV_CPU_UTIL_TOTAL \n# TYPE DCGM_FI_DEV_CPU_UTIL_TOTAL gauge\n"
          "DCGM_FI_DEV_CPU_UTIL_TOTAL{cpu=\"0\",hostname=\"h\"} 0.250000\n"
          "DCGM_FI_DEV_CPU_UTIL_TOTAL{cpucore=\"17\",cpu=\"0\",hostname=\"h\"} 0.500000\n");
}

TEST(UpstreamPages, CountersFile) {
  const StatusOr<Counters> one =
      ParseCounters("DCGM_FI_DEV_GPU_TEMP, gauge, temperature\n", "file.csv");
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_EQ(one->counters.size(), 1U);
  EXPECT_EQ(one->counters[0].name, "DCGM_FI_DEV_GPU_TEMP");
  EXPECT_EQ(one->counters[0].type, "gauge");
  EXPECT_EQ(one->counters[0].help, "temperature");
  EXPECT_FALSE(ParseCounters("DCGM_FI_DEV_GPU_TEMP, gauge, temperature\n"
                             "DCGM_EXP_XID_ERRORS_COUNTXXX, gauge, XIDs\n",
                             "file.csv")
                   .ok());
}

TEST(UpstreamPages, BlankValues) {
  constexpr const char* kNumbers =
      "DCGM_FI_DEV_GPU_TEMP,gauge,t\nDCGM_FI_DEV_PCI_BUSID,label,b\nDCGM_FI_DEV_SERIAL,label,s\n"
      "DCGM_FI_DEV_POWER_USAGE,gauge,p\n";
  PageNode node(1);
  const auto number_of = [&](int64_t number) {
    node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, number);
    const std::vector<std::string> rows = node.Rows(kNumbers, "DCGM_FI_DEV_GPU_TEMP{");
    return rows.empty() ? "" : rows[0].substr(rows[0].rfind(' ') + 1);
  };
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(number_of(2147483632 + i), "") << i;
    EXPECT_EQ(number_of(9223372036854775792 + i), "") << i;
  }
  for (const int64_t kept : {int64_t{0}, int64_t{-1}, int64_t{2147483631}, int64_t{2147483636},
                             int64_t{9223372036854775791}}) {
    EXPECT_EQ(number_of(kept), std::to_string(kept));
  }
  const auto power_of = [&](double number) {
    node.dcgm.SetDouble(DCGM_FE_GPU, 0, 155, number);
    return node.Rows(kNumbers, "DCGM_FI_DEV_POWER_USAGE{").size();
  };
  for (const double blank : {0.0, 1.0, 2.0, 3.0}) {
    EXPECT_EQ(power_of(140737488355328.0 + blank), 0U) << blank;
  }
  EXPECT_EQ(power_of(0), 1U);
  EXPECT_EQ(power_of(140737488355327.0), 1U);
  // Upstream shows these values; podgpu does not, since they are not readings.
  for (const double nonsense :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(power_of(nonsense), 0U) << nonsense;
  }
  const auto has_serial = [&](const std::string& text) {
    node.dcgm.SetString(DCGM_FE_GPU, 0, 53, text);
    return node.Page(kNumbers).find("DCGM_FI_DEV_SERIAL=\"" + text + "\"") != std::string::npos;
  };
  number_of(42);
  for (const char* blank :
       {"<<<NULL>>>", "<<<NOT_FOUND>>>", "<<<NOT_SUPPORTED>>>", "<<<NOT_PERMISSIONED>>>"}) {
    EXPECT_FALSE(has_serial(blank)) << blank;
  }
  EXPECT_TRUE(has_serial(""));
  EXPECT_TRUE(has_serial("1654321"));
}

TEST(UpstreamPages, XidMetric) {
  PageNode node(1);
  const auto attributes_of = [&](int64_t code) {
    node.dcgm.SetInt64(DCGM_FE_GPU, 0, 230, code);
    const auto rows = node.Rows("DCGM_FI_DEV_XID_ERRORS,gauge,x\n", "DCGM_FI_DEV_XID_ERRORS{");
    return rows.size() != 1 ? "" : rows[0].substr(rows[0].find("err_code"));
  };
  EXPECT_EQ(attributes_of(0), R"(err_code="0",err_msg="No Error"} 0)");
  EXPECT_EQ(attributes_of(79), R"(err_code="79",err_msg="GPU has fallen off the bus"} 79)");
  EXPECT_EQ(attributes_of(172), R"(err_code="172",err_msg="Uncorrectable SRAM Error"} 172)");
  for (const int64_t unknown : {173, 255}) {
    const std::string code = std::to_string(unknown);
    EXPECT_EQ(
        attributes_of(unknown),
        std::string("err_code=\"").append(code).append(R"(",err_msg="Unknown Error"} )" + code));
  }
  EXPECT_EQ(attributes_of(-1), "") << "a driver never reports this number";
}

TEST(UpstreamPages, FieldFilter) {
  struct Case {
    uint16_t id;
    std::vector<std::string> on;  // The rows when every entity answers.
  };
  const Case cases[] = {
      {150, {R"(gpu="0")"}},
      {1001, {R"(gpu="0")"}},
      {526, {R"(gpu="0")"}},
      {858, {R"(nvswitch="nvswitch0")"}},
      {780, {R"(nvswitch="nvswitch0")", R"(nvlink="1")", R"(nvlink="5")"}},
      {1100, {R"(cpu="0")", R"(cpucore="17")", R"(cpucore="18")"}},
      {1110, {R"(cpu="0")"}},
  };
  for (const Case& row : cases) {
    const std::string name(FindField(row.id)->name);
    PageNode node(1);
    AddEveryKind(node);
    node.dcgm.measure = [](abi::dcgmFieldValue_v2& value) {
      if (value.fieldType == abi::DCGM_FT_DOUBLE) {
        value.value.dbl = 0.5;
      } else {
        value.value.i64 = 5;
      }
      return value.fieldType != abi::DCGM_FT_STRING;
    };
    std::vector<std::string> expected;
    for (const std::string& label : row.on) {
      expected.push_back(std::string(name).append("{").append(label));
    }
    auto rows = Names(node.Rows(name + ",gauge,x\n", name));
    for (std::string& begin : rows) {
      begin = begin.substr(0, begin.find('}'));
    }
    EXPECT_EQ(rows, expected);
  }
  PageNode node(1);  // An unknown field does not affect the others.
  node.dcgm.unknown_fields = {140};
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 42);
  const std::string csv = std::string(kTemp) + "DCGM_FI_DEV_MEMORY_TEMP,gauge,m\n";
  EXPECT_EQ(node.Rows(csv, "DCGM_FI_DEV_").size(), 1U);
}

TEST(UpstreamPages, CoreBitmask) {
  const std::vector<std::vector<uint32_t>> sets = {
      {}, {0}, {63, 64, 65, 1023}, {0, 128, 256, 512, 1000}};
  for (const std::vector<uint32_t>& cores : sets) {
    PageNode node(1);
    node.dcgm.cpus = {{0, cores}};
    std::vector<std::string> expected;
    for (const uint32_t core : cores) {
      node.dcgm.SetDouble(DCGM_FE_CPU_CORE, core, 1100, 0.5);
      expected.push_back("DCGM_FI_DEV_CPU_UTIL_TOTAL{cpucore=\"" + std::to_string(core) + "\"");
    }
    EXPECT_EQ(Names(node.Rows("DCGM_FI_DEV_CPU_UTIL_TOTAL,gauge,x\n", "DCGM_FI_DEV_CPU_UTIL")),
              expected);
  }
}

// GPUs 0 and 1; GPU 0 has two instances.
void AddInstances(PageNode& node) {
  node.dcgm.gpus[0].mig_enabled = true;
  node.dcgm.instances = {{0, 0, 7, "1g.10gb", {{0, 0}}}, {1, 0, 3, "2g.20gb", {{1, 0}}}};
  for (const uint32_t id : {0U, 1U}) {
    node.dcgm.SetInt64(DCGM_FE_GPU, id, 252, 10 + id);
    node.dcgm.SetInt64(DCGM_FE_GPU_I, id, 252, 20 + id);
  }
}
constexpr const char* kUsedLine = "DCGM_FI_DEV_FB_USED,gauge,u\n";

TEST(UpstreamPages, DiscoveryOfPresentEntities) {
  EXPECT_EQ(PageNode(0).Page(kTemp), "");
  PageNode node(2);
  AddInstances(node);
  std::ranges::reverse(node.dcgm.instances);  // In any order each has its own parent.
  const std::vector<std::string> rows = node.Rows(kUsedLine, "DCGM_FI_DEV_FB_USED{");
  ASSERT_EQ(rows.size(), 3U);
  for (const auto& [instance, number] :
       {std::pair(R"(GPU_I_PROFILE="1g.10gb",GPU_I_ID="7")", "} 20"),
        std::pair(R"(GPU_I_PROFILE="2g.20gb",GPU_I_ID="3")", "} 21")}) {
    EXPECT_EQ(std::ranges::count_if(rows,
                                    [&](const std::string& row) {
                                      return row.find(instance) != std::string::npos &&
                                             row.ends_with(number);
                                    }),
              1)
        << instance;
  }
}

TEST(UpstreamPages, DiscoveryWithFailingCalls) {
  {
    PageNode node(2);
    node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 42);
    node.dcgm.SetInt64(DCGM_FE_GPU, 1, 150, 43);
    node.dcgm.Fail("dcgmGetDeviceAttributes", abi::DCGM_ST_GENERIC_ERROR, 1);
    EXPECT_FALSE(node.Rows(kTemp, "DCGM_FI_DEV_GPU_TEMP{").empty())
        << "a device that does not answer does not hide others";
  }
  const auto discover = [&](auto change) {
    PageNode other(1);
    change(other.dcgm);
    DcgmSource source(
        other.dcgm.Library(), {.endpoint = {DcgmEndpoint::Kind::kTcp, "host:5555"}},
        NvmlIdentity([&]() -> StatusOr<abi::NvmlLibrary> { return other.nvml.Library(); }),
        other.clock);
    return source.Discover({}).status();
  };
  EXPECT_TRUE(discover([](FakeDcgm&) {}).ok());
  for (const char* call : {"dcgmGetAllDevices", "dcgmGetGpuInstanceHierarchy"}) {
    const Status status =
        discover([&](FakeDcgm& dcgm) { dcgm.Fail(call, abi::DCGM_ST_GENERIC_ERROR); });
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find("DCGM -3"), std::string_view::npos) << status;
  }
}

TEST(UpstreamPages, DiscoveryOfMissingEntities) {
  struct Case {
    const char *gpus, *switches, *cpus, *missing;
  };
  for (const Case& row : {Case{"g:0,2", "f", "f", "couldn't find requested GPU ID '2'"},
                          Case{"i:9", "f", "f", "couldn't find requested GPU instance ID '9'"},
                          Case{"f", "g:1", "f", "couldn't find requested NvSwitch ID '1'"},
                          Case{"f", "f", "g:3", "couldn't find requested CPU ID '3'"}}) {
    Topology topology;
    topology.gpus.resize(1);
    topology.parts = {{PartKind::kNvSwitch, 0, 0}, {PartKind::kCpu, 0, 0}};
    NumberEntities(topology);
    const SelectedRows rows = SelectRows(
        {ParseDeviceSelection(row.gpus).value(), ParseDeviceSelection(row.switches).value(),
         ParseDeviceSelection(row.cpus).value()},
        topology);
    ASSERT_EQ(rows.missing.size(), 1U) << row.missing;
    EXPECT_NE(rows.missing[0].find(row.missing), std::string::npos) << rows.missing[0];
  }
}

TEST(UpstreamPages, DiscoveryOfNamesOfInstances) {
  PageNode node(2);
  AddInstances(node);
  node.dcgm.Tamper(DCGM_FE_GPU_I, 0, 50, [](abi::dcgmFieldValue_v2& value) {
    value.fieldType = abi::DCGM_FT_INT64;
    value.value.i64 = 7;
  });
  const std::vector<std::string> rows = node.Rows(kUsedLine, "DCGM_FI_DEV_FB_USED{");
  EXPECT_EQ(rows.size(), 3U) << "an instance without a name is still shown";
}

TEST(UpstreamPages, WatchWithoutEntities) {
  PageNode node(1);
  node.dcgm.links_up = {};
  node.dcgm.SetInt64(DCGM_FE_GPU, 0, 150, 42);
  const std::string csv = std::string(kTemp) +
                          "DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX,counter,x\n"
                          "DCGM_FI_DEV_CPU_UTIL_TOTAL,gauge,x\n";
  EXPECT_EQ(node.Rows(csv, "DCGM_FI_").size(), 1U);
  node.dcgm.links_up = {{0, {0}}};
  node.dcgm.SetInt64(DCGM_FE_LINK, kGpuLink, 780, 1);
  EXPECT_EQ(node.Rows(csv, "DCGM_FI_").size(), 2U);
}

TEST(UpstreamPages, WatchesThatFail) {
  for (const char* call : {"dcgmGroupCreate", "dcgmFieldGroupCreate", "dcgmWatchFields"}) {
    PageNode node(1);
    DcgmSource source(
        node.dcgm.Library(), {.endpoint = {DcgmEndpoint::Kind::kTcp, "host:5555"}},
        NvmlIdentity([&]() -> StatusOr<abi::NvmlLibrary> { return node.nvml.Library(); }),
        node.clock);
    const StatusOr<Topology> topology = source.Discover({});
    ASSERT_TRUE(topology.ok()) << topology.status();
    const std::vector<const Field*> fields = {FindField(150)};
    node.dcgm.Fail(call, abi::DCGM_ST_GENERIC_ERROR);
    const StatusOr<WatchResult> refused = source.Watch(*topology, fields, std::chrono::seconds(1));
    // Without a group there is no watch; without the field only the field is missing.
    EXPECT_EQ(refused.ok(), call != std::string_view("dcgmGroupCreate")) << call;
    const std::string why =
        refused.ok() ? refused->reason : std::string(refused.status().message());
    EXPECT_NE(why.find("DCGM -3"), std::string::npos) << call << ": " << why;
    EXPECT_EQ(node.dcgm.group_count(), refused.ok() ? 1U : 0U) << call;
    EXPECT_EQ(node.dcgm.field_group_count(), 0U) << call;
    node.dcgm.Heal(call);
    EXPECT_TRUE(source.Watch(*topology, fields, std::chrono::seconds(1)).ok()) << call;
  }
}

}  // namespace
}  // namespace podgpu
