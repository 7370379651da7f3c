// The queries of my-gpu-exporter's documents, run by a real Prometheus.
//
// A history of 75 minutes is made on a virtual clock, loaded with promtool, and queried over HTTP;
// the answers must equal the energy of the processes in the simulator.  All processes have the same
// intensity and the board's idle power is set aside, so the method itself has no error here
// (energy_error_test.cc measures its error in other cases).
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/child.h"
#include "tests/energy/history.h"
#include "tests/energy/process_node.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// Unpacked by tools/setup; never installed, since the package would start a service.
constexpr std::string_view kPrometheusTools = "build/tools/prometheus/usr/bin/";

constexpr int64_t kEndS = 75 * 60;
constexpr int64_t kScrapeS = 15;
constexpr double kNjPerJoule = 1e9;
constexpr double kJoulesPerKwh = 3.6e6;

// Rates are exact: loads are whole percents, windows hold whole phases, and the counter is
// refreshed at each read.  The rest is one millijoule at either end of a minute.
constexpr double kRateToleranceW = 2e-3 / 60;
// This driver drops the samples of an ended process, so the last second of its work is charged to
// the others: here 72 W for one second.
constexpr double kLeaverJ = 72;
// Prometheus extends a series that ends within its window by half a scrape interval.
constexpr double kExtrapolatedJ = 72.0 * kScrapeS / 2;
constexpr double kIncreaseToleranceJ = kLeaverJ + kExtrapolatedJ;

constexpr char kQueriedNode[] = R"(format: 1
name: queries
epoch: 2025-03-01T12:00:00Z
noise_mw: 0
refresh_phase: 0ms
gpus:
  - {class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 4}}
  - {class: h100-sxm5-80gb}
pods:
  - name: training-job
    namespace: ml
    containers:
      - {name: main, devices: ["gpu0::0"], processes: [{pid: 11, memory: 9GiB, load: {sm: 30%}}]}
  - name: training-job-123
    namespace: ml
    containers:
      - name: main
        devices: ["gpu0::1"]
        processes:
          - {pid: 12, memory: 9GiB, load: {phases: [{for: 2s}, {for: 3s, sm: 40%}]}}
  - name: chat
    namespace: web
    start: 20min
    containers:
      - {name: main, devices: ["gpu0::2"], processes: [{pid: 13, memory: 9GiB, load: {sm: 10%}}]}
  - name: batch
    namespace: ml
    stop: 50min
    containers:
      - {name: main, devices: ["gpu0::3"], processes: [{pid: 14, memory: 9GiB, load: {sm: 15%}}]}
  - name: alone
    namespace: web
    containers:
      - {name: main, gpus: [1], processes: [{pid: 15, memory: 9GiB, load: {sm: 50%}}]}
)";

// Values by the label that distinguishes the lines of an answer: pod, namespace, or "" for a single
// line.
using Answer = std::map<std::string, double>;

// A Prometheus on the loopback interface with the history; it scrapes nothing.
class PrometheusWith {
 public:
  explicit PrometheusWith(const std::string& history) {
    Child promtool({std::string(kPrometheusTools) + "promtool", "tsdb", "create-blocks-from",
                    "openmetrics", folder_.Write("history.om", history), folder_.path() + "/data"});
    EXPECT_EQ(promtool.Wait(), 0) << promtool.output();
    address_ = "127.0.0.1:" + std::to_string(FreePort());
    prometheus_.emplace(std::vector<std::string>{
        std::string(kPrometheusTools) + "prometheus",
        "--config.file=" + folder_.Write("prometheus.yml", "global: {}\n"),
        "--storage.tsdb.path=" + folder_.path() + "/data", "--storage.tsdb.retention.time=100y",
        "--web.listen-address=" + address_});
    EXPECT_TRUE(prometheus_->AwaitLine("Server is ready").has_value()) << prometheus_->output();
  }

  Answer Ask(const std::string& query, int64_t at_s) const {
    Child curl({"curl", "-s", "-G", "http://" + address_ + "/api/v1/query", "--data-urlencode",
                "query=" + query, "--data-urlencode", "time=" + std::to_string(at_s)});
    curl.Wait();
    boost::json::error_code error;
    const boost::json::value said = boost::json::parse(curl.output(), error);
    Answer answer;
    if (error || said.at("status") != "success") {
      ADD_FAILURE() << query << ": " << curl.output();
      return answer;
    }
    for (const boost::json::value& line : said.at("data").at("result").as_array()) {
      const boost::json::object& labels = line.at("metric").as_object();
      const char* const tells = labels.contains("pod") ? "pod" : "namespace";
      const std::string key =
          labels.contains(tells) ? std::string(labels.at(tells).as_string()) : "";
      const std::string number(line.at("value").at(1).as_string());
      EXPECT_TRUE(answer.emplace(key, std::strtod(number.c_str(), nullptr)).second) << key;
    }
    return answer;
  }

 private:
  const TemporaryFolder folder_;
  std::string address_;
  std::optional<Child> prometheus_;
};

struct QueriedPod {
  const char* name;
  const char* name_space;
  int pid;
};
constexpr std::array<QueriedPod, 5> kQueriedPods = {{{"alone", "web", 15},
                                                     {"batch", "ml", 14},
                                                     {"chat", "web", 13},
                                                     {"training-job", "ml", 11},
                                                     {"training-job-123", "ml", 12}}};

class EnergyQueries : public ::testing::Test {
 protected:
  static ProcessOptions Options() {
    ProcessOptions options;
    options.ledger.idle_power_mw = 70'000;
    return options;
  }

  EnergyQueries() : node_(kQueriedNode, Options()) {
    PageHistory history;
    node_.Read();
    for (int64_t second = 0; second <= kEndS; ++second) {
      if (second % kScrapeS == 0) {
        history.Add(node_.page()->openmetrics(), node_.stamp_us());
      }
      if (second < kEndS) {
        node_.Pass(seconds(1));
      }
    }
    prometheus_.emplace(history.Text());
  }

  // The energy of the process's own work in the last `back_s` seconds.
  double DrawnJ(int pid, int64_t back_s) const {
    const sim::TimeUs now = node_.now();
    return static_cast<double>(node_.world().ProcessEnergyNj(pid, now) -
                               node_.world().ProcessEnergyNj(pid, now - back_s * sim::kSecondUs)) /
           kNjPerJoule;
  }
  double Watts(int pid, int64_t back_s) const {
    return DrawnJ(pid, back_s) / static_cast<double>(back_s);
  }
  // The share of the last second in which a kernel of the process ran.
  double SmShare(int pid) const {
    const sim::TimeUs now = node_.now();
    const sim::Int128 ppm_us =
        node_.world().IntegrateProcess(sim::Integral::kSmPpmUs, pid, now) -
        node_.world().IntegrateProcess(sim::Integral::kSmPpmUs, pid, now - sim::kSecondUs);
    return static_cast<double>(ppm_us) / 1e12;
  }

  // The value of `measure` for the pods for which `wanted` returns true.
  Answer ByPod(const std::function<bool(const QueriedPod&)>& wanted,
               const std::function<double(int)>& measure) const {
    Answer answer;
    for (const QueriedPod& pod : kQueriedPods) {
      if (wanted(pod)) {
        answer[pod.name] = measure(pod.pid);
      }
    }
    return answer;
  }
  Answer ByNamespace(const std::function<double(int)>& measure) const {
    Answer answer;
    for (const QueriedPod& pod : kQueriedPods) {
      answer[pod.name_space] += measure(pod.pid);
    }
    return answer;
  }
  static Answer Sum(const Answer& answer) {
    double sum = 0;
    for (const auto& [key, number] : answer) {
      sum += number;
    }
    return {{"", sum}};
  }

  void Expect(const std::string& query, const Answer& expected, double tolerance) const {
    const Answer answer = prometheus_->Ask(query, node_.stamp_us() / sim::kSecondUs);
    EXPECT_EQ(answer.size(), expected.size()) << query;
    for (const auto& [key, number] : expected) {
      const auto said = answer.find(key);
      ASSERT_NE(said, answer.end()) << query << ": " << key;
      EXPECT_NEAR(said->second, number, tolerance) << query << ": " << key;
    }
  }

  ProcessNode node_;
  std::optional<PrometheusWith> prometheus_;
};

TEST_F(EnergyQueries, EqualTheSimulatorsTruth) {
  const auto lives = [](const QueriedPod& pod) { return pod.name != std::string_view("batch"); };
  const auto all = [](const QueriedPod& /*pod*/) { return true; };
  const auto named = [](std::string_view name) {
    return [name](const QueriedPod& pod) { return pod.name == name; };
  };
  const auto in_ml = [&](const QueriedPod& pod) {
    return lives(pod) && pod.name_space == std::string_view("ml");
  };
  const auto watts_1m = [this](int pid) { return Watts(pid, 60); };
  const auto watts_5m = [this](int pid) { return Watts(pid, 300); };
  const auto joules_1h = [this](int pid) { return DrawnJ(pid, 3'600); };
  const auto kwh_1h = [&](int pid) { return joules_1h(pid) / kJoulesPerKwh; };
  const auto is_there = [](int pid) { return pid == 14 ? 0.0 : 1.0; };
  const std::string e = "my_gpu_process_energy_joules";

  Expect("rate(" + e + "[1m])", ByPod(lives, watts_1m), kRateToleranceW);
  Expect("rate(" + e + "_total[1m])", ByPod(lives, watts_1m), kRateToleranceW);
  Expect("increase(" + e + "{pod=\"training-job\"}[1h])", ByPod(named("training-job"), joules_1h),
         kLeaverJ);
  Expect("rate(" + e + "{namespace=\"ml\"}[1m])", ByPod(in_ml, watts_1m), kRateToleranceW);
  Expect("sum(rate(" + e + "[1m]))", Sum(ByPod(lives, watts_1m)), 4 * kRateToleranceW);
  Expect("sum by (namespace) (rate(" + e + "[5m]))", ByNamespace(watts_5m), 2 * kRateToleranceW);
  Expect("increase(" + e + "{pod=\"training-job-123\"}[1h]) / 3600000",
         ByPod(named("training-job-123"), kwh_1h), kLeaverJ / kJoulesPerKwh);
  Expect("(increase(" + e + "[1h]) / 3600000) * 0.10",
         ByPod(all, [&](int pid) { return 0.10 * kwh_1h(pid); }),
         0.10 * kIncreaseToleranceJ / kJoulesPerKwh);
  Expect("my_gpu_process_sm_utilization_ratio / rate(" + e + "[1m])",
         ByPod(lives, [&](int pid) { return SmShare(pid) / Watts(pid, 60); }), 1e-8);
  Expect("topk(10, rate(" + e + "[5m]))", ByPod(lives, watts_5m), kRateToleranceW);
  Expect("sum(my_gpu_process_active)", Sum(ByPod(all, is_there)), 0);
  Expect("sum by (namespace) (my_gpu_process_active)", ByNamespace(is_there), 0);
  Expect("sum by (pod) (rate(podgpu_pod_gpu_energy_joules_total[1m])) > 0", ByPod(lives, watts_1m),
         kRateToleranceW);
  Expect("sum by (pod) (rate(podgpu_process_energy_joules_total{method=\"exclusive\"}[1m])) > 0",
         ByPod(named("alone"), watts_1m), kRateToleranceW);
  const double boards_w = 2 * 70;
  Expect("sum(rate(podgpu_gpu_energy_by_method_joules_total[1m])) - " + std::to_string(boards_w),
         Sum(ByPod(lives, watts_1m)), 12 * kRateToleranceW);
}

}  // namespace
}  // namespace podgpu
