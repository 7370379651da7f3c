// Lines of the compatibility checklist as an operator sees them: command line, page, real process.
// conformance_lines.cc gives the test of each line; those of the others are in the rooms.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_links.h"
#include "cli/flag_table.h"
#include "cli/flags.h"
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

TEST(Checklist, Line04OrderOfGroups) {
  PageNode node(1);
  node.dcgm.links_up = {{0, {0}}};
  node.dcgm.switches = {{0, {5}}};
  node.dcgm.cpus = {{0, {17, 18}}};
  node.dcgm.gpus[0].pci_bus_id = "";
  node.options.hostname = "h";
  node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, 150, 42);
  node.dcgm.SetInt64(abi::DCGM_FE_SWITCH, 0, 858, 38);
  node.dcgm.SetInt64(abi::DCGM_FE_LINK, abi::LinkEntityId(abi::DCGM_FE_GPU, 0, 0), 780, 1);
  node.dcgm.SetInt64(abi::DCGM_FE_LINK, abi::LinkEntityId(abi::DCGM_FE_SWITCH, 5, 0), 780, 2);
  node.dcgm.SetDouble(abi::DCGM_FE_CPU, 0, 1100, 0.25);
  node.dcgm.SetDouble(abi::DCGM_FE_CPU_CORE, 17, 1100, 0.5);
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
