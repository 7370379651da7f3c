// The history on the fleet page from a real Prometheus, which has a day of two simulated nodes.
#include <chrono>
#include <csignal>
#include <fstream>
#include <re2/re2.h>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/text.h"
#include "http/testing/loopback_client.h"
#include "tests/e2e/child.h"

namespace podgpu {
namespace {

const std::string kPrometheusTools = "build/tools/prometheus/usr/bin/";

uint16_t PortOf(Child& cluster) {
  const std::optional<std::string> serving = cluster.AwaitLine("msg=\"serving\"");
  return serving ? static_cast<uint16_t>(
                       ParseDecimal(std::string_view(*serving).substr(serving->find("port=") + 5))
                           .value_or(0))
                 : 0;
}

// A series with one value; `labels` are after UUID or uuid.
struct HistorySeries {
  std::string family;
  std::string labels;
  std::string value;
};

// Samples of the last 26 hours, one a minute; all series of a family must follow each other.
std::string SamplesOf(const std::vector<HistorySeries>& series) {
  constexpr int64_t kMinutes = 26 * 60;
  const int64_t now =
      std::chrono::floor<std::chrono::seconds>(SystemClock().WallNow().time_since_epoch()).count();
  std::string text, family;
  for (const HistorySeries& one : series) {
    if (one.family != family) {
      family = one.family;
      text.append("# TYPE ").append(family).append(" gauge\n");
    }
    for (int64_t minute = kMinutes; minute >= 0; --minute) {
      text.append(family).append("{" + one.labels + "} " + one.value + " ");
      text.append(std::to_string(now - minute * 60) + "\n");
    }
  }
  return text + "# EOF\n";
}

// The label `scene` separates the histories of the tests: --in-use-matchers selects one.
std::string HistoryOf(const std::string& a, const std::string& b) {
  const std::string on_1 = R"(Hostname="gpu-node-0001",scene=)";
  const std::string on_2 = R"(hostname="gpu-node-0002",scene=)";
  const std::string gpu_1 = "UUID=\"" + a + "\",";
  const std::string gpu_2 = "UUID=\"" + b + "\",";
  const std::string old_1 = "uuid=\"" + a + "\",";
  const std::string old_2 = "uuid=\"" + b + "\",";
  return SamplesOf({
      {"DCGM_FI_PROF_SM_ACTIVE", gpu_1 + on_1 + R"("mixed")", "0.25"},
      {"DCGM_FI_PROF_SM_ACTIVE", gpu_1 + on_1 + R"("change",instance="new")", "0.2"},
      {"DCGM_FI_PROF_SM_ACTIVE", old_1 + on_1 + R"("change",instance="old")", "0.4"},
      {"DCGM_FI_PROF_SM_ACTIVE", R"(gpu="0",instance="x:1",)" + on_1 + R"("anonymous")", "0.1"},
      {"DCGM_FI_PROF_SM_ACTIVE", R"(gpu="0",instance="x:2",)" + on_1 + R"("anonymous")", "0.2"},
      {"DCGM_FI_PROF_SM_UTIL_RATIO", gpu_2 + on_2 + R"("change")", "0.8"},
      {"DCGM_FI_DEV_GPU_UTIL", gpu_1 + on_1 + R"("mixed")", "90"},
      {"DCGM_FI_DEV_GPU_UTIL", old_2 + on_2 + R"("mixed")", "75"},
      {"DCGM_FI_DEV_GPU_UTIL_RATIO", R"(gpu="1",instance="x:2",)" + on_1 + R"("anonymous")", "0.6"},
      {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", gpu_2 + on_2 + R"("mixed")", "0.1"},
      {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", gpu_2 + on_2 + R"("mig",GPU_I_ID="1")", "0.6"},
      {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", gpu_2 + on_2 + R"("mig",GPU_I_ID="2")", "0.2"},
      {"podgpu_gpu_info", gpu_1 + R"(hostname="gpu-node-0001",scene="mig")", "1"},
      {"podgpu_gpu_sm_active_ratio", gpu_1 + R"(scene="mig")", "0.3"},
      {"podgpu_gpu_sm_active_ratio", gpu_1 + R"(scene="mig",GPU_I_ID="1")", "0.9"},
      {"podgpu_gpu_sm_active_ratio", R"(UUID="GPU-of-no-node",scene="mig")", "0.6"},
  });
}

class FleetHistoryTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(fleet_.AwaitLine("ready")) << fleet_.output();
    std::ifstream file(folder_.path() + "/api/env");
    for (std::string line; std::getline(file, line);) {
      variables_.push_back(line);
    }
    FindUuids();
    ASSERT_EQ(uuids_.size(), 2U);
    StartPrometheus();
  }

  // From the JSON of a cluster role whose dashboard needs them.
  void FindUuids() {
    Child cluster({PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0", nodes_,
                   "--dashboard-url=http://dashboard/{uuid}"});
    const uint16_t port = PortOf(cluster);
    ASSERT_TRUE(cluster.AwaitLine("ready: 2 of 2 nodes answer")) << cluster.output();
    const std::string json = LoopbackClient(port).Fetch("/api/v1/fleet").body;
    std::string list;
    ASSERT_TRUE(RE2::PartialMatch(json, R"re("uuid":\[([^\]]*)\])re", &list)) << json;
    for (const std::string_view uuid : Split(list, ',')) {
      uuids_.emplace_back(uuid.substr(1, uuid.size() - 2));
    }
  }

  void StartPrometheus() {
    const std::string data = folder_.path() + "/data";
    Child create({kPrometheusTools + "promtool", "tsdb", "create-blocks-from", "openmetrics",
                  folder_.Write("history.om", HistoryOf(uuids_[0], uuids_[1])), data});
    ASSERT_EQ(create.Wait(), 0) << create.output();
    // The system chooses a port; the log names it.
    prometheus_.emplace(std::vector<std::string>{
        kPrometheusTools + "prometheus",
        "--config.file=" + folder_.Write("prometheus.yml", "global: {}\n"),
        "--storage.tsdb.path=" + data, "--web.listen-address=127.0.0.1:0"});
    const std::optional<std::string> line = prometheus_->AwaitLine("Listening on");
    ASSERT_TRUE(line) << prometheus_->output();
    ASSERT_TRUE(RE2::PartialMatch(*line, R"(address=(127\.0\.0\.1:[0-9]+))", &address_)) << *line;
    // Asked for: its line in the log may stand before or after the other one.
    const auto port = static_cast<uint16_t>(
        ParseDecimal(std::string_view(address_).substr(address_.find(':') + 1)).value_or(0));
    while (prometheus_->IsRunning() && LoopbackClient(port).Fetch("/-/ready").status != 200) {
    }
    ASSERT_TRUE(prometheus_->IsRunning());
  }

  const TemporaryFolder folder_;
  const std::string nodes_ = "--nodes=file:" + folder_.path() + "/nodes";
  Child fleet_{{PODGPU_BINARY_DIR "/bin/podgpu-sim", "fleet", "one-gpu", "--nodes=2", "--port=0",
                "--nodes-file=" + folder_.path() + "/nodes",
                "--api-server=" + folder_.path() + "/api"}};
  std::vector<std::string> variables_, uuids_;
  std::optional<Child> prometheus_;
  std::string address_;
};

// A cluster role that reads the history of one scene, once its groups are known.
class ClusterOfScene {
 public:
  ClusterOfScene(const std::string& scene, const std::string& nodes, const std::string& address,
                 const std::vector<std::string>& variables)
      : cluster_({PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0", nodes,
                  "--group-labels=pool,rack", "--in-use-prometheus=http://" + address,
                  "--in-use-matchers=scene=\"" + scene + "\"", "--node-timeout=60s"},
                 variables),
        port_(PortOf(cluster_)) {
    EXPECT_TRUE(cluster_.AwaitLine("ready: 2 of 2 nodes answer")) << cluster_.output();
    // Until the labels of nodes are known.
    while (Fetch("/api/v1/history?group=pool&value=pool-a").status == 404) {
    }
  }

  LoopbackResponse Fetch(const std::string& path) const {
    return LoopbackClient(port_).Fetch(path);
  }
  // Every value, each once; the reason if there is none.
  std::string Of(const std::string& query) const {
    std::string values;
    do {
      values = ValuesIn(Fetch("/api/v1/history?" + query).body);
    } while (values.find("ask again") != std::string::npos);
    return values;
  }
  // The values of both GPUs, of their group and of all GPUs.
  std::vector<std::string> OfAll() const {
    return {Of("node=gpu-node-0001&gpu=0"), Of("node=gpu-node-0002&gpu=0"),
            Of("group=pool&value=pool-a"), Of("")};
  }
  Child& child() { return cluster_; }

 private:
  static std::string ValuesIn(const std::string& json) {
    std::string absent;
    if (RE2::PartialMatch(json, R"re("absent":"([^"]*)")re", &absent)) {
      return absent;
    }
    std::string list;
    RE2::PartialMatch(json, R"re("activity_percent":\[([^\]]*)\])re", &list);
    std::string values;
    for (const std::string_view value : Split(list, ',')) {
      if ((" " + values + " ").find(" " + std::string(value) + " ") == std::string::npos) {
        values += (values.empty() ? "" : " ") + std::string(value);
      }
    }
    return values;
  }

  Child cluster_;
  const uint16_t port_;
};

using Values = std::vector<std::string>;

// In a mixed fleet each GPU has its own fallback, and each spelling of a label is found.
TEST_F(FleetHistoryTest, IsThatOfPrometheusForAGpuAPoolAndAll) {
  ClusterOfScene mixed("mixed", nodes_, address_, variables_);
  EXPECT_EQ(mixed.OfAll(), (Values{"25", "75", "50", "50"}));
  EXPECT_NE(mixed.Fetch("/api/v1/fleet").body.find("\"history\":true"), std::string::npos);

  prometheus_->Signal(SIGKILL);
  prometheus_->Wait();
  EXPECT_NE(mixed.Of("group=rack&value=rack-01").find("Prometheus does not answer: "),
            std::string::npos);
  EXPECT_TRUE(mixed.child().AwaitLine("request for history to Prometheus failed"))
      << mixed.child().output();
  // The tick after the queries counts them; one that crosses a step of five minutes is sent twice.
  const RE2 counted(R"(podgpu_cluster_history_queries_total\{result="ok"\} [4-8]\n)");
  std::string page;
  do {
    page = mixed.Fetch("/metrics").body;
  } while (!page.empty() && !RE2::PartialMatch(page, counted));
  EXPECT_FALSE(page.empty());
  mixed.child().Signal(SIGTERM);
  EXPECT_EQ(mixed.child().Wait(), 0);
}

TEST_F(FleetHistoryTest, CountsAGpuOnceUnderEachOfItsNames) {
  const std::string none = "Prometheus has no values of the last 24 hours";
  EXPECT_EQ(ClusterOfScene("change", nodes_, address_, variables_).OfAll(),
            (Values{"40", "80", "60", "60"}));
  // Without a UUID by target and number; the nodes' own GPUs are unknown there.
  EXPECT_EQ(ClusterOfScene("anonymous", nodes_, address_, variables_).OfAll(),
            (Values{none, none, "30", "30"}));
}

// The GPU's own value, otherwise the largest of its instances.  podgpu's own family has no name of
// a node.
TEST_F(FleetHistoryTest, HasGpusInMigMode) {
  EXPECT_EQ(ClusterOfScene("mig", nodes_, address_, variables_).OfAll(),
            (Values{"30", "60", "45", "50"}));
}

}  // namespace
}  // namespace podgpu
