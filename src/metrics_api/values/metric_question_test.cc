// The window and the questions to its table, on reports at chosen times.
#include "metrics_api/values/metric_question.h"

#include <gtest/gtest.h>

#include "metrics_api/testing/window_reports.h"

namespace podgpu {
namespace {

constexpr int64_t kStart = 1'700'000'000'000;  // A whole step.
constexpr std::chrono::minutes kWindow{1};

LabelSelector Selector(std::string_view text) { return ParseLabelSelector(text).value(); }

class MetricQuestionTest : public testing::Test {
 protected:
  // One reading of a node with one GPU: memory copies and power.
  void Read(const std::string& node, std::vector<std::string> pods, double copies, int64_t after_ms,
            uint32_t age_ms = 0) {
    ReportedGpu gpu = TestGpu("GPU-" + node, pods);
    SetUse(gpu.use, UseMeasure::kMemoryCopy, copies, age_ms);
    SetUse(gpu.use, UseMeasure::kUtilization, copies, age_ms);
    SetUse(gpu.use, UseMeasure::kPower, 100 + copies, age_ms);
    SetUse(gpu.use, UseMeasure::kMemoryUsed, 1048576, age_ms);
    nodes_[node] = TestNode(node, {gpu}, kStart + after_ms);
    Take();
  }
  void Take() {
    std::vector<WindowNode> all;
    for (const auto& [name, node] : nodes_) {
      all.push_back(node);
    }
    window_.Take(all);
  }
  StatusOr<TimedValue> Ask(ExternalMetric metric, std::string_view selector = "",
                           std::string_view name_space = "ml") {
    table_ = window_.MakeTable(now_ms_, kWindow, &labels_);
    return AskExternal(*table_, metric, name_space, Selector(selector));
  }
  StatusOr<std::vector<PodValue>> AskPod(PodMetric metric, std::string_view name) {
    table_ = window_.MakeTable(now_ms_, kWindow, &labels_);
    return AskPods(*table_, {.metric = metric, .name_space = "ml", .name = name}, {});
  }

  static WindowOptions Options() {
    WindowOptions options = TestWindowOptions();
    options.label_keys = {"zone"};
    return options;
  }

  UseWindow window_{Options()};
  std::map<std::string, WindowNode> nodes_;
  NodeLabelMap labels_;
  std::shared_ptr<const MetricsTable> table_;
  int64_t now_ms_ = kStart + 60'000;
};

TEST_F(MetricQuestionTest, AveragesTheSamplesInUseOfTheWindow) {
  Read("n1", {"ml/llm-1"}, 80, 1'000, 500);
  Read("n1", {"ml/llm-1"}, 40, 16'000);
  Read("n1", {"ml/llm-1"}, 0, 31'000);  // Not in use: does not lower the mean.
  Read("n2", {"ml/web-1"}, 30, 20'000);
  Read("n3", {"other/job-1"}, 100, 20'000);
  const StatusOr<TimedValue> all = Ask(ExternalMetric::kAverageUtilization);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_NEAR(all->value, 50, 1e-4);
  EXPECT_EQ(all->oldest_ms, kStart + 500);
  EXPECT_NEAR(Ask(ExternalMetric::kAverageUtilization, "workload=llm")->value, 60, 1e-4);
  EXPECT_NEAR(Ask(ExternalMetric::kAverageUtilization, "workload!=llm")->value, 30, 1e-4);
  EXPECT_NEAR(Ask(ExternalMetric::kAverageUtilization, "", "other")->value, 100, 1e-4);
}

TEST_F(MetricQuestionTest, IsZeroIfNothingIsInUseAndAbsentWithoutAnyDevice) {
  Read("n1", {"ml/llm-1"}, 0, 1'000);
  EXPECT_EQ(Ask(ExternalMetric::kAverageUtilization)->value, 0);
  struct Row {
    const char* selector;
    const char* name_space;
    const char* says;
  };
  const Row rows[] = {
      {"", "empty", "no pod of the namespace \"empty\" holds a GPU"},
      {"workload=web", "ml", "no pod of the namespace \"ml\" holds a GPU that the selector"},
      {"namespace=other", "ml", "no pod of the namespace \"ml\""},
      {"measure=sm", "ml", "none of the 1 selected GPUs has a value of the measure sm, or "},
  };
  for (const Row& row : rows) {
    const auto answer = Ask(ExternalMetric::kAverageUtilization, row.selector, row.name_space);
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kNotFound) << row.selector;
    EXPECT_NE(std::string(answer.status().message()).find(row.says), std::string::npos)
        << answer.status();
  }
}

TEST_F(MetricQuestionTest, CountsTheDevicesOfAMeanInUse) {
  Read("n1", {"ml/llm-1", "other/llm-1"}, 80, 1'000);
  Read("n2", {"ml/llm-2"}, 0, 1'000);
  Read("n3", {"ml/web-1"}, 40, 31'000);
  Read("n4", {}, 60, 31'000);  // Processes outside pods.
  const auto table = window_.MakeTable(now_ms_, kWindow, nullptr);
  struct Row {
    InUseQuestion question;
    double percent;
    size_t devices, in_use;
  };
  const Row rows[] = {
      {{}, 60, 4, 3},
      {{.model = "NVIDIA H100"}, 60, 4, 3},
      {{.name_space = "ml"}, 60, 3, 2},
      {{.workload = "llm"}, 80, 2, 1},  // A device that two namespaces hold counts once.
      {{.name_space = "other", .workload = "llm"}, 80, 1, 1},
      {{.name_space = "ml", .workload = "web", .model = "NVIDIA H100"}, 40, 1, 1},
  };
  for (const Row& row : rows) {
    const StatusOr<InUseMean> mean = AskInUse(*table, row.question);
    ASSERT_TRUE(mean.ok()) << mean.status();
    EXPECT_NEAR(mean->percent.value, row.percent, 1e-4);
    EXPECT_EQ(mean->devices, row.devices) << row.percent;
    EXPECT_EQ(mean->in_use, row.in_use) << row.percent;
  }
}

TEST_F(MetricQuestionTest, SaysWhyThereIsNoMeanInUse) {
  const auto says = [this](const InUseQuestion& question) {
    const StatusOr<InUseMean> mean =
        AskInUse(*window_.MakeTable(now_ms_, kWindow, nullptr), question);
    EXPECT_EQ(mean.status().code(), absl::StatusCode::kNotFound);
    return std::string(mean.status().message());
  };
  EXPECT_EQ(says({}), "no node has answered podgpu recently, so no GPU has a fresh value");
  nodes_["n0"] = TestNode("n0", {}, kStart);
  Take();
  EXPECT_EQ(says({}), "the nodes that answer have no GPU");
  Read("n1", {"ml/llm-1"}, 80, 1'000);
  EXPECT_EQ(says({.model = "A100"}), "there is no GPU with model=\"A100\"");
  EXPECT_EQ(says({.name_space = "ml", .workload = "lmm"}),
            "no pod holds a GPU with namespace=\"ml\" workload=\"lmm\"");
  EXPECT_EQ(says({.measure = AveragedMeasure::kSm}),
            "none of the 1 selected GPUs has a value of the measure sm, or it is not known whether "
            "they are in use; see the pages of their nodes, or choose another measure, such as "
            "memory_copy");
  auto report = std::make_shared<NodeReport>(*nodes_["n1"].report);
  report->owners_known = false;
  nodes_ = {{"n1", {report, kStart + 2'000}}};
  Take();
  EXPECT_EQ(says({.workload = "llm"}),
            "no node tells which pods hold its GPUs; see the verdicts of the nodes");
}

// The mean of idle pods while other nodes do not answer, by both interfaces; "" stands for 0.
TEST_F(MetricQuestionTest, IsNotZeroWhileDevicesThatAreNotKnownMayBeInUse) {
  ReportedGpu silent = TestGpu("GPU-2", {"ml/llm-2", "ml/job-1"});
  silent.model = "A100";
  const std::shared_ptr<const NodeReport> away = TestNode("n2", {silent}, kStart).report;
  auto unheld =
      std::make_shared<NodeReport>(*TestNode("n3", {TestGpu("GPU-3", {})}, kStart).report);
  const auto untold = std::make_shared<NodeReport>(*unheld);
  untold->owners_known = false;
  struct Row {
    const char* what;
    AbsentNodes absent;
    InUseQuestion question;
    const char* says;
  };
  const char* const gone = "do nothing as far as known, but the node \"n2\" no longer answers";
  const Row rows[] = {
      {"all nodes answer", {}, {.name_space = "ml"}, ""},
      {"a node with such pods is away", {{away}}, {.name_space = "ml", .workload = "llm"}, gone},
      {"a node with other pods is away", {{away}}, {.name_space = "ml", .workload = "web"}, ""},
      {"another namespace", {{away}}, {.name_space = "other"}, ""},
      {"another model", {{away}}, {.name_space = "ml", .model = "NVIDIA H100"}, ""},
      {"all devices", {{away}}, {}, gone},
      {"all devices, no pod held it", {{unheld}}, {}, "the node \"n3\" no longer answers"},
      {"no pod held it", {{unheld}}, {.name_space = "ml"}, ""},
      {"its pods were not known", {{untold}}, {.name_space = "ml"}, "the node \"n3\" no longer"},
      {"a node is new",
       {{}, 1},
       {.name_space = "ml"},
       "but 1 nodes have not answered podgpu yet; "},
      {"the list is not complete", {{}, 0, true}, {.name_space = "ml"}, "the list of nodes is not"},
  };
  ReportedGpu idle = TestGpu("GPU-1", {"ml/llm-1", "ml/web-1", "other/web-1"});
  SetUse(idle.use, UseMeasure::kMemoryCopy, 0);
  for (const Row& row : rows) {
    window_.Take(std::vector<WindowNode>{TestNode("n1", {idle}, kStart)}, row.absent);
    const auto table = window_.MakeTable(now_ms_, kWindow, nullptr);
    const auto check = [&](const Status& status) {
      const std::string says(status.message());
      EXPECT_EQ(says.empty(), std::string(row.says).empty()) << row.what << says;
      EXPECT_NE(says.find(row.says), std::string::npos) << row.what << says;
    };
    check(AskInUse(*table, row.question).status());
    std::string selector = row.question.workload.empty() ? "" : "workload=" + row.question.workload;
    selector += row.question.model.empty() ? "" : "node=n1";
    if (!row.question.name_space.empty()) {
      check(AskExternal(*table, ExternalMetric::kAverageUtilization, row.question.name_space,
                        Selector(selector))
                .status());
    }
  }
}

TEST_F(MetricQuestionTest, IsNotZeroWhileAGpuHasNoValueOrANodeDoesNotTellItsPods) {
  Read("n1", {"ml/llm-1"}, 0, 1'000);
  nodes_["n2"] = TestNode("n2", {TestGpu("GPU-n2", {"ml/llm-2"})}, kStart + 1'000);
  Take();
  EXPECT_EQ(std::string(Ask(ExternalMetric::kAverageUtilization).status().message()),
            "the selected GPUs do nothing as far as known, but 1 of them have no value of the "
            "measure memory_copy, or it is not known whether they are in use");
  auto report = std::make_shared<NodeReport>(*nodes_["n2"].report);
  report->owners_known = false;
  nodes_["n2"] = {report, kStart + 2'000};
  Take();
  EXPECT_EQ(std::string(Ask(ExternalMetric::kAverageUtilization).status().message()),
            "the selected GPUs do nothing as far as known, but the node \"n2\" does not tell which "
            "pods hold its GPUs");
  report = std::make_shared<NodeReport>(*report);
  report->gpus.clear();
  nodes_["n2"] = {report, kStart + 3'000};
  Take();
  EXPECT_EQ(Ask(ExternalMetric::kAverageUtilization)->value, 0) << "it has no GPU";
}

TEST_F(MetricQuestionTest, IsOfTheNewSamplesWhenTheClockHasBeenSetBack) {
  Read("n1", {"ml/llm-1"}, 80, 1'800'000);
  Read("n1", {"ml/llm-1"}, 20, 1'000);
  EXPECT_NEAR(Ask(ExternalMetric::kAverageUtilization)->value, 20, 1e-4);
}

TEST_F(MetricQuestionTest, ForgetsTheActivityOfThePodThatHeldTheDeviceBefore) {
  Read("n1", {"batch/job-1"}, 95, 1'000);
  Read("n1", {"ml/llm-1"}, 0, 16'000);
  EXPECT_EQ(Ask(ExternalMetric::kAverageUtilization)->value, 0);
  Read("n1", {"ml/llm-1"}, 40, 31'000);
  EXPECT_NEAR(Ask(ExternalMetric::kAverageUtilization)->value, 40, 1e-4);
}

TEST_F(MetricQuestionTest, RefusesLabelsThatTheMetricDoesNotHave) {
  Read("n1", {"ml/llm-1"}, 5, 1'000);
  const auto answer = Ask(ExternalMetric::kFreeGpus, "workload=llm");
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(answer.status().message()),
            "the metric has no label \"workload\"; its labels are model, node, zone. Labels of "
            "nodes need --metrics-api-node-labels");
  EXPECT_FALSE(Ask(ExternalMetric::kAverageUtilization, "measure=speed").ok());
  EXPECT_FALSE(Ask(ExternalMetric::kPower, "measure=sm").ok());
}

TEST_F(MetricQuestionTest, SelectsByNodeModelAndLabelsOfNodes) {
  labels_["n1"]["zone"] = "a";
  Read("n1", {"ml/llm-1"}, 80, 1'000);
  Read("n2", {"ml/llm-2"}, 20, 1'000);
  const std::pair<const char*, double> rows[] = {
      {"node=n1", 80},        {"node in (n1,n2)", 50},  {"zone=a", 80},        {"!zone", 20},
      {"zone notin (a)", 20}, {"model=none,!zone", -1}, {"node!=n1,!zone", 20}};
  for (const auto& [selector, value] : rows) {
    const auto answer = Ask(ExternalMetric::kAverageUtilization, selector);
    EXPECT_NEAR(answer.ok() ? answer->value : -1, value, 1e-4) << selector;
  }
}

TEST_F(MetricQuestionTest, SumsMemoryAndPowerAndCountsFreeGpusAndIdlePods) {
  Read("n1", {"ml/llm-1"}, 0, 1'000);
  Read("n2", {"ml/llm-2"}, 50, 1'000);
  Read("n3", {}, 0, 1'000);
  EXPECT_EQ(Ask(ExternalMetric::kMemoryUsed)->value, 2 * 1048576.0);
  EXPECT_EQ(Ask(ExternalMetric::kPower)->value, 250);
  EXPECT_EQ(Ask(ExternalMetric::kIdlePods)->value, 1);
  EXPECT_EQ(Ask(ExternalMetric::kFreeGpus)->value, 1);
  EXPECT_EQ(Ask(ExternalMetric::kFreeGpus, "node=n1")->value, 0);
}

TEST_F(MetricQuestionTest, SaysThatTheHoldersOfANodeAreUnknown) {
  Read("n1", {"ml/llm-1"}, 5, 1'000);
  auto report = std::make_shared<NodeReport>(*nodes_["n1"].report);
  report->owners_known = false;
  nodes_["n1"].report = report;
  Take();
  for (const ExternalMetric metric :
       {ExternalMetric::kFreeGpus, ExternalMetric::kAverageUtilization}) {
    EXPECT_EQ(std::string(Ask(metric).status().message()),
              "no node tells which pods hold its GPUs; see the verdicts of the nodes");
  }
  Read("n2", {}, 0, 1'000);
  EXPECT_EQ(Ask(ExternalMetric::kFreeGpus)->value, 1);
  EXPECT_EQ(
      std::string(Ask(ExternalMetric::kAverageUtilization).status().message()),
      "no pod of the namespace \"ml\" holds a GPU that the selector selects; the node \"n1\" does "
      "not tell which pods hold its GPUs");
}

TEST_F(MetricQuestionTest, KeepsTheNewestSampleOfASlowNodeAndForgetsAMissingOne) {
  Read("n1", {"ml/llm-1"}, 80, 1'000);
  now_ms_ = kStart + 300'000;
  const auto old = Ask(ExternalMetric::kAverageUtilization);
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_EQ(old->oldest_ms, kStart + 1'000) << "the time says that it is old";
  nodes_.clear();
  Take();
  EXPECT_EQ(std::string(Ask(ExternalMetric::kAverageUtilization).status().message()),
            "no node has answered podgpu recently, so no GPU has a fresh value");
  EXPECT_EQ(window_.points(), 0U);
}

TEST_F(MetricQuestionTest, HasBoundedMemoryAlsoWithoutQuestions) {
  for (int64_t second = 0; second < 3'600; ++second) {
    Read("n1", {"ml/llm-1"}, 5, second * 1'000);
  }
  EXPECT_LE(window_.points(), 60'000U / kWindowStepMs + 2);
  EXPECT_GT(window_.bytes(), 0U);
}

TEST_F(MetricQuestionTest, GivesAPodTheFiguresOfTheGpusThatItHoldsAlone) {
  ReportedGpu one = TestGpu("GPU-1", {"ml/llm-1"});
  ReportedGpu two = TestGpu("GPU-2", {"ml/llm-1"});
  for (ReportedGpu* gpu : {&one, &two}) {
    SetUse(gpu->use, UseMeasure::kUtilization, gpu == &one ? 90 : 40);
    SetUse(gpu->use, UseMeasure::kSmActive, 0.5);
    SetUse(gpu->use, UseMeasure::kMemoryUsed, 1024);
    SetUse(gpu->use, UseMeasure::kPower, 300);
  }
  window_.Take(std::vector<WindowNode>{TestNode("n1", {one, two}, kStart + 1'000)});
  const std::pair<PodMetric, double> rows[] = {{PodMetric::kUtilization, 65},
                                               {PodMetric::kSmActive, 50},
                                               {PodMetric::kMemoryUsed, 2048},
                                               {PodMetric::kPower, 600}};
  for (const auto& [metric, value] : rows) {
    const auto answer = AskPod(metric, "llm-1");
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_NEAR(answer->front().value.value, value, 1e-4);
  }
  EXPECT_EQ(std::string(AskPod(PodMetric::kPower, "llm-9").status().message()),
            "the pod \"llm-9\" of the namespace \"ml\" holds no GPU of a node that answers");
}

TEST_F(MetricQuestionTest, GivesAPodOnASharedGpuOnlyWhatItsOwnProcessesUse) {
  ReportedGpu gpu = TestGpu("GPU-1", {"ml/a-1", "ml/b-1"});
  SetUse(gpu.use, UseMeasure::kUtilization, 95);
  SetUse(gpu.use, UseMeasure::kPower, 300);
  window_.Take(std::vector<WindowNode>{TestNode("n1", {gpu}, kStart + 1'000)});
  EXPECT_NE(std::string(AskPod(PodMetric::kUtilization, "a-1").status().message())
                .find("needs --process-metrics=on"),
            std::string::npos);
  gpu.use.pods = {{"ml", "a-1", 30, 5'000, 100}};
  window_.Take(std::vector<WindowNode>{TestNode("n1", {gpu}, kStart + 16'000)});
  gpu.use.pods = {{"ml", "a-1", 50, 7'000, 1'600}};
  window_.Take(std::vector<WindowNode>{TestNode("n1", {gpu}, kStart + 31'000)});
  EXPECT_EQ(AskPod(PodMetric::kUtilization, "a-1")->front().value.value, 40);
  EXPECT_EQ(AskPod(PodMetric::kMemoryUsed, "a-1")->front().value.value, 6'000);
  const TimedValue rate = AskPod(PodMetric::kEnergyRate, "a-1")->front().value;
  EXPECT_EQ(rate.value, 100) << "1,500 J in 15 s";
  EXPECT_EQ(rate.oldest_ms, kStart + 16'000);
  EXPECT_FALSE(AskPod(PodMetric::kPower, "a-1").ok()) << "the power of the GPU is not the pod's";
}

TEST_F(MetricQuestionTest, ContinuesTheEnergyOfAPodWhenItsCounterStartsAgain) {
  ReportedGpu gpu = TestGpu("GPU-1", {"ml/a-1"});
  const double counters[] = {1'000, 2'500, 10, 1'510};
  for (int64_t i = 0; i < 4; ++i) {
    gpu.use.pods = {{"ml", "a-1", {}, {}, counters[i]}};
    window_.Take(std::vector<WindowNode>{TestNode("n1", {gpu}, kStart + 1'000 + i * 15'000)});
  }
  EXPECT_EQ(AskPod(PodMetric::kEnergyRate, "a-1")->front().value.value, 100);
}

TEST_F(MetricQuestionTest, TakesInstancesAsDevicesAndEnergyFromTheirGpu) {
  ReportedGpu gpu = TestGpu("GPU-1", {});
  ReportedInstance instance;
  instance.gpu_instance_id = 3;
  instance.use.owners = {{"ml", "a-1", "main", "nvidia.com/mig-1g.10gb", ""}};
  SetUse(instance.use, UseMeasure::kSmActive, 0.25);
  gpu.instances = {instance};
  for (int64_t i = 0; i < 2; ++i) {
    gpu.use.pods = {{"ml", "a-1", {}, {}, 600.0 * static_cast<double>(i)}};
    window_.Take(std::vector<WindowNode>{TestNode("n1", {gpu}, kStart + 1'000 + i * 15'000)});
  }
  EXPECT_EQ(AskPod(PodMetric::kSmActive, "a-1")->front().value.value, 25);
  EXPECT_EQ(AskPod(PodMetric::kEnergyRate, "a-1")->front().value.value, 40);
  EXPECT_EQ(Ask(ExternalMetric::kAverageUtilization, "measure=sm")->value, 25);
  EXPECT_EQ(Ask(ExternalMetric::kFreeGpus)->value, 0);
}

}  // namespace
}  // namespace podgpu
