#include "sim/program/truth.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

#include "sim/program/units.h"

namespace podgpu::sim {
namespace {

constexpr int64_t kMicrosecondsPerSecond = 1'000'000;  // The world integrates B/s over us.

struct ProcessTruth {
  int gpu = 0;
  std::string pod_namespace, pod, container;
  Int128 resident_idle_nj = 0;
};

// Keyed by pid.
using ProcessTruths = std::map<int, ProcessTruth>;

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += absl::StrFormat("\\u%04x", static_cast<int>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string Amount(std::string_view name, Int128 number) {
  return absl::StrFormat("\"%s\":\"%s\"", name, FormatInteger(number));
}

// Adds the processes that live from `begin` to `end`, when no process starts or ends, and divides
// the idle energy of each GPU among them.
void AddResidents(const World& world, TimeUs begin, TimeUs end, ProcessTruths& processes) {
  std::map<int, std::vector<ProcessTruth*>> residents;
  for (int i = 0; i < world.process_count(begin); ++i) {
    const ProcessFacts facts = world.process(i, begin);
    ProcessTruth& process = processes[facts.pid];
    process.gpu = facts.device.gpu;
    process.pod_namespace = facts.pod_namespace;
    process.pod = facts.pod.view();
    process.container = facts.container;
    residents[facts.device.gpu].push_back(&process);
  }
  for (const auto& [gpu, all] : residents) {
    const Int128 idle_nj = world.IdleEnergyNj(gpu, end) - world.IdleEnergyNj(gpu, begin);
    for (ProcessTruth* process : all) {
      process->resident_idle_nj += idle_nj / static_cast<int64_t>(all.size());
    }
  }
}

std::string GpuJson(const World& world, int gpu, TimeUs from, TimeUs at) {
  const auto difference = [&](Integral what) {
    const DeviceRef device{gpu, -1, -1};
    return world.Integrate(what, device, at) - world.Integrate(what, device, from);
  };
  return absl::StrFormat(
      "{\"gpu\":%d,\"uuid\":%s,%s,%s,%s,%s,%s,%s}", gpu, Quoted(world.gpu(gpu).uuid),
      Amount("energy_nj", difference(Integral::kEnergyNj)),
      Amount("idle_nj", world.IdleEnergyNj(gpu, at) - world.IdleEnergyNj(gpu, from)),
      Amount("noise_nj", world.NoiseEnergyNj(gpu, at) - world.NoiseEnergyNj(gpu, from)),
      Amount("sm_ppm_us", difference(Integral::kSmPpmUs)),
      Amount("pcie_rx_bytes", difference(Integral::kPcieRxBytes) / kMicrosecondsPerSecond),
      Amount("pcie_tx_bytes", difference(Integral::kPcieTxBytes) / kMicrosecondsPerSecond));
}

std::string ProcessJson(const World& world, int pid, const ProcessTruth& process, TimeUs from,
                        TimeUs at) {
  return absl::StrFormat(
      "{\"pid\":%d,\"gpu\":%d,\"namespace\":%s,\"pod\":%s,\"container\":%s,%s,%s,%s}", pid,
      process.gpu, Quoted(process.pod_namespace), Quoted(process.pod), Quoted(process.container),
      Amount("energy_nj", world.ProcessEnergyNj(pid, at) - world.ProcessEnergyNj(pid, from)),
      Amount("resident_idle_nj", process.resident_idle_nj),
      Amount("sm_ppm_us", world.IntegrateProcess(Integral::kSmPpmUs, pid, at) -
                              world.IntegrateProcess(Integral::kSmPpmUs, pid, from)));
}

}  // namespace

std::string TruthJson(const World& world, TimeUs from, TimeUs at) {
  ProcessTruths processes;
  for (TimeUs begin = from; begin < at;) {
    const TimeUs end = std::min(at, world.NextPodChange(begin));
    AddResidents(world, begin, end, processes);
    begin = end;
  }
  std::string json = absl::StrFormat("{\"scenario\":%s,\"from_us\":%d,\"at_us\":%d,\"gpus\":[",
                                     Quoted(world.scenario_name()), from, at);
  for (int gpu = 0; gpu < world.gpu_count(); ++gpu) {
    json += (gpu == 0 ? "\n" : ",\n") + GpuJson(world, gpu, from, at);
  }
  json += "\n],\"processes\":[";
  const char* separator = "\n";
  for (const auto& [pid, process] : processes) {
    json += std::exchange(separator, ",\n") + ProcessJson(world, pid, process, from, at);
  }
  return json + "\n]}\n";
}

}  // namespace podgpu::sim
