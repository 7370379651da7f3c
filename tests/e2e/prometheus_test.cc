// Prometheus itself scrapes the exporter on the demo's node; promtool and a strict OpenMetrics
// parser read its pages.  The expected number of series is computed from the tables and from the
// answers of the node's driver to a client of the test, never from the page.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "fields/counters_csv.h"
#include "health/self_metrics.h"
#include "sim/testing/dcgm_client.h"
#include "sim/world/world.h"
#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"
#include "view/native_table.h"

namespace podgpu {
namespace {

// Unpacked by tools/setup; never installed, since the package would start a service.
constexpr std::string_view kTools = "build/tools/prometheus/usr/bin/";

std::string DemoScenario() {
  std::ifstream file(SimNode::Shipped("demo"));
  return {std::istreambuf_iterator<char>(file), {}};
}

// The pairs of container and device, each once.
class Holders final : public sim::PodVisitor {
 public:
  explicit Holders(const sim::World& world) { world.VisitPods(0, *this); }
  void Pod(const sim::PodFacts& pod) override { pod_ = std::string(pod.name); }
  void Container(const sim::ContainerFacts& container) override {
    container_ = std::string(container.name);
  }
  void Device(const sim::PodDevice& device) override {
    all_.insert(pod_ + "/" + container_ + "/" + std::to_string(device.device.gpu) + "/" +
                std::to_string(device.device.instance));
  }
  size_t count() const { return all_.size(); }

 private:
  std::set<std::string> all_;
  std::string pod_, container_;
};

// A client of the demo's node: which fields its libdcgm gives for which device.
class DriverOfTheDemo {
 public:
  DriverOfTheDemo() : bench_(4, DemoScenario()) {
    bench_.Start();
    for (int gpu = 0; gpu < bench_.world().gpu_count(); ++gpu) {
      (bench_.world().mig_enabled(gpu, 0) ? mig_gpus : whole_gpus).push_back(ToUnsigned(gpu));
    }
    int count = 64;
    instances.resize(64);
    EXPECT_EQ(bench_.On("dcgmGetEntityGroupEntities", sim::kInstance, instances.data(), &count, 0U),
              0);
    instances.resize(static_cast<size_t>(count));
  }
  ~DriverOfTheDemo() { unsetenv("PODGPU_SIM_DIR"); }  // Other tests of this program set their own.
  DriverOfTheDemo(const DriverOfTheDemo&) = delete;
  DriverOfTheDemo& operator=(const DriverOfTheDemo&) = delete;

  // For how many of `entities` it gives the field as a number.
  size_t Tells(uint16_t field, int kind, const std::vector<uint32_t>& entities) {
    size_t told = 0;
    for (const uint32_t entity : entities) {
      const abi::dcgmGpuGrp_t group = bench_.MakeGroupOf(kind, entity);
      const abi::dcgmFieldGrp_t fields = bench_.MakeFieldGroup({field});
      bench_.Watch(group, fields);
      for (int sample = 0; sample < 2; ++sample) {  // Rates exist from the second sample on.
        bench_.Tick(1'000'000);
        bench_.On("dcgmUpdateAllFields", 1);
      }
      told += IsNumber(bench_.Read(kind, entity, {field})[0]) ? 1U : 0U;
      bench_.On("dcgmUnwatchFields", group, fields);
      bench_.On("dcgmFieldGroupDestroy", fields);
      bench_.On("dcgmGroupDestroy", group);
    }
    return told;
  }
  const sim::World& world() { return bench_.world(); }

  std::vector<uint32_t> whole_gpus, mig_gpus, instances;

 private:
  static uint32_t ToUnsigned(int id) { return static_cast<uint32_t>(id); }
  static bool IsNumber(const sim::Seen& seen) {
    return seen.status == 0 &&
           (seen.type == abi::DCGM_FT_DOUBLE
                ? seen.real < abi::DCGM_FP64_BLANK
                : seen.type == abi::DCGM_FT_INT64 && seen.number < abi::DCGM_INT64_BLANK);
  }

  sim::DcgmBench bench_;
};

size_t DcgmSeries(DriverOfTheDemo& driver) {
  size_t series = 0;
  const Counters counters = ParseCounters(DefaultCountersCsv(), "default").value();
  for (const Counter& counter : counters.counters) {
    if (!counter.is_label()) {
      series += driver.Tells(counter.field->id, sim::kGpu, driver.whole_gpus) +
                driver.Tells(counter.field->id, sim::kInstance, driver.instances);
    }
  }
  return series;
}

size_t NativeSeries(DriverOfTheDemo& driver) {
  const size_t gpus = driver.whole_gpus.size() + driver.mig_gpus.size();
  // podgpu_gpu_info, podgpu_gpu_instance_info, podgpu_allocation_info.
  size_t series = gpus + driver.instances.size() + Holders(driver.world()).count();
  for (const Measure& measure : Measures()) {
    if (measure.shown != Shown::kAlways) {
      continue;
    }
    if (measure.on != MeasuredOn::kPartitionedGpus) {
      series += driver.Tells(measure.field_id, sim::kGpu, driver.whole_gpus);
    }
    if (measure.on != MeasuredOn::kWholeGpus) {
      series += driver.Tells(measure.field_id, sim::kGpu, driver.mig_gpus);
      series +=
          measure.instances ? driver.Tells(measure.field_id, sim::kInstance, driver.instances) : 0;
    }
  }
  return series + 2;  // podgpu_gpus_expected, podgpu_gpus_present.
}

// Series that may be missing, depending on past events: a name, and a label where this applies to
// only some series of the name.
struct Changing {
  std::string name, label, value;
};
std::vector<Changing> ChangingSeries() {
  std::vector<Changing> all = {{"podgpu_source_call_seconds", "", ""}};
  for (const SlotView view : {SlotView::kCore, SlotView::kSelf}) {
    for (const FamilyDoc& doc : SlotFamilyDocs(view)) {
      if (doc.shown != Shown::kAlways) {
        all.push_back({doc.family.name, "", ""});
      }
    }
  }
  for (const Measure& measure : Measures()) {
    if (measure.shown != Shown::kAlways) {
      all.push_back({std::string(measure.name), std::string(measure.extra_label),
                     std::string(measure.extra_value)});
    }
  }
  return all;
}

// The same, counted in PromQL.
std::string CountOfChanging() {
  std::string selectors;
  for (const Changing& one : ChangingSeries()) {
    selectors += (selectors.empty() ? "" : " or ") + one.name +
                 (one.label.empty() ? "" : "{" + one.label + "=\"" + one.value + "\"}");
  }
  return "(count(" + selectors + ") or vector(0))";
}

size_t SelfSeries() {
  // Families of features that the demo's node does not use.
  std::set<std::string> off = {"podgpu_api_server_up",
                               "podgpu_api_server_objects",
                               "podgpu_api_server_requests_total",
                               "podgpu_api_server_failures_total",
                               "podgpu_kubelet_pods_up",
                               "podgpu_kubelet_pods_failures_total",
                               "podgpu_hpc_jobs",
                               "podgpu_hpc_job_failures_total",
                               "podgpu_runtime_containers",
                               "podgpu_runtime_container_failures_total",
                               "podgpu_tls_certificate_expiry_timestamp_seconds",
                               "podgpu_dump_writes_total"};
  constexpr size_t kAgesOff = 1;  // podgpu_fact_age_seconds{fact="containers"}
  size_t series = 0;
  for (const Changing& one : ChangingSeries()) {
    off.insert(one.name);
  }
  for (const SlotFamily& family : SlotFamiliesOf(SlotView::kSelf, nullptr, 0)) {
    series += off.contains(family.family.name) ? 0 : family.series.size();
  }
  return series - kAgesOff;
}

// The formula of docs/metrics.md, minus the values that this driver lacks and ChangingSeries().
size_t ExpectedSeries() {
  DriverOfTheDemo driver;
  return DcgmSeries(driver) + NativeSeries(driver) + SelfSeries();
}

class PrometheusTest : public ::testing::Test {
 protected:
  PrometheusTest()
      : node_(SimNode::Shipped("demo"), SimNode::Pace::kReal),
        exporter_(node_, {"--metrics-views=dcgm,native,self"}) {}

  void SetUp() override {
    ASSERT_TRUE(node_.ready()) << node_.output();
    ASSERT_TRUE(exporter_.ready()) << exporter_.process().output();
    // Profiling values come one period after the others.
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
                   "global: {scrape_interval: 5s, scrape_timeout: 5s}\n"
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
  const size_t expected = ExpectedSeries();
  const std::string changing = " - " + CountOfChanging();
  EXPECT_EQ(ask("sum(scrape_samples_scraped{job=\"podgpu\"})" + changing),
            std::to_string(expected));
  EXPECT_EQ(ask("sum(scrape_samples_post_metric_relabeling{job=\"podgpu\"})" + changing),
            std::to_string(expected));
  EXPECT_EQ(ask("count({job=\"podgpu\",__name__=~\"DCGM_.*|podgpu_.*|process_.*\"})" + changing),
            std::to_string(expected))
      << "every line is a different series";
  Child targets({"curl", "-s", "http://" + address + "/api/v1/targets"});
  targets.Wait();
  EXPECT_NE(targets.output().find("\"lastError\":\"\""), std::string::npos) << targets.output();
  EXPECT_NE(targets.output().find("\"health\":\"up\""), std::string::npos) << targets.output();
  // Prometheus asks for OpenMetrics first, where a counter without `_total` would be `unknown`.
  Child types({"curl", "-s", "-G", "http://" + address + "/api/v1/targets/metadata", "-d",
               "metric=DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"});
  types.Wait();
  EXPECT_NE(types.output().find("\"type\":\"counter\""), std::string::npos) << types.output();
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
  // Each line begins with a family name; all are DCGM's, which podgpu cannot rename.
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
  std::string changing;
  for (const Changing& one : ChangingSeries()) {
    changing += one.name + "," + one.label + "," + one.value + " ";
  }
  Child parser({"/usr/bin/python3", "-c",
                "import sys\n"
                "from prometheus_client.openmetrics.parser import text_string_to_metric_families\n"
                "families = list(text_string_to_metric_families(sys.stdin.read()))\n"
                "changing = [line.split(',') for line in sys.argv[1].split()]\n"
                "def lasts(sample):\n"
                "  return not any(sample.name == name and (not label or\n"
                "                 sample.labels[label] == value)\n"
                "                 for name, label, value in changing)\n"
                "print(sum(lasts(s) for f in families for s in f.samples), 'samples')\n",
                changing});
  parser.Feed(page);
  EXPECT_EQ(parser.Wait(), 0) << parser.output();
  const size_t expected = ExpectedSeries();
  EXPECT_EQ(parser.output(), std::to_string(expected) + " samples\n");
}

}  // namespace
}  // namespace podgpu
