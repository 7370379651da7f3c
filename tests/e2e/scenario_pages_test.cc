// The page of each shipped scenario, byte for byte, through the shared objects as the program loads
// them: embedded and remote, DCGM 4 and 3, and NVML without DCGM.  All pages are equal, except for
// the few fields that DCGM 3 lacks and the devices that NVML lacks.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <re2/re2.h>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

struct Way {
  std::string_view name, library;
  bool remote_socket = false, remote_tcp = false;
};
constexpr std::string_view kNvml = "nvml";
constexpr Way kWays[] = {
    {"embedded, DCGM 4", "libdcgm.so.4"},
    {"remote by socket, DCGM 4", "libdcgm.so.4", true, false},
    {"remote by TCP, DCGM 4", "libdcgm.so.4", false, true},
    {"embedded, DCGM 3", "libdcgm.so.3"},
    {"remote by socket, DCGM 3", "libdcgm.so.3", true, false},
    {"NVML", kNvml},
};

// A scenario, and the flags of podgpu for it; `page` is the golden page's name.
struct Shown {
  std::string scenario;
  std::string page;
  std::vector<std::string> flags = {};
  bool has_api_server = false;
  int start_s = 12;
  bool with_nvml = true;
  std::string path = "/metrics";
  std::string more_yaml = "";  // Further lines of the scenario.
};
// For scenarios of which the built-in list shows too little.
const std::string kPartsFlag =
    "--collectors="
    "tests/e2e/parts.csv";
const std::string kOwnCountersFlag =
    "--collectors="
    "tests/e2e/own-counters.csv";
const std::string kUidFlag = "--kubernetes-enable-pod-uid";
const std::string kRequestsFlag = "--requested-vs-used=on";
const std::string kJobsFlag =
    "--hpc-job-mapping-dir="
    "tests/e2e/jobs";

// The scenario with a fixed start date.
std::string AtFixedTime(std::string scenario) {
  const std::string now = "epoch: start\n";
  if (const size_t at = scenario.find(now); at != std::string::npos) {
    scenario.erase(at, now.size());
  }
  return scenario + "\nepoch: 2026-03-01T12:00:00Z\n";
}

class ScenarioPage : public ::testing::TestWithParam<Shown> {
 public:
  // Each way gets a new node, which starts at the same world time and date.
  static std::string PageOf(const Shown& shown, const Way& way) {
    const TemporaryFolder folder;
    const std::string scenario =
        folder.Write(shown.scenario + ".yaml",
                     AtFixedTime(Content(SimNode::Shipped(shown.scenario))) + shown.more_yaml);
    const SimNode node(scenario, SimNode::Pace::kManual,
                       shown.has_api_server ? std::vector<std::string>{"--api-server"}
                                            : std::vector<std::string>());
    EXPECT_TRUE(node.ready()) << node.output();
    std::string address;
    if (way.remote_socket) {
      address = "unix://" + node.engine_socket();
    } else if (way.remote_tcp) {
      address = node.engine_address();
    }
    std::vector<std::string> words = {
        PODGPU_BINARY_DIR "/bin/page_at",
        node.directory(),
        way.library == kNvml ? std::string(kNvml) : node.library(way.library),
        address,
        std::to_string(shown.start_s),
        shown.path};
    words.insert(words.end(), shown.flags.begin(), shown.flags.end());
    Child page(words, node.variables());
    const int exit_code = page.Wait();
    EXPECT_EQ(exit_code, 0) << page.output();
    return WithoutLog(page.output());
  }

  static std::string Content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  // Standard error is part of the output.
  static std::string WithoutLog(const std::string& output) {
    std::istringstream lines(output);
    std::string page;
    for (std::string line; std::getline(lines, line);) {
      page += line.starts_with("time=") ? "" : line + "\n";
    }
    return page;
  }
};

// The page without the fields that DCGM 3 lacks.
std::string AsDcgm3(const std::string& golden) {
  std::istringstream lines(golden);
  std::string page;
  for (std::string line; std::getline(lines, line);) {
    const bool is_new_reason = line.starts_with("podgpu_gpu_throttled_seconds_total") &&
                               (line.find("\"sw_thermal\"") != std::string::npos ||
                                line.find("\"hw_thermal\"") != std::string::npos ||
                                line.find("\"hw_power_brake\"") != std::string::npos);
    const bool is_new = line.find("podgpu_gpu_recovery_action") != std::string::npos ||
                        line.find("DCGM_EXP_P2P_STATUS") != std::string::npos;
    page += is_new || is_new_reason ? "" : line + "\n";
  }
  return page;
}

// The page without the devices that NVML lacks: all that are not GPUs.
std::string AsNvml(const std::string& golden) {
  std::istringstream lines(golden);
  std::string page;
  for (std::string line; std::getline(lines, line);) {
    const bool is_of_part = line.find("DCGM_FI_DEV_NVSWITCH_") != std::string::npos ||
                            line.find("DCGM_FI_DEV_CPU_") != std::string::npos;
    page += is_of_part ? "" : line + "\n";
  }
  return page;
}

TEST_P(ScenarioPage, IsTheSameThroughEverySource) {
  const std::string path = "tests/golden/scenario-" + GetParam().page + ".prom";
  if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << PageOf(GetParam(), kWays[0]);
  }
  const std::string golden = Content(path);
  ASSERT_FALSE(golden.empty()) << path << " is missing; PODGPU_UPDATE_GOLDEN=1 writes it";
  for (const Way& way : kWays) {
    if (way.library == kNvml && !GetParam().with_nvml) {
      continue;
    }
    std::string expected = golden;
    if (way.library == "libdcgm.so.3") {
      expected = AsDcgm3(golden);
    } else if (way.library == kNvml) {
      expected = AsNvml(golden);
    }
    EXPECT_EQ(PageOf(GetParam(), way), expected) << way.name;
  }
}

// Kinds of device by scenario, kinds of label by flag.
const Shown kShown[] = {
    {"one-gpu", "one-gpu"},
    {"demo", "demo"},
    {"demo", "default-views", {"--metrics-views=dcgm,core"}},
    {"mig-mixed", "mig-mixed"},
    {"time-slicing", "time-slicing"},
    {"no-gpu", "no-gpu"},
    {"churn", "churn"},
    {"nvswitch", "nvswitch", {kPartsFlag}},
    {"grace", "grace", {kPartsFlag}},
    {"time-slicing", "virtual-gpus", {"--kubernetes-virtual-gpus"}},
    {"mig-mixed", "old-namespace", {"-o", "-rbmn", "--hostname-label=hostname"}},
    {"mig-mixed", "mig-mixed-4-8-3", {"--dcgm-exporter-version=4.8.3"}},
    {"mig-mixed", "mig-mixed-4-8-4", {"--dcgm-exporter-version=4.8.4"}},
    {"mig-mixed", "mig-mixed-4-9", {"--dcgm-exporter-version=4.9"}},
    {"one-gpu", "both-names", {"--both-names", "--metrics-views=dcgm"}},
    {"mig-mixed", "jobs", {kJobsFlag}},
    {"one-gpu", "pod-labels", {kUidFlag, "--kubernetes-enable-pod-labels"}, true},
    {"time-slicing", "virtual-gpu-uids", {kUidFlag, "--kubernetes-virtual-gpus"}, true},
    {"one-gpu", "no-hostname", {"-n"}},
    // One GPU is throttled, another has just had an ECC error and an XID.  NVML knows no health,
    // and what it tells of events depends on when one began to listen (source/nvml/source_test.cc).
    {"fault-board", "own-counters", {kOwnCountersFlag}, false, 48, false},
    {"fault-board",
     "own-counters-4-8-4",
     {kOwnCountersFlag, "--dcgm-exporter-version=4.8.4"},
     false,
     48,
     false},
    {"claims", "claims", {"-k", "--kubernetes-enable-dra"}, true},
    {"demo", "requested-vs-used", {kRequestsFlag}, true, 12, true, "/metric"},
    {"volcano", "volcano", {kRequestsFlag}, true, 12, true, "/metric"},
    {"volcano", "volcano-map", {kRequestsFlag, "--metrics-views=core"}, true},
    {"gpushare", "gpushare", {kRequestsFlag}, true, 12, true, "/metric"},
    {"gpushare", "gpushare-map", {kRequestsFlag, "--metrics-views=core"}, true},
};
INSTANTIATE_TEST_SUITE_P(Shipped, ScenarioPage, ::testing::ValuesIn(kShown), [](const auto& shown) {
  std::string name(shown.param.page);
  for (char& c : name) {
    c = c == '-' ? '_' : c;
  }
  return name;
});

// DCGM 4.6.1 and 4.7.1 know the fields in base units themselves; before, podgpu converts.
TEST(ScenarioPageOfNewerDcgm, IsTheSameAsWithConvertedValues) {
  const std::string golden = ScenarioPage::Content("tests/golden/scenario-both-names.prom");
  for (const char* version : {"4.6.1", "4.7.1"}) {
    Shown shown{"one-gpu", "both-names", {"--both-names", "--metrics-views=dcgm"}};
    shown.more_yaml = std::string("dcgm: {version: ") + version + "}\n";
    EXPECT_EQ(ScenarioPage::PageOf(shown, kWays[0]), golden) << version;
  }
}

// The report that the cluster role reads of a node, byte for byte except version and line breaks.
TEST(ScenarioReport, EqualsTheGoldenReport) {
  struct Row {
    Shown shown;
    std::string golden;
  };
  Shown demo{.scenario = "demo", .page = "", .path = "/api/v1/node"};
  Shown filtered = demo;
  filtered.flags = {"--api-namespaces=research"};
  const Row rows[] = {{demo, "node-demo.json"}, {filtered, "node-demo-research.json"}};
  for (const auto& [shown, golden] : rows) {
    const std::string path = "tests/golden/" + golden;
    std::string report = ScenarioPage::PageOf(shown, kWays[0]);
    RE2::GlobalReplace(&report, R"("version":"[^"]*")", R"("version":"")");
    RE2::GlobalReplace(&report, R"(\},\{)", "},\n{");
    if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {
      std::ofstream(path) << report;
    }
    EXPECT_EQ(report, ScenarioPage::Content(path)) << path;
  }
}

// The names of the series.
std::set<std::string> FamiliesOf(const std::string& page) {
  std::set<std::string> families;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('#')) {
      families.insert(line.substr(0, line.find('{')));
    }
  }
  return families;
}

std::string LinesIn(const std::string& page, const std::set<std::string>& families) {
  std::istringstream lines(page);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    kept += !line.starts_with('#') && families.contains(line.substr(0, line.find('{')))
                ? line + "\n"
                : "";
  }
  return kept;
}

// A shipped scenario at some second; `lacks_gpm`: its boards are older than Hopper.
struct Moment {
  std::string scenario;
  int start_s = 12;
  bool lacks_gpm = false;
};

class MomentTest : public ::testing::TestWithParam<Moment> {};

TEST_P(MomentTest, IsTheSameFromDcgmAndFromNvml) {
  const Moment& moment = GetParam();
  Shown shown{moment.scenario, moment.scenario};
  shown.start_s = moment.start_s;
  const std::string dcgm = ScenarioPage::PageOf(shown, {"DCGM", "libdcgm.so.4"});
  const std::string nvml = ScenarioPage::PageOf(shown, {"NVML", kNvml});
  std::set<std::string> families = FamiliesOf(dcgm);
  if (moment.lacks_gpm) {
    const std::set<std::string> told = FamiliesOf(nvml);
    std::erase_if(families, [&](const std::string& family) {
      const bool is_profiling =
          family.starts_with("DCGM_FI_PROF_") ||
          (family.starts_with("podgpu_gpu_") && family.ends_with("_active_ratio"));
      return is_profiling && !told.contains(family);
    });
  }
  EXPECT_GE(families.size(), 20U);
  EXPECT_EQ(LinesIn(nvml, families), LinesIn(dcgm, families));
}

const Moment kMoments[] = {
    {"a100x2", 12, true},    {"worked-example"},      {"fault-board", 65},
    {"fault-board", 85},     {"fault-driver-reload"}, {"fault-driver-reload", 80},
    {"fault-field"},         {"fault-gpu-lost"},      {"fault-gpu-detached", 70},
    {"fault-mig", 40},       {"fault-mig", 70},       {"fault-mig", 100},
    {"fault-no-driver", 70}, {"fault-stale"},         {"fault-engine"},
    {"fault-kubelet"},       {"fault-call"},          {"fault-hang"},
    {"mig-mixed", 130},      {"churn", 75},           {"h100x8-pods"},
    {"h100x8-pods", 300},
};
INSTANTIATE_TEST_SUITE_P(Shipped, MomentTest, ::testing::ValuesIn(kMoments),
                         [](const auto& moment) {
                           std::string name = moment.param.scenario + "_at_" +
                                              std::to_string(moment.param.start_s);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace podgpu
