#include "tests/energy/energy_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "tests/e2e/metric_page.h"
#include "tests/energy/process_node.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr int kReadings = 300;
constexpr double kMjPerJ = 1e3;
constexpr double kNjPerJ = 1e9;
constexpr sim::TimeUs kDcgmWindowUs = 30'000'000;
constexpr char kEnergyFamily[] = "my_gpu_process_energy_joules_total";
constexpr char kMethodFamily[] = "podgpu_gpu_energy_by_method_joules_total";

// The epoch is fixed, so the result does not depend on the time of the test.
constexpr std::array<EnergyScenario, 5> kScenarios = {{
    {"alone", "one process, which works for 4 s and pauses for 2 s", R"(format: 1
name: alone
epoch: 2025-03-01T12:00:00Z
noise_mw: 0
refresh_phase: 0ms
gpus: [{class: h100-sxm5-80gb}]
pods:
  - name: alone
    containers:
      - name: main
        gpus: [0]
        processes:
          - {pid: 101, memory: 8GiB, load: {phases: [{for: 4s, sm: 60%, mem: 30%}, {for: 2s}]}}
)"},
    {"two alike", "two processes that do the same work at different times", R"(format: 1
name: alike
epoch: 2025-03-01T12:00:00Z
noise_mw: 0
refresh_phase: 0ms
gpus: [{class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 2}}]
pods:
  - name: left
    containers:
      - name: main
        devices: ["gpu0::0"]
        processes:
          - {pid: 101, memory: 8GiB, load: {phases: [{for: 4s, sm: 45%, mem: 20%}, {for: 2s}]}}
  - name: right
    start: 3s
    containers:
      - name: main
        devices: ["gpu0::1"]
        processes:
          - {pid: 102, memory: 8GiB, load: {phases: [{for: 4s, sm: 45%, mem: 20%}, {for: 2s}]}}
)"},
    {"two unlike",
     "each has the GPU half of the time; while one works the GPU draws 400 W, while the other does "
     "150 W",
     R"(format: 1
name: unlike
epoch: 2025-03-01T12:00:00Z
noise_mw: 0
refresh_phase: 0ms
classes: {board: {base: h100-sxm5-80gb, idle_w: 75}}
gpus: [{class: board, sharing: {kind: time_slicing, replicas: 2}}]
pods:
  - name: hungry
    containers:
      - name: main
        devices: ["gpu0::0"]
        processes: [{pid: 101, memory: 8GiB, k_w: 325, m_w: 0, load: {sm: 50%}}]
  - name: frugal
    containers:
      - name: main
        devices: ["gpu0::1"]
        processes: [{pid: 102, memory: 8GiB, k_w: 75, m_w: 0, load: {sm: 50%}}]
)",
     75},
    {"bursty", "one works steadily, one for 200 ms in each 3 s, one lives for 7 s in each 20 s",
     R"(format: 1
name: bursty
epoch: 2025-03-01T12:00:00Z
noise_mw: 0
refresh_phase: 0ms
gpus: [{class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 4}}]
pods:
  - name: steady
    containers:
      - name: main
        devices: ["gpu0::0"]
        processes: [{pid: 101, memory: 8GiB, load: {sm: 20%, mem: 10%}}]
  - name: bursts
    containers:
      - name: main
        devices: ["gpu0::1"]
        processes:
          - pid: 102
            memory: 8GiB
            load: {phases: [{for: 200ms, sm: 75%, mem: 40%}, {for: 2800ms}]}
churn:
  - template: brief
    every: 20s
    life: 7s
    start: 5300ms
    devices: ["gpu0::2"]
    memory: 2GiB
    load: {sm: 40%, mem: 20%}
)"},
    {"MIG", "three instances: a busy large one, a small one half as busy, and an idle one",
     R"(format: 1
name: mig
epoch: 2025-03-01T12:00:00Z
noise_mw: 0
refresh_phase: 0ms
gpus: [{class: h100-sxm5-80gb, mig: [3g.40gb, 2g.20gb, 1g.10gb]}]
pods:
  - name: large
    containers:
      - name: main
        devices: [gpu0/mig0]
        processes: [{pid: 101, memory: 8GiB, load: {sm: 90%, mem: 50%}}]
  - name: small
    containers:
      - name: main
        devices: [gpu0/mig1]
        processes:
          - {pid: 102, memory: 8GiB, load: {phases: [{for: 2s, sm: 80%, mem: 40%}, {for: 2s}]}}
  - name: idle
    containers:
      - name: main
        devices: [gpu0/mig2]
        processes: [{pid: 103, memory: 2GiB, load: {sm: 0%}}]
)"},
}};

double Joules(sim::Int128 energy_nj) { return static_cast<double>(energy_nj) / kNjPerJ; }

// The pods of a churn count as one: "brief-0" and "brief-1" are both "brief".
std::string NameOf(std::string_view pod) { return std::string(pod.substr(0, pod.find('-'))); }

// The true figures of the world, and the figures of other methods for the same processes.
class Truth {
 public:
  explicit Truth(const sim::World& world) : world_(world) {}

  void Add(sim::TimeUs from, sim::TimeUs to) {
    for (sim::TimeUs begin = from; begin < to;) {
      const sim::TimeUs end = std::min(to, world_.NextPodChange(begin));
      AddResidents(begin, end);
      begin = end;
    }
  }

  // By name, in the order of pids.
  std::vector<ProcessFigures> Sums() const {
    std::vector<ProcessFigures> sums;
    for (const auto& [process, figures] : by_process_) {
      const auto known = std::ranges::find(sums, figures.pod, &ProcessFigures::pod);
      ProcessFigures& sum =
          known != sums.end() ? *known : sums.emplace_back(ProcessFigures{.pod = figures.pod});
      sum.own_j += figures.own_j;
      sum.idle_part_j += figures.idle_part_j;
      sum.equal_j += figures.equal_j;
      sum.dcgm_j += figures.dcgm_j;
      sum.dcgm_window_j += figures.dcgm_window_j;
    }
    return sums;
  }

 private:
  double DeviceJ(sim::TimeUs begin, sim::TimeUs end) const {
    return Joules(world_.IntegrateOver(sim::Integral::kEnergyNj, {0, -1, -1}, begin, end));
  }

  // No process starts or ends between `begin` and `end`.
  void AddResidents(sim::TimeUs begin, sim::TimeUs end) {
    const int count = world_.process_count(begin);
    const double idle_j = Joules(world_.IdleEnergyNj(0, end) - world_.IdleEnergyNj(0, begin));
    for (int i = 0; i < count; ++i) {
      const sim::ProcessFacts process = world_.process(i, begin);
      ProcessFigures& figures = by_process_[{process.pid, process.started}];
      figures.pod = NameOf(process.pod.view());
      figures.own_j += Joules(world_.ProcessEnergyNj(process.pid, end) -
                              world_.ProcessEnergyNj(process.pid, begin));
      figures.idle_part_j += idle_j / count;
      figures.equal_j += DeviceJ(begin, end) / count;
      figures.dcgm_j += DeviceJ(begin, end);
      figures.dcgm_window_j = DeviceJ(std::max(process.started, end - kDcgmWindowUs), end);
    }
  }

  const sim::World& world_;
  std::map<std::pair<int, sim::TimeUs>, ProcessFigures> by_process_;
};

ProcessOptions OptionsWith(uint64_t idle_power_mw) {
  ProcessOptions options;
  options.table.retention = std::chrono::hours(1);  // Ended processes stay on the page.
  options.ledger.idle_power_mw = idle_power_mw;
  return options;
}

// The page's energy of the processes of pods with this name, in joules.
double OnPage(const MetricPage& page, const std::string& pod) {
  double sum_j = page.Sum(kEnergyFamily, {"pod=\"" + pod + '"'});
  return sum_j + page.Sum(kEnergyFamily, {"pod=\"" + pod + '-'});
}

// Runs the scenario; fills `figures` except the page's values, unless it is null.
MetricPage LastPage(const EnergyScenario& scenario, uint64_t idle_power_mw,
                    ScenarioFigures* figures) {
  ProcessNode node(scenario.text, OptionsWith(idle_power_mw));
  Truth truth(node.world());
  node.Read();
  const sim::TimeUs begin = node.now();
  const int64_t first_mj = node.world().EnergyCounterMj(0, begin);
  for (int i = 0; i < kReadings; ++i) {
    node.Pass(seconds(1));
  }
  EXPECT_EQ(node.world().EnergyCounterTime(0, node.now()), node.now())
      << "the time is not that of a refresh";
  const int64_t grown_mj = node.world().EnergyCounterMj(0, node.now()) - first_mj;
  MetricPage page{std::string(node.page()->text())};
  EXPECT_EQ(std::llround(page.Sum(kMethodFamily) * kMjPerJ), grown_mj) << scenario.name;
  EXPECT_EQ(std::llround(page.Sum(kEnergyFamily) * kMjPerJ) +
                std::llround(page.Sum(kMethodFamily, {"method=\"unattributed\""}) * kMjPerJ),
            grown_mj)
      << scenario.name;
  if (figures != nullptr) {
    truth.Add(begin, node.now());
    figures->processes = truth.Sums();
    figures->device_j = static_cast<double>(grown_mj) / kMjPerJ;
  }
  return page;
}

}  // namespace

std::span<const EnergyScenario> EnergyScenarios() { return kScenarios; }

ScenarioFigures Measure(const EnergyScenario& scenario) {
  ScenarioFigures figures;
  figures.scenario = scenario;
  const MetricPage as_installed = LastPage(scenario, 0, &figures);
  const MetricPage set_aside = LastPage(scenario, uint64_t{scenario.idle_w} * 1'000, nullptr);
  for (ProcessFigures& process : figures.processes) {
    process.podgpu_j = OnPage(as_installed, process.pod);
    process.set_aside_j = OnPage(set_aside, process.pod);
  }
  return figures;
}

}  // namespace podgpu
