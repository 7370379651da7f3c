// The page of processes while the driver fails, lies, drops data or is reloaded: no line falls, no
// process is charged more than was used, parts add up, and afterwards all continues.
#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/metric_page.h"
#include "tests/energy/process_node.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr char kOfProcesses[] = "my_gpu_process_energy_joules";
constexpr char kOfProcessesByMethod[] = "podgpu_process_energy_joules_total";
constexpr char kOfPods[] = "podgpu_pod_gpu_energy_joules_total";
constexpr char kOfDevices[] = "podgpu_gpu_energy_by_method_joules_total";

// GPU 0: two lasting processes, one that starts and ends between readings, one outside containers.
// GPU 1: one process.
constexpr char kBusyNode[] = R"(format: 1
name: busy
epoch: 2025-03-01T12:00:00Z
noise_mw: 0
refresh_phase: 0ms
gpus:
  - {class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 4}}
  - {class: h100-sxm5-80gb}
pods:
  - name: a
    containers:
      - name: main
        devices: ["gpu0::0"]
        processes:
          - {pid: 31, memory: 9GiB, load: {phases: [{for: 2s, sm: 50%, mem: 20%}, {for: 1s}]}}
  - name: b
    containers:
      - {name: main, devices: ["gpu0::1"], processes: [{pid: 32, memory: 9GiB, load: {sm: 20%}}]}
  - name: c
    containers:
      - {name: main, gpus: [1], processes: [{pid: 33, memory: 9GiB, load: {sm: 50%}}]}
churn:
  - template: brief
    every: 9s
    life: 2500ms
    start: 400ms
    devices: ["gpu0::2"]
    memory: 2GiB
    load: {sm: 30%, mem: 10%}
orphans:
  - {pid: 34, gpu: 0, memory: 1GiB, load: {sm: 5%}}
)";

struct FaultRow {
  const char* name;
  const char* text;         // Added to the scenario.
  bool is_forgotten;        // The counter restarts, so the energy of that time is lost.
  const char* seen_method;  // Grows on GPU 0 during the fault.
};

constexpr FaultRow kFaultRows[] = {
    {"Nothing", "", false, "sm_share"},
    {"DriverThatExaggerates", "quirks: [size_100, dead_pids, over_100]\n", false, "sm_share"},
    {"DriverReload", "faults: [{at: 20s, kind: driver_reload, for: 5s}]\n", true, "sm_share"},
    {"LostGpu", "faults: [{at: 20s, kind: gpu_lost, gpu: 0, for: 10s}]\n", false, "unattributed"},
    {"ClockSetBack", "faults: [{at: 20s, kind: clock_jump, s: -3600}]\n", false, "sm_share"},
    {"ClockSetForward", "faults: [{at: 20s, kind: clock_jump, s: 86400}]\n", false, "sm_share"},
    {"ClockSetToAndFro", "faults: [{at: 20s, kind: clock_jump, s: 7200, for: 5s}]\n", false,
     "sm_share"},
    {"CounterOfAllOnes",
     "faults: [{at: 20s, kind: garbage, calls: [nvmlDeviceGetTotalEnergyConsumption], for: 10s}]\n",
     false, "sm_share"},
    {"CounterThatFails",
     "faults: [{at: 20s, kind: error, calls: [nvmlDeviceGetTotalEnergyConsumption], code: 999, "
     "for: 10s}]\n",
     false, "sm_share"},
    {"SamplesOfAllOnes",
     "faults: [{at: 20s, kind: garbage, calls: [nvmlDeviceGetProcess*Utilization*], for: 10s}]\n",
     false, "unattributed"},
    {"SamplesThatFail",
     "faults: [{at: 20s, kind: error, calls: [nvmlDeviceGetProcess*Utilization*], code: 999, for: "
     "10s}]\n",
     false, "unattributed"},
    {"ListsOfAllOnes",
     "faults: [{at: 20s, kind: garbage, calls: [nvmlDeviceGet*RunningProcesses*], for: 10s}]\n",
     false, "sm_share"},
    {"ListsThatFail",
     "faults: [{at: 20s, kind: error, calls: [nvmlDeviceGet*RunningProcesses*], code: 999, for: "
     "10s}]\n",
     false, "unattributed"},
    {"NobodyMayAsk",
     "faults: [{at: 20s, kind: no_permission, calls: [nvmlDeviceGet*Process*], for: 10s}]\n", false,
     "unattributed"},
};

class ProcessFaults : public testing::TestWithParam<FaultRow> {
 protected:
  static constexpr int kFaultBeginS = 20;
  static constexpr int kFaultEndS = 30;
  static constexpr int kDeviceScanS = 6;  // Until the next device scan after devices were missing.
  static constexpr int kLastS = 50;
  static constexpr int kParsedEveryS = 5;  // Parsing takes most of the test's time.

  ProcessFaults() : node_(std::string(kBusyNode) + GetParam().text, Options()) {
    node_.Read();
    for (int gpu = 0; gpu < 2; ++gpu) {
      first_mj_[gpu] = node_.world().EnergyCounterMj(gpu, node_.now());
    }
  }

  static ProcessOptions Options() {
    ProcessOptions options;
    options.table.retention = std::chrono::hours(1);  // Keeps all rows, so they can be added up.
    return options;
  }

  MetricPage Page() const { return MetricPage(std::string(node_.page()->text())); }
  static int64_t MjOf(const MetricPage& page, const char* family, int gpu,
                      const std::string& label = "") {
    return std::llround(1e3 * page.Sum(family, {"gpu=\"" + std::to_string(gpu) + '"', label}));
  }
  // The energy of the GPU since the first reading, independent of its counter, to a millijoule.
  int64_t TrueMj(int gpu, int from_s, int to_s) const {
    const sim::Int128 drawn_nj = node_.world().IntegrateOver(
        sim::Integral::kEnergyNj, {gpu, -1, -1}, from_s * sim::kSecondUs, to_s * sim::kSecondUs);
    return static_cast<int64_t>(drawn_nj / 1'000'000);
  }

  void PassASecond() {
    ++second_;
    node_.Pass(seconds(1));
    const MetricPage page = Page();
    if (second_ % kParsedEveryS == 0) {
      const auto parsed = ParseTextStrictly(page.text());
      ASSERT_TRUE(parsed.ok()) << parsed.status();
    }
    ExpectThatNothingFalls(page);
    for (int gpu = 0; gpu < 2; ++gpu) {
      const int64_t of_all_mj = MjOf(page, kOfDevices, gpu);
      EXPECT_EQ(MjOf(page, kOfProcesses, gpu) +
                    MjOf(page, kOfDevices, gpu, "method=\"unattributed\"") +
                    MjOf(page, kOfDevices, gpu, "method=\"outside_kubernetes\""),
                of_all_mj)
          << "GPU " << gpu << ", second " << second_;
      EXPECT_EQ(MjOf(page, kOfProcessesByMethod, gpu), MjOf(page, kOfProcesses, gpu));
      EXPECT_EQ(MjOf(page, kOfPods, gpu), MjOf(page, kOfProcesses, gpu)) << "second " << second_;
      EXPECT_LE(of_all_mj, TrueMj(gpu, 0, second_) + 1) << "GPU " << gpu << ", second " << second_;
    }
  }

  void ExpectThatNothingFalls(const MetricPage& page) {
    for (const char* family : {kOfProcesses, kOfProcessesByMethod, kOfPods, kOfDevices}) {
      for (const std::string_view line : page.Lines(family)) {
        const size_t blank = line.rfind(' ');
        const double number = std::strtod(std::string(line.substr(blank + 1)).c_str(), nullptr);
        double& before = before_[std::string(line.substr(0, blank))];
        EXPECT_GE(number, before) << line << ", second " << second_;
        before = number;
      }
    }
  }

  ProcessNode node_;
  std::map<int, int64_t> first_mj_;
  std::map<std::string, double> before_;  // By series.
  int second_ = 0;
};

INSTANTIATE_TEST_SUITE_P(All, ProcessFaults, testing::ValuesIn(kFaultRows),
                         [](const auto& row) { return row.param.name; });

TEST_P(ProcessFaults, LoseNoMillijouleOfTheCounter) {
  const std::string method = "method=\"" + std::string(GetParam().seen_method) + '"';
  while (second_ < kFaultBeginS) {
    PassASecond();
  }
  const int64_t seen_before_mj = MjOf(Page(), kOfDevices, 0, method);
  while (second_ < kFaultEndS + kDeviceScanS) {
    PassASecond();
  }
  EXPECT_GT(MjOf(Page(), kOfDevices, 0, method), seen_before_mj);
  const MetricPage when_over = Page();
  while (second_ < kLastS) {
    PassASecond();
  }
  const MetricPage last = Page();
  for (const char* pod : {"a", "b", "c"}) {
    const std::vector<std::string> label = {"pod=\"" + std::string(pod) + '"'};
    EXPECT_EQ(last.Value("my_gpu_process_active", label), 1) << pod;
    EXPECT_GT(last.Value(kOfProcesses, label), when_over.Value(kOfProcesses, label)) << pod;
  }
  for (int gpu = 0; gpu < 2; ++gpu) {
    const int64_t of_all_mj = MjOf(last, kOfDevices, gpu);
    if (GetParam().is_forgotten) {
      EXPECT_GE(of_all_mj, TrueMj(gpu, 0, kLastS) - TrueMj(gpu, kFaultBeginS - 1, kFaultEndS));
    } else {
      EXPECT_EQ(of_all_mj, node_.world().EnergyCounterMj(gpu, node_.now()) - first_mj_.at(gpu));
    }
  }
}

}  // namespace
}  // namespace podgpu
