// Prometheus itself scrapes the exporter on the demo's node; promtool and a strict OpenMetrics
// parser read its pages.  What is expected is computed from the scenario, never from the page.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "exporter/self_metrics.h"
#include "fields/counters_csv.h"
#include "sim/compile.h"
#include "sim/world.h"
#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

// Unpacked by tools/setup; never installed, since the package would start a service.
constexpr std::string_view kTools = PODGPU_SOURCE_DIR "/build/tools/prometheus/usr/bin/";

// What a scenario says of a node, as far as the number of series depends on it.
class NodeCounts final : public sim::PodVisitor {
 public:
  explicit NodeCounts(const std::string& scenario) {
    std::ifstream file(scenario);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const sim::CompileResult compiled = sim::CompileScenario(text, scenario);
    std::string error;
    const std::unique_ptr<sim::World> world = sim::World::Open(compiled.image, error);
    for (int gpu = 0; gpu < world->gpu_count(); ++gpu) {
      const int count = world->instance_count(gpu, 0);
      (world->mig_enabled(gpu, 0) ? mig_gpus : whole_gpus) += 1;
      instances += count;
    }
    world->VisitPods(0, *this);
  }
  void Pod(const sim::PodFacts& pod) override { pod_ = std::string(pod.name); }
  void Container(const sim::ContainerFacts& container) override {
    container_ = std::string(container.name);
  }
  void Device(const sim::PodDevice& device) override {
    holders.insert(pod_ + "/" + container_ + "/" + std::to_string(device.device.gpu) + "/" +
                   std::to_string(device.device.instance));
  }

  int whole_gpus = 0, mig_gpus = 0, instances = 0;
  std::set<std::string> holders;

 private:
  std::string pod_, container_;
};

// The formula of docs/metrics.md, with what the simulated driver does not serve set aside.
size_t ExpectedSeries(const NodeCounts& node) {
  constexpr int kNotServed = 2;        // XID before one happens, the vGPU licence.
  constexpr int kNotOnInstances = 8;   // Classic utilisation, remapped rows, NVLink.
  constexpr int kNativeNotServed = 6;  // The video clock, the recovery action.
  constexpr int kNotOnMigGpus = 6;     // Remapped rows, NVLink.
  int metrics = -kNotServed;
  const Counters counters = ParseCounters(DefaultCountersCsv(), "default").value();
  for (const Counter& counter : counters.counters) {
    metrics += counter.is_label() ? 0 : 1;
  }
  const int gpus = node.whole_gpus + node.mig_gpus;
  const int dcgm = metrics * node.whole_gpus + (metrics - kNotOnInstances) * node.instances;
  const int native = (48 - kNativeNotServed) * gpus - kNotOnMigGpus * node.mig_gpus +
                     9 * node.instances + static_cast<int>(node.holders.size()) + 5 * gpus + 2;
  constexpr size_t kOfFeaturesThatAreOff = 10;  // Two of batch jobs, eight of the API server.
  size_t self = 0;
  for (const SlotFamily& family : SlotFamiliesOf(SlotView::kSelf, nullptr)) {
    self += family.series.size();
  }
  return static_cast<size_t>(dcgm + native) + self - kOfFeaturesThatAreOff;
}

class PrometheusTest : public ::testing::Test {
 protected:
  PrometheusTest() : node_(SimNode::Shipped("demo"), SimNode::Pace::kReal), exporter_(node_) {}

  void SetUp() override {
    ASSERT_TRUE(node_.ready()) << node_.output();
    ASSERT_TRUE(exporter_.ready()) << exporter_.process().output();
    // Profiling values come one period after the rest.
    ASSERT_TRUE(exporter_.Await("/metrics", "\nDCGM_FI_PROF_DRAM_ACTIVE{"));
    ASSERT_TRUE(exporter_.Await("/metrics", "\npodgpu_allocation_info{"));
  }

  const SimNode node_;
  ExporterProcess exporter_;
};

// The number in the first sample of an instant query's answer.
std::string FirstValue(const std::string& answer) {
  const size_t at = answer.find("\"value\":[");
  const size_t begin = answer.find('"', answer.find(',', at)) + 1;
  return at == std::string::npos ? "" : answer.substr(begin, answer.find('"', begin) - begin);
}

TEST_F(PrometheusTest, ScrapesEverySeriesWithoutAnError) {
  const TemporaryFolder folder;
  const std::string target = exporter_.root().substr(exporter_.root().find("//") + 2);
  const std::string config =
      folder.Write("prometheus.yml",
                   "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
                   "scrape_configs:\n  - job_name: podgpu\n    static_configs:\n      - "
                   "targets: ['" +
                       target + "']\n");
  const std::string address = "127.0.0.1:" + std::to_string(FreePort());
  Child prometheus({std::string(kTools) + "prometheus", "--config.file=" + config,
                    "--storage.tsdb.path=" + folder.path() + "/data",
                    "--web.listen-address=" + address});
  ASSERT_TRUE(prometheus.AwaitLine("Server is ready").has_value()) << prometheus.output();
  const auto ask = [&](const std::string& query) {
    Child curl({"curl", "-s", "-G", "http://" + address + "/api/v1/query", "--data-urlencode",
                "query=" + query});
    curl.Wait();
    return FirstValue(curl.output());
  };
  std::string up;
  while ((up = ask("up{job=\"podgpu\"}")).empty()) {
  }
  EXPECT_EQ(up, "1");
  const size_t expected = ExpectedSeries(NodeCounts(SimNode::Shipped("demo")));
  EXPECT_EQ(ask("scrape_samples_scraped{job=\"podgpu\"}"), std::to_string(expected));
  EXPECT_EQ(ask("scrape_samples_post_metric_relabeling{job=\"podgpu\"}"), std::to_string(expected));
  EXPECT_EQ(ask("count({job=\"podgpu\",__name__=~\"DCGM_.*|podgpu_.*|process_.*\"})"),
            std::to_string(expected))
      << "every line is a series of its own";
  Child targets({"curl", "-s", "http://" + address + "/api/v1/targets"});
  targets.Wait();
  EXPECT_NE(targets.output().find("\"lastError\":\"\""), std::string::npos) << targets.output();
  EXPECT_NE(targets.output().find("\"health\":\"up\""), std::string::npos) << targets.output();
}

TEST_F(PrometheusTest, PromtoolAcceptsTheNativeAndSelfViews) {
  ExporterProcess ours(node_, {"--metrics-views=native,self"});
  ASSERT_TRUE(ours.Await("/metrics", "\npodgpu_gpu_power_watts{"));
  Child promtool({std::string(kTools) + "promtool", "check", "metrics"});
  promtool.Feed(ours.Get("/metrics"));
  EXPECT_EQ(promtool.Wait(), 0) << promtool.output();
}

TEST_F(PrometheusTest, PromtoolFindsOnlyDcgmNamesOnTheFullPage) {
  Child promtool({std::string(kTools) + "promtool", "check", "metrics"});
  promtool.Feed(exporter_.Get("/metrics"));
  constexpr int kLintFindings = 3;  // Parse errors would be 1.
  EXPECT_EQ(promtool.Wait(), kLintFindings);
  // Each line begins with the name of a family; all are DCGM's, whose names are not ours to choose.
  const std::string& output = promtool.output();
  size_t lines = 0;
  for (size_t begin = 0; begin < output.size(); begin = output.find('\n', begin) + 1) {
    EXPECT_EQ(output.compare(begin, 8, "DCGM_FI_"), 0) << output.substr(begin, 100);
    ++lines;
  }
  EXPECT_GT(lines, 0U);
}

TEST_F(PrometheusTest, AStrictOpenMetricsParserReadsThePage) {
  const std::string page =
      exporter_.Get("/metrics", {"-H", "Accept: application/openmetrics-text;version=1.0.0"});
  Child parser({"/usr/bin/python3", "-c",
                "import sys\n"
                "from prometheus_client.openmetrics.parser import text_string_to_metric_families\n"
                "families = list(text_string_to_metric_families(sys.stdin.read()))\n"
                "print(sum(len(f.samples) for f in families), 'samples')\n"});
  parser.Feed(page);
  EXPECT_EQ(parser.Wait(), 0) << parser.output();
  const size_t expected = ExpectedSeries(NodeCounts(SimNode::Shipped("demo")));
  EXPECT_EQ(parser.output(), std::to_string(expected) + " samples\n");
}

}  // namespace
}  // namespace podgpu
