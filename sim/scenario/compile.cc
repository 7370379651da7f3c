#include "sim/scenario/compile.h"

#include <algorithm>
#include <string>

#include "sim/scenario/compile_parts.h"
#include "sim/world/identity.h"

namespace podgpu::sim {

namespace {

constexpr int64_t kLeastOffsetMj = INT64_C(1'000'000'000'000);
constexpr uint64_t kOffsetSpreadMj = 500'000'000'000U;
constexpr std::array<TimeUs, 3> kNoisePeriodsUs = {700'000, 3'100'000, 13'700'000};
constexpr std::array<int64_t, 3> kNoiseShares = {50, 30, 20};  // Percent.

TextRef SerialOf(Compilation& work, const GpuClass& figures, size_t gpu) {
  if ((figures.flags & kHasEcc) == 0) {
    return work.image.Text("");  // GeForce boards report none.
  }
  constexpr uint64_t kLeast = 1'320'000'000'000U;
  constexpr uint64_t kSpread = 400'000'000'000U;
  const uint64_t key = KeyOf(KeyOf(work.scenario.seed, Purpose::kGpuSerial), uint64_t{gpu});
  return work.image.Text(std::to_string(kLeast + key % kSpread));
}

std::array<NoiseWave, 3> NoiseOf(const Scenario& scenario, size_t gpu) {
  std::array<NoiseWave, 3> waves{};
  const uint64_t key = KeyOf(KeyOf(scenario.seed, Purpose::kNoisePhase), uint64_t{gpu});
  for (size_t i = 0; i < waves.size(); ++i) {
    const TimeUs period = kNoisePeriodsUs.at(i);
    const uint64_t phase = KeyOf(key, uint64_t{i}) % static_cast<uint64_t>(period);
    waves.at(i) = {scenario.noise_mw * kNoiseShares.at(i) / 100, period,
                   static_cast<TimeUs>(phase)};
  }
  return waves;
}

// The parts of a GPU's record that follow from its class.
void SetFigures(const GpuClass& figures, const Scenario& scenario, GpuRecord& record) {
  record.idle_mw = figures.idle_mw;
  record.limit_mw = figures.limit_mw;
  record.min_limit_mw = figures.min_limit_mw;
  record.max_limit_mw = figures.max_limit_mw;
  record.memory_total_bytes = figures.memory_total_mib * kMibBytes;
  record.memory_reserved_bytes = figures.memory_reserved_mib * kMibBytes;
  record.bar1_total_bytes = figures.bar1_total_mib * kMibBytes;
  record.time_constant_us = figures.time_constant_s * 1e6;
  record.compute_major = figures.compute_major;
  record.compute_minor = figures.compute_minor;
  record.architecture_number = figures.architecture_number;
  record.max_sm_clock_mhz = figures.max_sm_clock_mhz;
  record.max_memory_clock_mhz = figures.max_memory_clock_mhz;
  record.idle_sm_clock_mhz = figures.idle_sm_clock_mhz;
  record.sm_count = figures.sm_count;
  record.slowdown_temperature_c = figures.slowdown_temperature_c;
  record.shutdown_temperature_c = figures.shutdown_temperature_c;
  record.nvlink_count = scenario.nvlink_per_gpu < 0
                            ? figures.nvlink_count
                            : std::min(figures.nvlink_count, scenario.nvlink_per_gpu);
  record.pcie_generation = figures.pcie_generation;
  record.pcie_width = 16;
  record.flags = figures.flags | (figures.mig_table.empty() ? 0 : kMigCapable);
}

void WriteGpu(Compilation& work, size_t gpu) {
  const GpuPlan& plan = work.gpus[gpu];
  const GpuClass& figures = plan.board->figures;
  ImageBuilder& image = work.image;
  const std::string generation = std::to_string(86 + figures.architecture_number);
  GpuRecord record{};
  SetFigures(figures, work.scenario, record);
  record.flags |= plan.spec->sharing == Sharing::kMps ? kSharedByMps : 0;
  record.uuid = image.Text(plan.uuid);
  record.pci_bus_id = image.Text(plan.spec->bus_id);
  record.serial = SerialOf(work, figures, gpu);
  record.model = image.Text(plan.spec->model);
  record.brand = image.Text(figures.brand);
  record.vbios = image.Text(generation + ".00.74.00.01");
  record.inforom_image = image.Text("G520.0200.00.05");
  record.architecture = image.Text(figures.architecture);
  record.minor_number = plan.spec->minor_number;
  const auto derived = [&](Purpose purpose, uint64_t spread) {
    return static_cast<int64_t>(KeyOf(KeyOf(work.scenario.seed, purpose), uint64_t{gpu}) % spread);
  };
  record.energy_offset_mj = kLeastOffsetMj + derived(Purpose::kEnergyOffset, kOffsetSpreadMj);
  record.refresh_phase_us = work.scenario.refresh_phase_us < 0
                                ? derived(Purpose::kRefreshPhase, kRefreshUs)
                                : work.scenario.refresh_phase_us;
  record.noise = NoiseOf(work.scenario, gpu);
  record.first_channel = image.ReserveChannels(kEntityChannelCount);
  if (figures.idle_mw <= work.scenario.noise_mw) {
    work.Fail(plan.spec->place, "idle power " + std::to_string(figures.idle_mw) +
                                    " mW must be above noise_mw " +
                                    std::to_string(work.scenario.noise_mw));
  }
  image.gpus.push_back(record);
}

void WriteNode(Compilation& work) {
  const Scenario& scenario = work.scenario;
  ImageBuilder& image = work.image;
  image.node = {
      .name = image.Text(scenario.node_name),
      .scenario = image.Text(scenario.name),
      .driver = image.Text(scenario.driver),
      .nvml = image.Text(scenario.nvml),
      .dcgm = image.Text(scenario.dcgm),
      .engine_tcp = image.Text(scenario.engine_tcp),
      .engine_unix = image.Text(scenario.engine_unix),
      .cgroup_driver = image.Text(scenario.cgroup_driver),
      .cgroup_runtime = image.Text(scenario.cgroup_runtime),
      .cgroup_seen_from = image.Text(scenario.cgroup_seen_from),
      .epoch_unix_us = scenario.epoch_unix_us,
      .cuda = scenario.cuda,
      .cgroup_version = scenario.cgroup_version,
      .flags = (scenario.v1 ? kNodeHasV1 : 0) | (scenario.v1alpha1 ? kNodeHasV1Alpha1 : 0) |
               (scenario.inventory ? kNodeHasInventory : 0) |
               (scenario.profiling_module ? kNodeHasProfilingModule : 0) |
               (scenario.accounting ? kNodeAccounts : 0) | (scenario.quirks * kNodeFirstQuirk),
      .nvswitch_count = scenario.nvswitch_count,
      .cpu_cores = {}};
  image.node.flags |= scenario.keeps_finished ? kNodeKeepsFinished : 0;
  image.node.flags |= scenario.two_numa_nodes ? kNodeTwoNumaNodes : 0;
  std::copy(scenario.cpu_cores.begin(), scenario.cpu_cores.end(), image.node.cpu_cores.begin());
}

}  // namespace

void Compilation::Fail(const Place& place, const std::string& what) const {
  errors->Add(place.line, place.column, place.path, what);
}

void Compilation::Fail(const FaultSpec& fault, const std::string& what) const {
  (fault.from_control ? control_errors : errors)
      ->Add(fault.place.line, fault.place.column, fault.place.path, what);
}

std::string Seconds(TimeUs t) {
  if (t == kForever) {
    return "the end";
  }
  std::string text = std::to_string(t / kSecondUs);
  if (t % kSecondUs != 0) {
    text += "." + std::to_string(kSecondUs + t % kSecondUs).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + " s";
}

CompileResult CompileScenario(std::string_view text, std::string_view file) {
  return CompileScenario(text, file, "", "");
}

CompileResult CompileScenario(std::string_view text, std::string_view file,
                              std::string_view control, std::string_view control_file) {
  ScenarioErrors errors(file);
  ScenarioErrors control_errors(control_file);
  Compilation work;
  work.errors = &errors;
  work.control_errors = &control_errors;
  work.scenario = ReadScenario(text, errors);
  if (!control.empty() && errors.empty()) {
    ReadControlLog(control, control_errors, work.scenario);
  }
  const auto clean = [&] { return errors.empty() && control_errors.empty(); };
  if (clean()) {
    PlanFaults(work);
  }
  if (clean()) {
    PlanGpus(work);
  }
  if (clean()) {
    for (size_t gpu = 0; gpu < work.gpus.size(); ++gpu) {
      WriteGpu(work, gpu);
    }
    WriteLayouts(work);
    PlanPods(work);
  }
  for (size_t gpu = 0; clean() && gpu < work.gpus.size(); ++gpu) {
    WriteEras(work, gpu);
  }
  WriteNode(work);
  WriteFaults(work);
  CompileResult result;
  result.errors = errors.Sorted();
  for (std::string& line : control_errors.Sorted()) {
    result.errors.push_back(std::move(line));
  }
  if (result.errors.empty()) {
    const uint64_t hash = KeyOf(KeyOf(uint64_t{0}, text), control);
    result.image = work.image.Finish(hash, work.scenario.seed);
  }
  return result;
}

}  // namespace podgpu::sim
