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

// A page of samples of the last 26 hours, one a minute; gpu-node-0001 has 25 %, the other 75 %.
std::string HistoryOf(const std::vector<std::string>& uuids) {
  constexpr int64_t kMinutes = 26 * 60;
  const int64_t now =
      std::chrono::floor<std::chrono::seconds>(SystemClock().WallNow().time_since_epoch()).count();
  std::string text = "# TYPE DCGM_FI_PROF_SM_ACTIVE gauge\n";
  for (size_t node = 0; node < uuids.size(); ++node) {
    for (int64_t minute = kMinutes; minute >= 0; --minute) {
      text += "DCGM_FI_PROF_SM_ACTIVE{UUID=\"" + uuids[node] + "\",Hostname=\"gpu-node-000" +
              std::to_string(node + 1) + "\"} " + (node == 0 ? "0.25 " : "0.75 ") +
              std::to_string(now - minute * 60) + "\n";
    }
  }
  return text + "# EOF\n";
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
                  folder_.Write("history.om", HistoryOf(uuids_)), data});
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

  // Every value of an answer of the cluster role, each once; the word if it is absent.
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

  const TemporaryFolder folder_;
  const std::string nodes_ = "--nodes=file:" + folder_.path() + "/nodes";
  Child fleet_{{PODGPU_BINARY_DIR "/bin/podgpu-sim", "fleet", "one-gpu", "--nodes=2", "--port=0",
                "--nodes-file=" + folder_.path() + "/nodes",
                "--api-server=" + folder_.path() + "/api"}};
  std::vector<std::string> variables_, uuids_;
  std::optional<Child> prometheus_;
  std::string address_;
};

TEST_F(FleetHistoryTest, IsThatOfPrometheusForAGpuAPoolAndAll) {
  Child cluster(
      {PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0", nodes_, "--group-labels=pool",
       "--in-use-prometheus=http://" + address_, "--node-timeout=60s"},
      variables_);
  const uint16_t port = PortOf(cluster);
  ASSERT_NE(port, 0) << cluster.output();
  ASSERT_TRUE(cluster.AwaitLine("ready: 2 of 2 nodes answer")) << cluster.output();
  const auto history = [port](const std::string& query) {
    std::string values;
    do {
      values = ValuesIn(LoopbackClient(port).Fetch("/api/v1/history?" + query).body);
    } while (values.find("ask again") != std::string::npos);
    return values;
  };
  // Until the labels of nodes are known.
  while (LoopbackClient(port).Fetch("/api/v1/history?group=pool&value=pool-a").status == 404) {
  }
  EXPECT_EQ(history("node=gpu-node-0001&gpu=0"), "25");
  EXPECT_EQ(history("node=gpu-node-0002&gpu=0"), "75");
  EXPECT_EQ(history("group=pool&value=pool-a"), "50");
  EXPECT_NE(LoopbackClient(port).Fetch("/api/v1/fleet").body.find("\"history\":true"),
            std::string::npos);

  prometheus_->Signal(SIGKILL);
  prometheus_->Wait();
  EXPECT_NE(history("").find("Prometheus does not answer: "), std::string::npos);
  EXPECT_TRUE(cluster.AwaitLine("request for history to Prometheus failed")) << cluster.output();
  // The tick after the queries counts them; one that crosses a step of five minutes is sent twice.
  const RE2 counted(R"(podgpu_cluster_history_queries_total\{result="ok"\} [3-6]\n)");
  std::string page;
  do {
    page = LoopbackClient(port).Fetch("/metrics").body;
  } while (!page.empty() && !RE2::PartialMatch(page, counted));
  EXPECT_FALSE(page.empty());
  cluster.Signal(SIGTERM);
  EXPECT_EQ(cluster.Wait(), 0);
}

}  // namespace
}  // namespace podgpu
