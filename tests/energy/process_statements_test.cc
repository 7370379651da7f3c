// Rules for the page of processes from one reading to the next, on the whole path.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/metric_page.h"
#include "tests/energy/process_node.h"

namespace podgpu {
namespace {

constexpr char kEnergyOfProcesses[] = "my_gpu_process_energy_joules";
constexpr char kNodeWithAVisitor[] = R"(format: 1
name: visitor
epoch: 2025-03-01T12:00:00Z
noise_mw: 0
refresh_phase: 0ms
gpus: [{class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 2}}]
pods:
  - name: host
    containers:
      - {name: main, devices: ["gpu0::0"], processes: [{pid: 21, memory: 9GiB, load: {sm: 30%}}]}
  - name: visitor
    start: 10400ms
    stop: 20400ms
    containers:
      - {name: main, devices: ["gpu0::1"], processes: [{pid: 22, memory: 9GiB, load: {sm: 10%}}]}
)";

// The error of upstream's estimator when a second process starts: its counter jumps or freezes, and
// a label of the first process changes.
TEST(ProcessStatements, CountersAndLabelsStaySteadyWhenSharingBeginsAndEnds) {
  constexpr double kIdleW = 70;
  constexpr double kAloneW = kIdleW + 0.3 * 480;
  constexpr double kSharedW = kIdleW + 0.4 * 480;
  ProcessNode node(kNodeWithAVisitor);
  node.Read();
  std::set<std::string> series;
  double before = 0;
  std::set<std::string> of_visitor;
  for (int second = 1; second <= 30; ++second) {
    node.Pass(std::chrono::seconds(1));
    const MetricPage page{std::string(node.page()->text())};
    const auto lines = page.Lines(kEnergyOfProcesses, {"pod=\"host\""});
    ASSERT_EQ(lines.size(), 1U);
    series.emplace(lines.front().substr(0, lines.front().rfind(' ')));
    for (const std::string_view line : page.Lines(kEnergyOfProcesses, {"pod=\"visitor\""})) {
      of_visitor.emplace(line.substr(0, line.rfind(' ')));
    }
    const double now = *page.Value(kEnergyOfProcesses, {"pod=\"host\""});
    const bool is_shared = second > 11 && second <= 20;
    const bool is_between = second == 11 || second == 21;
    const double expected_j = is_shared ? kSharedW * 0.75 : kAloneW;
    // Where the visitor starts or ends between two readings, rounding to whole percents and partial
    // seconds decides how the GPU's energy is divided.
    EXPECT_GE(now - before, is_between ? kSharedW * 0.75 - 1 : expected_j - 1e-3) << second;
    EXPECT_LE(now - before, is_between ? kSharedW : expected_j + 1e-3) << second;
    before = now;
  }
  EXPECT_EQ(series.size(), 1U);
  EXPECT_EQ(of_visitor.size(), 1U) << "its labels stay the same after its end";
}

// Two processes of one instance that do different work, beside one alone in another instance.
constexpr char kSharedInstance[] = R"(format: 1
name: instance
epoch: 2025-03-01T12:00:00Z
noise_mw: 0
refresh_phase: 0ms
gpus: [{class: h100-sxm5-80gb, mig: [3g.40gb, 2g.20gb]}]
pods:
  - name: unlike
    containers:
      - name: main
        devices: [gpu0/mig0]
        processes:
          - {pid: 41, memory: 2GiB, load: {sm: 85%}}
          - {pid: 42, memory: 2GiB, load: {sm: 15%}}
  - name: alone
    containers:
      - {name: main, devices: [gpu0/mig1], processes: [{pid: 43, memory: 2GiB, load: {sm: 50%}}]}
)";

constexpr double kNoLine = -1;  // Nothing was charged by that method.
double ChargedJ(const ProcessNode& node, const char* pid, const char* method) {
  const MetricPage page{std::string(node.page()->text())};
  return page
      .Value("podgpu_process_energy_joules_total",
             {"pid=\"" + std::string(pid) + '"', "method=\"" + std::string(method) + '"'})
      .value_or(kNoLine);
}

TEST(ProcessStatements, ProcessesOfAnInstanceAreChargedByTheirSamplesIfTheDriverHasThem) {
  ProcessNode node(std::string(kSharedInstance) + "quirks: [mig_records]\n");
  for (int second = 0; second <= 30; ++second) {
    node.Pass(std::chrono::seconds(1));
  }
  const double busy_j = ChargedJ(node, "41", "mig_activity");
  EXPECT_GT(busy_j, 1'000);
  EXPECT_NEAR(ChargedJ(node, "42", "mig_activity") / busy_j, 15.0 / 85.0, 0.01);
  EXPECT_EQ(ChargedJ(node, "41", "equal"), kNoLine);
}

TEST(ProcessStatements, ProcessesOfAnInstanceGetEqualPartsWithoutSamples) {
  ProcessNode node(kSharedInstance);
  for (int second = 0; second <= 30; ++second) {
    node.Pass(std::chrono::seconds(1));
  }
  EXPECT_GT(ChargedJ(node, "41", "equal"), 1'000);
  EXPECT_NEAR(ChargedJ(node, "41", "equal"), ChargedJ(node, "42", "equal"), 1);
  EXPECT_EQ(ChargedJ(node, "43", "equal"), kNoLine);
  EXPECT_GT(ChargedJ(node, "43", "mig_activity"), 500) << "the energy of an instance is measured";
}

// It starts and ends between two readings; this driver reports the samples of ended processes.
TEST(ProcessStatements, AProcessThatEndsBetweenTwoReadingsIsChargedItsLastWork) {
  constexpr double kSharedW = 70 + 0.4 * 480;
  constexpr double kStayS = 10;
  ProcessNode node(std::string(kNodeWithAVisitor) + "quirks: [dead_pids]\n");
  node.Read();
  for (int second = 1; second <= 30; ++second) {
    node.Pass(std::chrono::seconds(1));
  }
  const MetricPage page{std::string(node.page()->text())};
  EXPECT_EQ(page.Value("my_gpu_process_active", {"pod=\"visitor\""}), 0);
  // Its work in the last part of a second counts for the whole second at most.
  const double charged_j = page.Value(kEnergyOfProcesses, {"pod=\"visitor\""}).value_or(0);
  EXPECT_GE(charged_j, 0.98 * kSharedW * 0.25 * kStayS);
  EXPECT_LE(charged_j, kSharedW * 0.25 * (kStayS + 1));
}

}  // namespace
}  // namespace podgpu
