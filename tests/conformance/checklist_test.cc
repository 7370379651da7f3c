// The ten lines of the compatibility checklist, each as an operator sees it: command line, files,
// the page of a real process.  conformance_lines.cc gives the test of each line.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_links.h"
#include "cli/flag_table.h"
#include "cli/flags.h"
#include "fields/counters_csv.h"
#include "fields/field.h"
#include "tests/conformance/upstream_flags.h"
#include "tests/e2e/failure_fixture.h"
#include "tests/page_node.h"

namespace podgpu {
namespace {

std::optional<std::string> Unset(const std::string& /*name*/) { return std::nullopt; }

const Flag* FindFlag(std::string_view name) {
  const auto flags = FlagTable();
  const auto found = std::ranges::find(flags, name, &Flag::name);
  return found == flags.end() ? nullptr : &*found;
}

TEST(Checklist, Line01FlagsAndEnvironment) {
  for (const UpstreamFlag& row : kUpstreamFlags) {
    const Flag* const flag = FindFlag(row.name);
    ASSERT_NE(flag, nullptr) << row.name;
    EXPECT_EQ(flag->alias, row.alias) << row.name;
    EXPECT_EQ(flag->variable, row.variable) << row.name;
    EXPECT_EQ(flag->default_text, row.default_text) << row.name;
    const std::string value(row.example);
    for (const std::string& name : {"--" + std::string(row.name), "-" + std::string(row.name),
                                    "-" + std::string(row.alias.empty() ? row.name : row.alias)}) {
      EXPECT_TRUE(ParseFlags(std::vector<std::string>{name + "=" + value}, Unset).ok()) << name;
    }
    const auto environment = [&](std::string_view given) {
      return [&row, given](const std::string& name) {
        return name == row.variable ? std::optional<std::string>(given) : std::nullopt;
      };
    };
    EXPECT_TRUE(ParseFlags({}, environment(value)).ok()) << row.variable;
    EXPECT_TRUE(ParseFlags({}, environment("")).ok()) << row.variable << " empty";
  }
  // Setting the address of a remote engine selects it.
  for (const char* address : {"", "localhost:5555"}) {
    const auto command = ParseFlags({}, [&](const std::string& name) {
      return name == "DCGM_REMOTE_HOSTENGINE_INFO" ? std::optional<std::string>(address)
                                                   : std::nullopt;
    });
    EXPECT_EQ(command->source.address, "localhost:5555");
  }
  EXPECT_EQ(ParseFlags({}, Unset)->source.address, "");
}

TEST(Checklist, Line02CountersFiles) {
  for (const char* rejected : {
           "DCGM_FI_DEV_GPU_TEMP,gauge\n",
           "DCGM_FI_DEV_GPU_TEMP,gauge,t,more\n",
           "DCGM_FI_DEV_GPU_TEMP,gauge,t\nDCGM_FI_DEV_GPU_UTIL,gauge\n",
           "DCGM_FI_DEV_GPU_TEMP,gauge,a \"quoted\" word\n",
           "DCGM_FI_DEV_GPU_TEMP,gauge, \"after a blank\"\n",
           "   \n",
           " # not a comment\n",
           "DCGM_FI_DEV_NOT_THERE,gauge,t\n",
           "dcgm_fi_dev_gpu_temp,gauge,t\n",
           "DCGM_FI_DEV_GPU_TEMP,Gauge,t\n",
           "DCGM_FI_DEV_GPU_TEMP,untyped,t\n",
       }) {
    EXPECT_FALSE(ParseCounters(rejected, "file.csv").ok()) << rejected;
  }
  for (const char* accepted : {
           "",
           "# only a comment\n\n",
           "DCGM_FI_DEV_GPU_TEMP , gauge , t\r\n",
           "DCGM_FI_DEV_GPU_TEMP,histogram,\"a, b and \"\"c\"\"\"\n",
           "dcgm_gpu_temp,summary,t\n",
           "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS,gauge,t\n",
           "DCGM_EXP_XID_ERRORS_COUNT,anything,t\n",
       }) {
    EXPECT_TRUE(ParseCounters(accepted, "file.csv").ok()) << accepted;
  }
  for (const Field& field : Catalogue()) {  // Every name of every header.
    const std::string line = std::string(field.name) + ",gauge,h\n";
    EXPECT_TRUE(ParseCounters(line, "file.csv").ok()) << line;
  }
  for (const LegacyName& legacy : LegacyNames()) {
    const StatusOr<Counters> counters =
        ParseCounters(std::string(legacy.name) + ",gauge,h\n", "file.csv");
    ASSERT_TRUE(counters.ok()) << legacy.name;
    EXPECT_EQ(counters->counters.at(0).field->id, legacy.id) << legacy.name;
    EXPECT_EQ(counters->counters.at(0).name, legacy.name);
  }
  PageNode node(1);  // Profiling fields that the GPU lacks are skipped.
  node.dcgm.profiling_fields = {};
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 150, 42);
  EXPECT_EQ(
      node.Rows("DCGM_FI_PROF_GR_ENGINE_ACTIVE,gauge,p\nDCGM_FI_DEV_GPU_TEMP,gauge,t\n", "DCGM_FI_")
          .size(),
      1U);
}

TEST(Checklist, Line03RowsByteForByte) {
  PageNode node(1);
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 150, 34);
  node.dcgm.SetDouble(abi::DCGM_FE_GPU, 0, 155, 72.1234567);
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 251, abi::DCGM_INT64_BLANK);
  const std::string labels =
      R"({gpu="0",UUID="GPU-11111111-1111-1111-1111-111111111111",pci_bus_id="00000000:1B:00.0",)"
      R"(device="nvidia0",modelName="NVIDIA H100 80GB HBM3",hostname="node-a",)"
      R"(DCGM_FI_DRIVER_VERSION="580.95.05"} )";
  EXPECT_EQ(node.Page("DCGM_FI_DEV_POWER_USAGE,gauge,power\nDCGM_FI_DRIVER_VERSION,label,d\n"
                      "DCGM_FI_DEV_FB_FREE,gauge,free\nDCGM_FI_DEV_GPU_TEMP,gauge,temp\n"),
            "# HELP DCGM_FI_DEV_GPU_TEMP temp\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
            "DCGM_FI_DEV_GPU_TEMP" +
                labels +
                "34\n"
                "# HELP DCGM_FI_DEV_POWER_USAGE power\n# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n"
                "DCGM_FI_DEV_POWER_USAGE" +
                labels + "72.123457\n");
}

TEST(Checklist, Line04OrderOfGroups) {
  PageNode node(1);
  node.dcgm.links_up = {{0, {0}}};
  node.dcgm.switches = {{0, {}}};
  node.dcgm.cpus = {{0, {17}}};
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 150, 1);
  node.dcgm.SetInt64(abi::DCGM_FE_SWITCH, 0, 858, 1);
  node.dcgm.SetInt64(abi::DCGM_FE_LINK, abi::LinkEntityId(abi::DCGM_FE_GPU, 0, 0), 780, 1);
  node.dcgm.SetDouble(abi::DCGM_FE_CPU, 0, 1100, 1);
  node.dcgm.SetDouble(abi::DCGM_FE_CPU_CORE, 17, 1100, 1);
  std::vector<std::string> kinds;
  for (const std::string& row :
       node.Rows("DCGM_FI_DEV_CPU_UTIL_TOTAL,gauge,x\nDCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX,"
                 "counter,x\nDCGM_FI_DEV_NVSWITCH_TEMPERATURE_CURRENT,gauge,x\n"
                 "DCGM_FI_DEV_GPU_TEMP,gauge,x\n",
                 "DCGM_FI_")) {
    const size_t begin = row.find('{') + 1;
    kinds.push_back(row.substr(begin, row.find('=') - begin));
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"gpu", "nvswitch", "nvlink", "cpu", "cpucore"}));
}

TEST(Checklist, Line05HostnameLabel) {
  struct Case {
    std::vector<std::string> arguments;
    std::string_view expected;
  };
  for (const Case& row : {Case{{}, ",Hostname=\"node-a\"}"},
                          {{"--hostname-label=hostname"}, ",hostname=\"node-a\"}"},
                          {{"-n"}, "HBM3\"}"},
                          {{"--no-hostname=true"}, "HBM3\"}"}}) {
    const auto environment = [](const std::string& name) {
      return name == "NODE_NAME" ? std::optional<std::string>("node-a") : std::nullopt;
    };
    const StatusOr<NodeCommand> command = ParseFlags(row.arguments, environment);
    ASSERT_TRUE(command.ok()) << command.status();
    PageNode node(1);
    node.options = command->exporter.view;
    node.options.hostname = HostnameLabelValue(*command, environment, "system-name");
    node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 150, 1);
    const auto rows = node.Rows("DCGM_FI_DEV_GPU_TEMP,gauge,x\n", "DCGM_FI_");
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_NE(rows[0].find(row.expected), std::string::npos) << rows[0];
  }
}

TEST(Checklist, Line06OwnersOfDevices) {
  PageNode node(2);
  node.options.kubernetes = true;
  node.options.hostname = "";
  node.dcgm.gpus[1].mig_enabled = true;
  node.dcgm.instances = {{7, 1, 3, "1g.10gb", {{7, 0}}}};
  node.nvml.gpus[1].mig_devices = {{true, 3, 0, "MIG-aaaaaaaa-0000-0000-0000-000000000003"}};
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 252, 1);
  node.dcgm.SetInt64(abi::DCGM_FE_GPU_I, 7, 252, 2);
  const auto rows_with = [&](const std::string& id, const std::string& resource) {
    node.allocations = {Given("ml", "train-0", "main", id, resource)};
    return node.Rows("DCGM_FI_DEV_FB_USED,gauge,u\n", "DCGM_FI_");
  };
  const std::string pod = R"(,container="main",namespace="ml",pod="train-0"} )";
  const std::string gpu = node.dcgm.gpus[0].uuid;
  for (const std::string& id :
       {gpu, gpu + "::0", gpu + "::", std::string("nvidia0"), std::string("nvidia0/vgpu2")}) {
    const auto rows = rows_with(id, "nvidia.com/gpu");
    ASSERT_EQ(rows.size(), 2U) << id;
    EXPECT_TRUE(rows[0].ends_with(pod + "1")) << rows[0];
    EXPECT_EQ(rows[1].find("pod="), std::string::npos) << "a row has no empty labels";
  }
  for (const std::string& id : {std::string("MIG-aaaaaaaa-0000-0000-0000-000000000003"),
                                "MIG-" + node.dcgm.gpus[1].uuid + "/3/0",
                                std::string("nvidia1/gi3"), std::string("nvidia1/gi3/vgpu1")}) {
    const auto rows = rows_with(id, "nvidia.com/mig-1g.10gb");
    ASSERT_EQ(rows.size(), 2U) << id;
    EXPECT_EQ(rows[0].find("pod="), std::string::npos) << "the row of an unused GPU stays";
    EXPECT_TRUE(rows[1].ends_with(pod + "2")) << rows[1];
  }
}

TEST(Checklist, Line07VirtualGpus) {
  PageNode node(2);
  node.options.kubernetes = true;
  node.options.virtual_gpus = true;
  node.options.hostname = "";
  node.join.pod_labels = LabelAllowlist::Compile({}).value();
  const std::string gpu = node.dcgm.gpus[0].uuid;
  node.allocations = {Given("ml", "a", "main", gpu + "::0"), Given("ml", "b", "main", gpu + "::1")};
  ApiObjects pods;
  pods["ml/a"].uid = "uid-a";
  pods["ml/a"].labels = {{"team", "x"}};
  pods["ml/b"].uid = "uid-b";
  node.facts.api_pods = std::make_shared<const ApiObjects>(std::move(pods));
  node.pod_slots = {{{203, 0, "ml", "a"}, 0}, {{203, 0, "ml", "b"}, 1}};
  node.pod_values = {Value::OfInt64(62), Value::OfInt64(0)};
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 150, 50);
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 203, 80);
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 1, 150, 30);
  std::vector<std::string> ends;
  for (const std::string& row :
       node.Rows("DCGM_FI_DEV_GPU_TEMP,gauge,t\nDCGM_FI_DEV_GPU_UTIL,gauge,u\n", "DCGM_FI_")) {
    ends.push_back(row.substr(row.find("HBM3\"") + 5));
  }
  EXPECT_EQ(ends, (std::vector<std::string>{
                      R"(,container="main",namespace="ml",pod="a",vgpu="0"} 50)",
                      R"(,container="main",namespace="ml",pod="b",vgpu="1"} 50)", "} 30", "} 80",
                      R"(,container="main",namespace="ml",pod="a",pod_uid="uid-a",vgpu="0"} 62)",
                      R"(,container="main",namespace="ml",pod="b",pod_uid="uid-b",vgpu="1"} 0)"}));
}

class ChecklistProgram : public FailureFixture {
 protected:
  ChecklistProgram() : FailureFixture(kThreeGpus, {"--restart-engine=300ms"}) {}

  // The node of FailureFixture, with two fields, one of them a profiling field, and a remote
  // engine.
  std::string StartWithFile(const std::vector<std::string>& flags = {}) {
    const std::string path = files_.Write("counters.csv",
                                          "DCGM_FI_DEV_GPU_TEMP, gauge, t\n"
                                          "DCGM_FI_PROF_DRAM_ACTIVE, gauge, d\n");
    std::vector<std::string> all = {"-f", path, "-r=unix://" + node_.engine_socket()};
    all.insert(all.end(), flags.begin(), flags.end());
    StartExporter(all);
    return path;
  }
};

TEST_F(ChecklistProgram, Line08HealthAndMetricsAlwaysAnswer) {
  const std::string path = StartWithFile();
  const auto expect_answers = [&] {
    const LoopbackResponse health = exporter_->Fetch("/health");
    EXPECT_EQ(health.status, 200);
    EXPECT_EQ(health.body, "OK");
    EXPECT_NE(health.head.find("\r\nX-Registry-Available: true\r\n"), std::string::npos);
    const LoopbackResponse metrics = exporter_->Fetch("/metrics");
    EXPECT_EQ(metrics.status, 200);
    EXPECT_NE(metrics.body.find("\npodgpu_build_info{"), std::string::npos);
  };
  expect_answers();
  ::kill(node_.engine_pid(), SIGKILL);
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    expect_answers();
    return page.Value("podgpu_source_connections_total") > 1;
  }));
  files_.Write("counters.csv", "DCGM_FI_DEV_GPU_TEMP, gauge, t\n");
  ::kill(exporter_->process().pid(), SIGHUP);
  EXPECT_TRUE(AwaitPage([&](const MetricPage& page) {
    expect_answers();
    return !page.Has("DCGM_FI_PROF_DRAM_ACTIVE") && page.Has("DCGM_FI_DEV_GPU_TEMP");
  }));
}

TEST_F(ChecklistProgram, Line09EverythingReturnsAfterAFailure) {
  const std::string path = StartWithFile({"-k"});
  const std::set<std::string> before = DeviceSeries();
  const auto comes_back = [&](const char* after) {
    EXPECT_TRUE(AwaitDeviceSeries(before)) << after << exporter_->Get("/");
    EXPECT_TRUE(exporter_->process().IsRunning()) << after;
  };
  ::kill(exporter_->process().pid(), SIGHUP);
  // The signal reads the file at once, so it must not be half written then.
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Value("podgpu_config_reloads_total", {R"(result="taken_over")"}) == 1;
  }));
  comes_back("a reload keeps profiling fields");
  std::ofstream(path) << "DCGM_FI_DEV_GPU_TEMP, gauge\n";
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Value("podgpu_config_last_reload_successful") == 0;
  }));
  comes_back("an invalid list changes nothing");
  ::kill(node_.engine_pid(), SIGKILL);
  ASSERT_TRUE(AwaitPage(
      [](const MetricPage& page) { return page.Value("podgpu_source_connections_total") > 1; }));
  comes_back("watches return after the engine was killed");
  node_.Command({"fault", "gpu_lost", "gpu=1"});
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    EXPECT_TRUE(page.Has("DCGM_FI_DEV_GPU_TEMP", {Gpu("0")}))
        << "a lost GPU does not affect others";
    return !page.Has("DCGM_FI_DEV_GPU_TEMP", {Gpu("1")});
  }));
  node_.Command({"heal"});
  comes_back("a lost GPU returns");
  // The kubelet's last answer stays, so no label disappears during a scrape.
  node_.Command({"fault", "kubelet_down"});
  ASSERT_TRUE(exporter_->Await("/metrics", "\npodgpu_pod_resources_up 0\n"));
  EXPECT_EQ(DeviceSeries(), before);
}

TEST(Checklist, Line10DeviationsAreDocumented) {
  std::ifstream file("docs/compatibility.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const char* words :
       {"`--no-hostname` has no effect", "printed raw", "nvswitch=\"nvswitch0\"",
        "vanish at each reload", "a bad counters file at reload ends the process",
        "asked during each scrape", "a lost engine connection ends the process",
        "fails the scrape with 500"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words;
  }
}

}  // namespace
}  // namespace podgpu
