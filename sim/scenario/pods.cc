// Reads a scenario's loads, pods, churns and orphans.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "sim/scenario/parts.h"

namespace podgpu::sim {

namespace {

using Words = std::string_view;

constexpr TimeUs kPhaseStepUs = 100'000;
constexpr int64_t kMostPid = 4'194'304;
constexpr TimeUs kLongestPhaseUs = INT64_C(24) * 3'600 * 1'000'000;
constexpr size_t kMostSuggested = 20;
constexpr size_t kMostChurnName = 40;  // Leaves room for '-' and the cycle number.

// The integrals that a key of a phase sets, and whether its value is a percentage.
struct DemandKey {
  Words name;
  Integral first, second;  // Equal for most keys.
  bool percent;
};
constexpr std::array<DemandKey, 16> kDemandKeys = {{
    {"dec", Integral::kDecoderPpmUs, Integral::kDecoderPpmUs, true},
    {"enc", Integral::kEncoderPpmUs, Integral::kEncoderPpmUs, true},
    {"fp16", Integral::kFp16PpmUs, Integral::kFp16PpmUs, true},
    {"fp32", Integral::kFp32PpmUs, Integral::kFp32PpmUs, true},
    {"fp64", Integral::kFp64PpmUs, Integral::kFp64PpmUs, true},
    {"jpg", Integral::kJpegPpmUs, Integral::kJpegPpmUs, true},
    {"mem", Integral::kDramPpmUs, Integral::kDramPpmUs, true},
    {"nvlink", Integral::kNvlinkTxBytes, Integral::kNvlinkRxBytes, false},
    {"nvlink_rx", Integral::kNvlinkRxBytes, Integral::kNvlinkRxBytes, false},
    {"nvlink_tx", Integral::kNvlinkTxBytes, Integral::kNvlinkTxBytes, false},
    {"ofa", Integral::kOfaPpmUs, Integral::kOfaPpmUs, true},
    {"pcie", Integral::kPcieTxBytes, Integral::kPcieRxBytes, false},
    {"pcie_rx", Integral::kPcieRxBytes, Integral::kPcieRxBytes, false},
    {"pcie_tx", Integral::kPcieTxBytes, Integral::kPcieTxBytes, false},
    {"sm", Integral::kSmPpmUs, Integral::kSmPpmUs, true},
    {"tensor", Integral::kTensorPpmUs, Integral::kTensorPpmUs, true},
}};
constexpr std::array<Words, 18> kPhaseKeys = {
    "for",    "memory",    "dec",       "enc", "fp16", "fp32",    "fp64",    "jpg", "mem",
    "nvlink", "nvlink_rx", "nvlink_tx", "ofa", "pcie", "pcie_rx", "pcie_tx", "sm",  "tensor"};

Demand ReadDemand(const Cursor& phase) {
  Demand demand;
  for (const DemandKey& key : kDemandKeys) {
    const Cursor value = phase.Key(key.name);
    if (!value.present()) {
      continue;
    }
    const int64_t rate = key.percent ? value.Percent(0) : value.BytesPerSecond(0);
    demand.rates.at(static_cast<size_t>(key.first)) = rate;
    demand.rates.at(static_cast<size_t>(key.second)) = rate;
  }
  demand.memory_bytes = phase.Key("memory").Bytes(-1);
  return demand;
}

// A list of phases; neighbours with equal demands are joined.
std::vector<PhaseSpec> ReadPhases(const Cursor& phases) {
  std::vector<PhaseSpec> specs;
  for (const Cursor& entry : phases.Elements()) {
    if (!entry.ExpectKeys(kPhaseKeys)) {
      continue;
    }
    const Cursor duration = entry.Need("for");
    PhaseSpec spec{duration.DurationUs(kPhaseStepUs), ReadDemand(entry)};
    if (spec.duration_us <= 0 || spec.duration_us % kPhaseStepUs != 0 ||
        spec.duration_us > kLongestPhaseUs) {
      duration.Fail("must be a multiple of 100ms above 0, at most 24h");
      spec.duration_us = kPhaseStepUs;
    }
    if (!specs.empty() && specs.back().demand == spec.demand) {
      specs.back().duration_us += spec.duration_us;
    } else {
      specs.push_back(spec);
    }
  }
  if (phases.IsList() && specs.empty()) {
    phases.Fail("must have at least one phase");
  }
  return specs;
}

LoadSpec ReadLoad(const std::string& name, const Cursor& load) {
  constexpr std::array<Words, 1> kKeys = {"phases"};
  LoadSpec spec{name, {}};
  if (load.ExpectKeys(kKeys)) {
    spec.phases = ReadPhases(load.Need("phases"));
  }
  if (spec.phases.empty()) {
    spec.phases.push_back({kPhaseStepUs, {}});
  }
  return spec;
}

// The name of a load, or an inline load: phases, or the demands of a single phase.
LoadSpec ReadLoadOf(const Cursor& load, const Scenario& scenario) {
  if (load.IsMap() && load.Key("phases").present()) {
    return ReadLoad("inline", load);
  }
  if (load.IsMap()) {
    load.ExpectKeys(std::span(kPhaseKeys).subspan(1));
    return {"inline", {{kPhaseStepUs, ReadDemand(load)}}};
  }
  const std::string name = load.Text("");
  const auto found = scenario.loads.find(name);
  if (found != scenario.loads.end()) {
    return found->second;
  }
  if (!name.empty()) {
    std::vector<Words> names;
    for (const auto& [known, spec] : scenario.loads) {
      if (names.size() < kMostSuggested) {
        names.push_back(known);
      }
    }
    const auto nearest = Nearest(name, names);
    load.Fail("unknown load '" + name + "'" +
              (nearest ? "; nearest is '" + std::string(*nearest) + "'"
                       : "; 'loads' has: " + (names.empty() ? "none" : Join(names))));
  }
  return {"inline", {{kPhaseStepUs, {}}}};
}

// Removes `prefix` and a number from the front of `text`; -1 when it does not begin like that.
int TakeNumber(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return -1;
  }
  const std::string_view rest = text.substr(prefix.size());
  const size_t length = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const auto value = ParseDecimal(rest.substr(0, length));
  if (length > 3 || !value) {
    return -1;
  }
  text = rest.substr(length);
  return static_cast<int>(*value);
}

DeviceSpec ReadDevice(const Cursor& device, const Scenario& scenario) {
  DeviceSpec spec;
  spec.place = device.place();
  const std::string text = device.Text("gpu0");
  std::string_view rest = text;
  const int gpu = TakeNumber(rest, "gpu");
  spec.mig = TakeNumber(rest, "/mig");
  spec.compute = spec.mig < 0 ? -1 : TakeNumber(rest, "/ci");
  spec.replica = spec.mig < 0 ? TakeNumber(rest, "::") : -1;
  if (gpu < 0 || !rest.empty()) {
    device.Fail("found '" + text +
                "'; must be gpu<n>, gpu<n>::<replica>, gpu<n>/mig<m> or "
                "gpu<n>/mig<m>/ci<c>");
  } else if (static_cast<size_t>(gpu) >= scenario.gpus.size()) {
    device.Fail("found '" + text + "'; this scenario has " + std::to_string(scenario.gpus.size()) +
                " GPUs");
  } else {
    spec.gpu = gpu;
  }
  return spec;
}

// `gpus: [0, 1]` and `devices: [gpu6/mig0]`, in that order.
std::vector<DeviceSpec> ReadDevices(const Cursor& holder, const Scenario& scenario) {
  std::vector<DeviceSpec> devices;
  for (const Cursor& gpu : holder.Key("gpus").Elements()) {
    DeviceSpec spec;
    spec.place = gpu.place();
    spec.gpu = ReadGpuIndex(gpu, scenario);
    devices.push_back(spec);
  }
  for (const Cursor& device : holder.Key("devices").Elements()) {
    devices.push_back(ReadDevice(device, scenario));
  }
  return devices;
}

void ReadIntensity(const Cursor& entry, ProcessSpec& spec) {
  constexpr int64_t kMostMicrowatts = INT64_C(3'000'000'000);
  const auto watts = [&entry](Words key) {
    const int64_t value = entry.Key(key).Millionths(-1'000, 0, kMostMicrowatts);
    return value / 1'000;
  };
  spec.k_mw = watts("k_w");
  spec.m_mw = watts("m_w");
  spec.memory_bytes = entry.Key("memory").Bytes(0);
}

ProcessSpec ReadProcess(const Cursor& entry, const Scenario& scenario) {
  constexpr std::array<Words, 11> kKeys = {"pid", "gpu",    "device", "load", "memory", "k_w",
                                           "m_w", "escape", "start",  "stop", "threads"};
  ProcessSpec spec;
  spec.place = entry.place();
  spec.load.phases.push_back({kPhaseStepUs, {}});
  if (!entry.ExpectKeys(kKeys)) {
    return spec;
  }
  spec.pid = static_cast<int>(entry.Need("pid").Integer(0, 1, kMostPid));
  if (const Cursor gpu = entry.Key("gpu"); gpu.present()) {
    spec.device = DeviceSpec{};
    spec.device->place = gpu.place();
    spec.device->gpu = ReadGpuIndex(gpu, scenario);
  }
  if (const Cursor device = entry.Key("device"); device.present()) {
    if (spec.device) {
      device.Fail("write 'gpu' or 'device', not both");
    }
    spec.device = ReadDevice(device, scenario);
  }
  spec.load = ReadLoadOf(entry.Need("load"), scenario);
  ReadIntensity(entry, spec);
  spec.threads_ppm = entry.Key("threads").Percent(kWholePpm);
  spec.escape = entry.Key("escape").Flag(false);
  if (const Cursor start = entry.Key("start"); start.present()) {
    spec.start_us = start.DurationUs(0);
  }
  if (const Cursor stop = entry.Key("stop"); stop.present()) {
    spec.stop_us = stop.DurationUs(kForever);
  }
  return spec;
}

ContainerSpec ReadContainer(const Cursor& entry, const Scenario& scenario) {
  constexpr std::array<Words, 4> kKeys = {"name", "gpus", "devices", "processes"};
  ContainerSpec spec;
  spec.place = entry.place();
  if (!entry.ExpectKeys(kKeys)) {
    return spec;
  }
  spec.name = entry.Need("name").Name("unnamed");
  spec.devices = ReadDevices(entry, scenario);
  for (const Cursor& process : entry.Key("processes").Elements()) {
    spec.processes.push_back(ReadProcess(process, scenario));
  }
  return spec;
}

}  // namespace

void ReadLoads(const Cursor& loads, Scenario& scenario) {
  for (const auto& [name, load] : loads.Entries()) {
    scenario.loads.emplace(name, ReadLoad(name, load));
  }
}

void ReadPods(const Cursor& pods, Scenario& scenario) {
  constexpr std::array<Words, 6> kKeys = {"name", "namespace", "start",
                                          "stop", "static",    "containers"};
  for (const Cursor& entry : pods.Elements()) {
    if (!entry.ExpectKeys(kKeys)) {
      continue;
    }
    PodSpec pod;
    pod.place = entry.place();
    pod.name = entry.Need("name").Name("unnamed");
    pod.pod_namespace = entry.Key("namespace").Name("default");
    pod.start_us = entry.Key("start").DurationUs(0);
    pod.stop_us = entry.Key("stop").DurationUs(kForever);
    if (pod.stop_us <= pod.start_us) {
      entry.Key("stop").Fail("must be after start");
      pod.stop_us = kForever;
    }
    pod.is_static = entry.Key("static").Flag(false);
    for (const Cursor& container : entry.Key("containers").Elements()) {
      pod.containers.push_back(ReadContainer(container, scenario));
    }
    scenario.pods.push_back(std::move(pod));
  }
}

void ReadChurns(const Cursor& churns, Scenario& scenario) {
  constexpr std::array<Words, 12> kKeys = {"template", "namespace", "container", "start",
                                           "every",    "life",      "gpus",      "devices",
                                           "load",     "memory",    "k_w",       "m_w"};
  for (const Cursor& entry : churns.Elements()) {
    if (!entry.ExpectKeys(kKeys)) {
      continue;
    }
    ChurnSpec churn;
    churn.place = entry.place();
    churn.name = entry.Need("template").Name("unnamed", kMostChurnName);
    churn.pod_namespace = entry.Key("namespace").Name("default");
    churn.container = entry.Key("container").Name("main");
    churn.start_us = entry.Key("start").DurationUs(0);
    churn.every_us = entry.Need("every").DurationUs(2 * kPhaseStepUs);
    churn.life_us = entry.Need("life").DurationUs(kPhaseStepUs);
    for (const auto& [key, time] :
         {std::pair("every", &churn.every_us), {"life", &churn.life_us}}) {
      if (*time <= 0 || *time % kPhaseStepUs != 0) {
        entry.Key(key).Fail("must be a multiple of 100ms above 0");
        *time = kPhaseStepUs;
      }
    }
    if (churn.life_us > churn.every_us) {
      entry.Key("life").Fail("must not be longer than 'every': a pod ends before the next begins");
      churn.life_us = churn.every_us;
    }
    churn.devices = ReadDevices(entry, scenario);
    churn.process.place = entry.place();
    churn.process.load = ReadLoadOf(entry.Need("load"), scenario);
    ReadIntensity(entry, churn.process);
    scenario.churns.push_back(std::move(churn));
  }
}

void ReadOrphans(const Cursor& orphans, Scenario& scenario) {
  for (const Cursor& entry : orphans.Elements()) {
    scenario.orphans.push_back(ReadProcess(entry, scenario));
    if (entry.IsMap() && !scenario.orphans.back().device) {
      entry.Fail("key 'gpu' or 'device' is missing");
    }
  }
}

}  // namespace podgpu::sim
