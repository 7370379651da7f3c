// Statements about what people see that hold over time or for all scenarios, on the virtual clock.
#include <algorithm>
#include <map>
#include <optional>
#include <re2/re2.h>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "base/text.h"
#include "report/node_status.h"
#include "tests/e2e/page_text.h"
#include "tests/surfaces/surfaces.h"

namespace podgpu {
namespace {

// The notebook computes for a minute, and again after 400 s.
constexpr char kIdleNotebook[] = R"(format: 1
name: idle-notebook
epoch: 2026-03-01T12:00:00Z
seed: 7
gpus: [{count: 2, class: h100-sxm5-80gb}]
loads: {notebook: {phases: [{for: 60s, sm: 20%}, {for: 400s}]}}
pods:
  - name: notebook-0
    namespace: team-b
    containers:
      - {name: jupyter, gpus: [0], processes: [{pid: 4103, load: notebook, memory: 8GiB}]}
)";

TEST(Statement17, AnIdleMarkAppearsFiveMinutesAfterTheLastKernelAndGoesWithinTwoTicks) {
  constexpr int64_t kLastKernel = 60, kIdle = 300, kNextKernel = 460, kTwoTicks = 2;
  std::map<int64_t, bool> is_marked;
  std::string seconds = "10,200";
  for (int64_t second = kLastKernel + kIdle - 3; second <= kNextKernel + 5; ++second) {
    seconds += "," + std::to_string(second);
  }
  for (const auto& [name, json] : SectionsOf({kIdleNotebook, seconds, {"show=status"}})) {
    const StatusOr<NodeStatus> status = ReadNodeStatus(json);
    ASSERT_TRUE(status.ok()) << status.status();
    int64_t second = 0;
    ASSERT_TRUE(RE2::FullMatch(name, R"(status at (\d+) s)", &second)) << name;
    is_marked[second] = status->gpus.at(0).idle_since_ms.has_value();
    EXPECT_EQ(status->gpus.at(1).idle_since_ms, std::nullopt) << "nothing holds GPU 1";
    const auto pod = std::ranges::find(status->pods, "notebook-0", &StatusPod::pod);
    ASSERT_NE(pod, status->pods.end());
    EXPECT_EQ(pod->idle_since_ms.has_value(), is_marked[second]) << second;
  }
  ASSERT_GT(is_marked.size(), 100U);
  for (const auto& [second, marked] : is_marked) {
    if (second < kLastKernel + kIdle || second >= kNextKernel + kTwoTicks) {
      EXPECT_FALSE(marked) << second;
    } else if (second >= kLastKernel + kIdle + kTwoTicks && second <= kNextKernel) {
      EXPECT_TRUE(marked) << second;
    }
  }
}

// What an open page fetches each second.
TEST(StatusBudget, TheStatusOfEightGpusIsAtMost12KB) {
  constexpr size_t kMostBytes = 12'288;
  const auto sections =
      SectionsOf({ScenarioText("demo"), "60", {"processes=on", "show=status_of_page"}});
  ASSERT_EQ(sections.size(), 1U);
  const StatusOr<NodeStatus> status = ReadNodeStatus(sections[0].second);
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->gpus.size(), 8U);
  EXPECT_GT(status->pods.size(), 8U);
  EXPECT_LE(sections[0].second.size(), kMostBytes);
}

// A reason why a value is absent, and where to see it.
struct Reason {
  std::string name, scenario, second, query;
};

std::vector<Reason> Reasons() {
  return {{"not_supported", "fault-field", "35", "gpu=0&metric=DCGM_FI_DEV_GPU_TEMP"},
          {"no_data", "fault-field", "35", "gpu=1&metric=DCGM_FI_DEV_POWER_USAGE"},
          {"not_permitted", "fault-field", "35", "gpu=2&metric=DCGM_FI_DEV_FB_USED"},
          {"out_of_range", "fault-field", "35", "gpu=3&metric=DCGM_FI_DEV_SM_CLOCK"},
          {"device_lost", "fault-gpu-lost", "45", "gpu=3&metric=DCGM_FI_DEV_GPU_TEMP"},
          {"stale", "fault-stale", "45", "gpu=1&metric=DCGM_FI_DEV_GPU_TEMP"}};
}

std::string InHtml(std::string_view text) {
  std::string html;
  for (const char c : text) {
    html += c == '&' ? "&amp;" : c == '"' ? "&quot;" : c == '\'' ? "&#39;" : std::string(1, c);
  }
  return html;
}

TEST(Statement26, HtmlJsonAndTextExplainEachReasonInTheSameFiveSteps) {
  for (const Reason& reason : Reasons()) {
    const auto sections =
        SectionsOf({ScenarioText(reason.scenario),
                    reason.second,
                    {"explain=" + reason.query, "show=explain,explain_json,explain_html"}});
    ASSERT_EQ(sections.size(), 3U) << reason.name;
    const std::string& text = sections[0].second;
    const std::string& html = sections[2].second;
    const boost::json::value json = boost::json::parse(sections[1].second);
    const boost::json::object& device = json.as_object().at("devices").as_array().at(0).as_object();
    const boost::json::array& steps = device.at("steps").as_array();
    EXPECT_EQ(steps.size(), 5U);
    EXPECT_NE(std::string(steps.at(4).as_object().at("detail").as_string()).find(reason.name),
              std::string::npos)
        << sections[1].second;
    for (const boost::json::value& step : steps) {
      for (const char* const key : {"step", "state", "detail"}) {
        const std::string words(step.as_object().at(key).as_string());
        EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
        EXPECT_NE(html.find(InHtml(words)), std::string::npos) << words << "\n" << html;
      }
    }
  }
}

// The scenarios whose logs are read, each from its start until an hour after its last fault.  In
// fault-hang the thread that reads devices is blocked, and fault-engine needs an engine of its own:
// the scenes and the e2e tests of failures have them.
constexpr const char* kLogged[] = {"a100x2",          "churn",
                                   "claims",          "demo",
                                   "fault-board",     "fault-call",
                                   "fault-field",     "fault-mig",
                                   "fault-stale",     "fault-driver-reload",
                                   "fault-gpu-lost",  "grace",
                                   "gpushare",        "fault-gpu-detached",
                                   "h100x8-pods",     "mig-mixed",
                                   "no-gpu",          "nvswitch",
                                   "fault-no-driver", "one-gpu",
                                   "volcano",         "time-slicing",
                                   "worked-example"};

// A line of a log without its time.  Figures that grow do not make it another line.
std::string WithoutFigures(std::string_view line) {
  std::string text(line.substr(std::min(line.find(" level="), line.size())));
  RE2::GlobalReplace(&text, R"(\b\d+(\.\d+)?( ms| s|ms|s)\b)", "N s");
  return text;
}

void ExpectGoodLine(std::string_view line) {
  EXPECT_TRUE(RE2::PartialMatch(line, R"(^time=\S+ level=(DEBUG|INFO|WARN|ERROR) msg=")")) << line;
  // tools/tidy/words finds the other forbidden words in the sources.
  EXPECT_FALSE(RE2::PartialMatch(line, R"((?i)\b(failed to|please|might|oops|sorry)\b)")) << line;
  EXPECT_FALSE(RE2::PartialMatch(line, R"((?i)(password|bearer |secret|eyJ[A-Za-z0-9]))")) << line;
}

class Statement36 : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Scenarios, Statement36, ::testing::ValuesIn(kLogged),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// The run is shorter than two hours, so no state is repeated for its hourly reminder.
TEST_P(Statement36, NoLineHasAForbiddenWordOrASecretOrRepeatsAnUnchangedState) {
  std::vector<std::string> words = {"interval_s=10", "show=log"};
  if (std::string_view(GetParam()) == "one-gpu") {
    words.emplace_back("kubelet_down=100");
  }
  const auto sections = SectionsOf({ScenarioText(GetParam()), "3500", words});
  ASSERT_EQ(sections.size(), 1U);
  std::map<std::string, std::string> last;  // The newest line of each event and object.
  size_t lines = 0;
  for (const std::string_view line : Split(sections[0].second, '\n')) {
    if (line.empty()) {
      continue;
    }
    ++lines;
    ExpectGoodLine(line);
    std::string event, gpu;
    RE2::PartialMatch(line, R"re(msg="([^"]*)")re", &event);
    RE2::PartialMatch(line, R"( gpu=(\S+))", &gpu);
    const std::string text = WithoutFigures(line);
    std::string& before = last[event + "|" + gpu];
    EXPECT_NE(text, before) << "an unchanged state is logged again";
    before = text;
    if (line.find(" source=ok ") != std::string_view::npos) {  // It tells the source's return too.
      last["device source state changed|"] = text;
    }
  }
  EXPECT_GT(lines, 0U);
}

// Faults of experience.md 8.2 that happen while the exporter runs, and what says them: the log, the
// verdict of /readyz, the page `/` and a metric.  Those that end its start, the host engine and the
// kubelet's long answer have tests where they arise.
struct SaidFault {
  std::string name, scenario, seconds;
  std::vector<std::string> words;
  std::vector<std::string> log;  // The last section has each.
  std::string verdict;           // The page begins with it.
  std::string page, metric;
};

class Statement37 : public ::testing::TestWithParam<SaidFault> {};

INSTANTIATE_TEST_SUITE_P(
    Faults, Statement37,
    ::testing::Values(
        SaidFault{
            .name = "Kubelet",
            .scenario = ScenarioText("fault-kubelet"),
            .seconds = "95",
            .words = {"kubelet_down=30"},
            .log = {"level=WARN msg=\"kubelet pod-resources state changed\" state=degraded "
                    "detail=\"/nowhere/kubelet.sock does not exist. Mount the directory, not "
                    "the file\"",
                    "level=WARN msg=\"owners of GPUs are withdrawn\" gpu=all pod=all cause=\"no "
                    "new list for 60 s: /nowhere/kubelet.sock does not exist. Mount the "
                    "directory"},
            .verdict = "ready: 4 GPUs have fresh samples; owners are withdrawn\n",
            .page = "Owners are withdrawn: the last list is 66.0 s old",
            .metric = "podgpu_pod_resources_up 0\n"},
        SaidFault{
            .name = "Library",
            .scenario = ScenarioText("one-gpu"),
            .seconds = "12",
            .words = {"library=/nowhere/libdcgm.so.4"},
            .log = {"state=waiting detail=\"/nowhere/libdcgm.so.4 cannot be opened as libdcgm: "},
            .verdict = "not ready\n",
            .page = "! waiting: Driver: /nowhere/libdcgm.so.4 cannot be opened",
            .metric = "podgpu_source_state{state=\"waiting\"} 1\n"},
        SaidFault{.name = "NoDeviceFiles",
                  .scenario = ScenarioText("one-gpu"),
                  .seconds = "12",
                  .words = {"library=/nowhere/libdcgm.so.4",
                            "no_driver_remedy=run it with the "
                            "NVIDIA runtime",
                            "pci_gpus=0000:1b:00.0"},
                  .log = {"remedy=\"run it with the NVIDIA runtime\""},
                  .verdict = "not ready\n",
                  .page = "Retrying in 8 s. Run it with the NVIDIA runtime.\n",
                  .metric = "podgpu_gpus_expected 1\n"},
        SaidFault{.name = "NoGpu",  // No fault, but it must be said likewise.
                  .scenario = ScenarioText("one-gpu"),
                  .seconds = "12",
                  .words = {"library=/nowhere/libdcgm.so.4", "no_gpu=1"},
                  .log = {"level=INFO msg=\"device source state changed\" state=ok detail=\"no "
                          "NVIDIA GPU on this node: the PCI bus has none, "},
                  .verdict = "ready: no NVIDIA GPU on this node: the PCI bus has none, ",
                  .page = "\ndriver  ",
                  .metric = "podgpu_ready 1\n"},
        SaidFault{.name = "LostGpu",
                  .scenario = ScenarioText("fault-gpu-lost"),
                  .seconds = "45",
                  .words = {},
                  .log = {"msg=\"GPU state changed\" state=lost gpu=3 uuid=GPU-"},
                  .verdict = "ready: 3 of 4 GPUs served, 1 lost\n",
                  .page = "! lost: GPU 3 is lost since ",
                  .metric = "podgpu_gpus_present 3\n"},
        SaidFault{
            .name = "OneReading",
            .scenario = ScenarioText("fault-driver-reload"),
            .seconds = "30",
            .words = {},
            .log = {"msg=\"device source state changed\" state=ok"},  // It may pass by itself.
            .verdict = "not ready: GPU 0 and 3 more gave no value at the newest reading, since its "
                       "values are absent as \"blank\"",
            .page = "\n3     recovering",
            .metric = "podgpu_ready 0\n"},
        SaidFault{
            .name = "Metrics",
            .scenario = ScenarioText("fault-field"),
            .seconds = "45",
            .words = {},
            .log = {"msg=\"metrics have no value\" metrics=DCGM_FI_DEV_GPU_TEMP gpu=0 "
                    "pod=ml/trainer-0 cause=\"",
                    "msg=\"metrics have no value\" metrics=DCGM_FI_DEV_POWER_USAGE gpu=1 "
                    "pod=ml/trainer-0 cause=\"watched, but no sample yet\" remedy=\"",
                    "msg=\"metrics have no value\" metrics=DCGM_FI_DEV_FB_USED gpu=2 pod=none "
                    "cause=\"the driver does not permit this process to read it\" "
                    "remedy=\"run podgpu as root",
                    "gpu=3 pod=none cause=\"the driver returned an impossible value\""},
            .verdict = "ready: 4 GPUs have fresh samples\n",
            .page = "not shown: DCGM_FI_DEV_FB_USED, GPU 2: the driver does not permit",
            .metric = "podgpu_absent_samples{reason=\"not_permitted\"} 1\n"},
        SaidFault{.name = "MetricsAgain",
                  .scenario = ScenarioText("fault-field"),
                  .seconds = "100",
                  .words = {},
                  .log = {"msg=\"metrics have values again\" metrics=DCGM_FI_DEV_FB_USED gpu=2"},
                  .verdict = "ready: 4 GPUs have fresh samples\n",
                  .page = "\n2     ok",
                  .metric = "podgpu_ready 1\n"}),
    [](const auto& tested) { return tested.param.name; });

TEST_P(Statement37, EachFaultIsInTheLogTheVerdictThePageAndAMetric) {
  const SaidFault& fault = GetParam();
  std::vector<std::string> words = fault.words;
  words.emplace_back("show=log,page,metrics");
  auto sections = SectionsOf({fault.scenario, fault.seconds, words});
  ASSERT_EQ(sections.size(), 3U);
  sections[1].second = Unwrapped(sections[1].second);
  const auto expect = [&](size_t section, const std::string& part) {
    EXPECT_NE(sections[section].second.find(part), std::string::npos) << part << "\nis not in\n"
                                                                      << sections[section].second;
  };
  for (const std::string& line : fault.log) {
    expect(0, line);
  }
  expect(1, ": " + fault.verdict);
  expect(1, fault.page);
  expect(2, "\n" + fault.metric);
}

}  // namespace
}  // namespace podgpu
