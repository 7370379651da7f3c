// The recipes of deploy/autoscaling, with a real Prometheus that scrapes three simulated nodes and
// the cluster role: the values for an autoscaler equal the nodes' loads.
//
// prometheus-adapter itself does not run: the test fills in its rules as the adapter does, for each
// autoscaler in the recipes, and Prometheus answers.
#include <cmath>
#include <fstream>
#include <iterator>
#include <re2/re2.h>

#include <gtest/gtest.h>

#include "http/testing/loopback_client.h"
#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"
#include "yaml/yaml_tree.h"

namespace podgpu {
namespace {

constexpr std::string_view kPrometheus = "build/tools/prometheus/usr/bin/prometheus";

// The true loads of the three nodes below, in percent.
constexpr double kMeanMemoryCopy = (40.0 + 20.0 + 60.0) / 3;
constexpr double kMeanSmOfLlm = (80.0 + 60.0) / 2;

// The value of an answer with one series.
constexpr const char* kOneValue =
    R"re(^[^\[]*\[\{"metric":\{[^}]*\},"value":\[[0-9.]+,"([0-9.e+-]+)"\]\}\]\}\}\s*$)re";

// A node of two GPUs; `pod` holds the first one and gives it a constant load.
std::string ScenarioOf(int seed, const std::string& pod_namespace, const std::string& pod,
                       const std::string& load) {
  return "format: 1\nname: steady\nseed: " + std::to_string(seed) +
         "\nnoise_mw: 0\ngpus:\n  - {class: h100-sxm5-80gb}\n  - {class: h100-sxm5-80gb}\n"
         "pods:\n  - name: " +
         pod + "\n    namespace: " + pod_namespace +
         "\n    containers:\n      - {name: main, gpus: [0], processes: [{pid: 4101, load: {" +
         load + "}, memory: 40GiB}]}\n";
}

// A map's value, or a null node.
const YamlNode& At(const YamlNode& node, std::string_view key) {
  static const YamlNode kNothing;
  for (size_t i = 0; i < node.keys.size(); ++i) {
    if (node.keys[i].text == key) {
      return node.items[i];
    }
  }
  return kNothing;
}

YamlNode ReadRecipe(const std::string& name) {
  std::ifstream file("deploy/autoscaling/" + name + ".yaml");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::vector<YamlError> errors;
  YamlNode root = ReadYaml(text, errors);
  EXPECT_TRUE(errors.empty() && !text.empty()) << name;
  return root;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << text;
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The rule for the metric `name`.
const YamlNode& RuleOf(const YamlNode& rules, const std::string& name) {
  for (const YamlNode& rule : rules.items) {
    if (At(At(rule, "name"), "as").text == name) {
      return rule;
    }
  }
  ADD_FAILURE() << "no rule for " << name;
  return rules;
}

// Label and value of each matcher that a selector adds.
std::string MatchersOf(const YamlNode& selector) {
  const YamlNode& labels = At(selector, "matchLabels");
  std::string matchers;
  for (size_t i = 0; i < labels.items.size(); ++i) {
    matchers += "," + labels.keys[i].text + "=\"" + labels.items[i].text + "\"";
  }
  return matchers;
}

// The label of a resource in a rule, in lower case, unlike the kinds of objects.
std::string LabelOf(const YamlNode& rule, const std::string& kind) {
  const YamlNode& overrides = At(At(rule, "resources"), "overrides");
  for (size_t i = 0; i < overrides.items.size(); ++i) {
    std::string resource = At(overrides.items[i], "resource").text;
    resource[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(resource[0])));
    if (resource == kind) {
      return overrides.keys[i].text;
    }
  }
  ADD_FAILURE() << "the rule lacks the resource " << kind;
  return "";
}

std::string Filled(const YamlNode& rule, const std::string& matchers, const std::string& group) {
  const std::string series = At(rule, "seriesQuery").text;
  std::string query = At(rule, "metricsQuery").text;
  query = Replaced(std::move(query), "<<.Series>>", series.substr(0, series.find('{')));
  query = Replaced(std::move(query), "<<.LabelMatchers>>", matchers);
  return group.empty() ? query : Replaced(std::move(query), "<<.GroupBy>>", group);
}

// The query of prometheus-adapter for the HPA in `recipe`.
std::string QueryOfHpa(const std::string& recipe) {
  const YamlNode rules = At(ReadRecipe("prometheus-adapter"), "rules");
  const YamlNode hpa = ReadRecipe(recipe);
  EXPECT_EQ(At(hpa, "apiVersion").text, "autoscaling/v2");
  const YamlNode& metric = At(At(hpa, "spec"), "metrics").items.at(0);
  if (At(metric, "type").text == "External") {
    const YamlNode& name = At(At(metric, "external"), "metric");
    const YamlNode& rule = RuleOf(At(rules, "external"), At(name, "name").text);
    EXPECT_EQ(At(At(rule, "resources"), "namespaced").text, "false");
    const std::string matchers = MatchersOf(At(name, "selector"));
    return Filled(rule, matchers.empty() ? "" : matchers.substr(1), "");
  }
  const YamlNode& object = At(metric, "object");
  const YamlNode& name = At(object, "metric");
  const YamlNode& described = At(object, "describedObject");
  const YamlNode& rule = RuleOf(At(rules, "custom"), At(name, "name").text);
  const std::string label = LabelOf(rule, At(described, "kind").text);
  return Filled(rule,
                LabelOf(rule, "Namespace") + "=\"" + At(At(hpa, "metadata"), "namespace").text +
                    "\"," + label + "=\"" + At(described, "name").text + "\"" +
                    MatchersOf(At(name, "selector")),
                label);
}

class AutoscalingTest : public ::testing::Test {
 protected:
  // Three nodes, the cluster role over them when it knows all three, and Prometheus over the four.
  void SetUp() override {
    StartNode("gpu-node-1", "serving", "llm-5d8f6c7b9d-x2vqk", "sm: 80%, mem: 40%");
    StartNode("gpu-node-2", "serving", "llm-5d8f6c7b9d-4kz9w", "sm: 60%, mem: 20%");
    StartNode("gpu-node-3", "research", "train-0", "sm: 50%, mem: 60%");
    ASSERT_FALSE(HasFatalFailure());
    const std::string nodes = folder_.Write("nodes", node_lines_);
    cluster_.emplace(std::vector<std::string>{PODGPU_BINARY_DIR "/bin/podgpu", "cluster",
                                              "-a=127.0.0.1:0", "--nodes=file:" + nodes,
                                              "--node-interval=1s"});
    const uint16_t port = ServedPort(*cluster_);
    ASSERT_NE(port, 0) << cluster_->output();
    AwaitAverage(port);
    StartPrometheus(port);
  }

  void StartNode(const std::string& name, const std::string& pod_namespace, const std::string& pod,
                 const std::string& load) {
    const int seed = 71 + static_cast<int>(nodes_.size());
    const std::string path = folder_.Write(name, ScenarioOf(seed, pod_namespace, pod, load));
    const std::string counters = folder_.Write(
        "counters.csv",
        "DCGM_FI_DEV_MEM_COPY_UTIL,gauge,Memory copies.\nDCGM_FI_PROF_SM_ACTIVE,gauge,SMs.\n"
        "DCGM_FI_DEV_FB_USED,gauge,Used.\nDCGM_FI_DEV_FB_FREE,gauge,Free.\n"
        "DCGM_FI_DEV_FB_RESERVED,gauge,Reserved.\n");
    nodes_.push_back(std::make_unique<SimNode>(path, SimNode::Pace::kReal));
    ASSERT_TRUE(nodes_.back()->ready()) << nodes_.back()->output();
    exporters_.push_back(std::make_unique<ExporterProcess>(
        *nodes_.back(), std::vector<std::string>{"-f=" + counters},
        std::vector<std::string>{"NODE_NAME=" + name}));
    ASSERT_TRUE(exporters_.back()->ready());
    node_lines_ += "127.0.0.1:" + std::to_string(exporters_.back()->port()) + "\n";
  }

  // Waits until the cluster role on `port` reports the loads.
  static std::string AwaitAverage(uint16_t port) {
    LoopbackClient client(port);
    std::string page;
    double mean = 0;
    double llm = 0;
    do {
      page = client.Fetch("/metrics").body;
      RE2::PartialMatch(page, R"(\navg_GPU_utilization ([0-9.]+)\n)", &mean);
      RE2::PartialMatch(page,
                        R"(\npodgpu_workload_in_use_ratio\{namespace="serving",workload="llm",)"
                        R"(measure="sm"\} ([0-9.]+)\n)",
                        &llm);
    } while (!page.empty() && (mean != kMeanMemoryCopy || std::abs(llm * 100 - kMeanSmOfLlm) > 1));
    return page;
  }

  void StartPrometheus(uint16_t cluster_port) {
    std::string targets;
    for (const auto& exporter : exporters_) {
      targets += (targets.empty() ? "'127.0.0.1:" : ", '127.0.0.1:") +
                 std::to_string(exporter->port()) + "'";
    }
    // Adds the labels that a ServiceMonitor adds to its targets.
    const std::string config = folder_.Write(
        "prometheus.yml",
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
        "scrape_configs:\n  - job_name: nodes\n    static_configs:\n      - targets: [" +
            targets +
            "]\n        labels: {namespace: podgpu, pod: exporter}\n"
            "  - job_name: cluster\n    honor_labels: true\n    static_configs:\n"
            "      - targets: ['127.0.0.1:" +
            std::to_string(cluster_port) +
            "']\n        labels: {namespace: podgpu, service: podgpu-cluster}\n");
    address_ = "127.0.0.1:" + std::to_string(FreePort());
    prometheus_.emplace(std::vector<std::string>{
        std::string(kPrometheus), "--config.file=" + config,
        "--storage.tsdb.path=" + folder_.path() + "/data", "--web.listen-address=" + address_});
    ASSERT_TRUE(prometheus_->AwaitLine("Server is ready").has_value()) << prometheus_->output();
  }

  // The value of the one series that `query` answers, once there is one.
  double Ask(const std::string& query) const {
    double value = 0;
    std::string answer;
    do {
      Child curl({"curl", "-s", "-G", "http://" + address_ + "/api/v1/query", "--data-urlencode",
                  "query=" + query});
      curl.Wait();
      answer = curl.output();
      if (answer.find("\"status\":\"success\"") == std::string::npos) {
        ADD_FAILURE() << query << answer;
        return value;
      }
    } while (!RE2::PartialMatch(answer, kOneValue, &value));
    return value;
  }

  const TemporaryFolder folder_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<std::unique_ptr<ExporterProcess>> exporters_;
  std::string node_lines_, address_;
  std::optional<Child> cluster_, prometheus_;
};

TEST_F(AutoscalingTest, GivesAutoscalersTheMeanOfTheSimulatedLoads) {
  EXPECT_DOUBLE_EQ(Ask(QueryOfHpa("hpa-cluster")), kMeanMemoryCopy);
  EXPECT_NEAR(Ask(QueryOfHpa("hpa-workload")), kMeanSmOfLlm / 100, 0.01);
  const double fill = Ask(QueryOfHpa("hpa-external"));
  const std::string ratio =
      "DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE + DCGM_FI_DEV_FB_RESERVED)";
  EXPECT_NEAR(fill, Ask("avg((" + ratio + ") > 0)"), 0.001)
      << "the nodes' own pages give the same value";
  EXPECT_GT(fill, 0);

  const YamlNode keda = ReadRecipe("keda-scaledobject");
  const YamlNode& trigger = At(At(keda, "spec"), "triggers").items.at(0);
  EXPECT_EQ(At(trigger, "type").text, "prometheus");
  EXPECT_NEAR(Ask(At(At(trigger, "metadata"), "query").text), kMeanSmOfLlm / 100, 0.01);

  const YamlNode adapter = ReadRecipe("prometheus-adapter");
  for (const YamlNode& rule : At(At(adapter, "rules"), "external").items) {
    Ask(Filled(rule, "", ""));  // Each query must have an answer.
  }
}

// What KEDA's scaler metrics-api does with its trigger: it asks the URL, takes the number under
// valueLocation, and fails unless the status is 200.
TEST_F(AutoscalingTest, AnswersKedaDirectlyAndNotWithZeroWhenNodesAreAway) {
  const YamlNode recipe = ReadRecipe("keda-in-use");
  const YamlNode& trigger = At(At(recipe, "spec"), "triggers").items.at(0);
  EXPECT_EQ(At(trigger, "type").text, "metrics-api");
  EXPECT_EQ(At(trigger, "metricType").text, "Value");
  const YamlNode& metadata = At(trigger, "metadata");
  const std::string service = "http://podgpu-cluster.podgpu.svc:9401";
  const std::string url = At(metadata, "url").text;
  ASSERT_EQ(url.substr(0, service.size()), service);
  Child cluster({PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0",
                 "--nodes=file:" + folder_.Write("nodes", node_lines_), "--node-interval=1s",
                 "--node-withdraw-after=3s"});
  const uint16_t port = ServedPort(cluster);
  ASSERT_NE(port, 0) << cluster.output();
  AwaitAverage(port);
  LoopbackClient client(port);
  const auto ask = [&] { return client.Fetch(url.substr(service.size())); };
  LoopbackResponse answer = ask();
  ASSERT_EQ(answer.status, 200) << answer.body;
  double value = 0;
  EXPECT_TRUE(RE2::PartialMatch(
      answer.body, "\"" + At(metadata, "valueLocation").text + R"(":([0-9.]+),)", &value));
  EXPECT_NEAR(value, kMeanSmOfLlm, 1);
  EXPECT_NE(answer.body.find("\"gpus_in_use\":2,"), std::string::npos) << answer.body;

  exporters_.clear();
  while ((answer = ask()).status == 200) {
    EXPECT_EQ(answer.body.find("\"value\":0,"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(answer.status, 404);
  EXPECT_NE(answer.body.find("no node has answered podgpu recently"), std::string::npos)
      << answer.body;
}

// A second way to the same values: a cluster role without nodes, over that Prometheus.
TEST_F(AutoscalingTest, AClusterRoleOverPrometheusGivesTheSame) {
  Child cluster({PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0",
                 "--in-use-prometheus=http://" + address_, "--in-use-matchers=job=\"nodes\"",
                 "--node-interval=1s"});
  const uint16_t port = ServedPort(cluster);
  ASSERT_NE(port, 0) << cluster.output();
  const std::string page = AwaitAverage(port);
  EXPECT_NE(page.find("podgpu_cluster_prometheus_up{measure=\"memory_fill\"} 1\n"),
            std::string::npos)
      << page;
  EXPECT_EQ(page.find("workload=\"exporter\""), std::string::npos) << "pod names the target's";
}

}  // namespace
}  // namespace podgpu
