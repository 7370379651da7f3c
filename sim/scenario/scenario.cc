#include "sim/scenario/scenario.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "base/text.h"
#include "sim/scenario/parts.h"

namespace podgpu::sim {

namespace {

using Words = std::string_view;

constexpr std::array<Words, 23> kRootKeys = {
    "format",  "name",   "seed",    "epoch",   "driver", "dcgm",   "noise_mw",   "refresh_phase",
    "node",    "gpus",   "classes", "links",   "cpus",   "loads",  "pods",       "churn",
    "orphans", "cgroup", "pids",    "kubelet", "quirks", "faults", "description"};

// The drivers' quirks, in DriverQuirk's order.
uint32_t ReadQuirks(const Cursor& list) {
  constexpr std::array<Words, 5> kQuirks = {"size_100", "dead_pids", "over_100", "late_records",
                                            "mig_records"};
  uint32_t quirks = 0;
  for (const Cursor& quirk : list.Elements()) {
    quirks |= 1U << quirk.Choice(kQuirks, 0);
  }
  return quirks;
}

// "2025-03-01T12:00:00Z" in microseconds since 1970.
int64_t ReadTimeOfDay(const Cursor& epoch, const std::string& text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  char zone = 0;
  char rest = 0;
  // NOLINTNEXTLINE(cert-err34-c): the ranges are checked below.
  const int count = std::sscanf(text.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d%c%c", &year, &month, &day,
                                &hour, &minute, &second, &zone, &rest);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (text.size() != 20 || count != 7 || zone != 'Z' || !date.ok() || year < 1971 || hour < 0 ||
      hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) {
    epoch.Fail("must be 'start' or a time such as 2025-03-01T12:00:00Z");
    return 0;
  }
  const std::chrono::sys_seconds instant = std::chrono::sys_days(date) + std::chrono::hours(hour) +
                                           std::chrono::minutes(minute) +
                                           std::chrono::seconds(second);
  return std::chrono::duration_cast<std::chrono::microseconds>(instant.time_since_epoch()).count();
}

void ReadEpoch(const Cursor& epoch, Scenario& scenario) {
  const std::string text = epoch.Text("start");
  scenario.epoch_unix_us = text == "start" ? 0 : ReadTimeOfDay(epoch, text);
}

// Where the host engine listens; the socket is in the run directory under this name.
void ReadEngine(const Cursor& engine, Scenario& scenario) {
  constexpr Words kNone = "none";
  constexpr Words kSocketSuffix = ".sock";
  scenario.engine_tcp = engine.Key("tcp").Text(scenario.engine_tcp);
  const Cursor socket = engine.Key("unix");
  scenario.engine_unix = socket.Text(scenario.engine_unix);
  if (scenario.engine_tcp == kNone) {
    scenario.engine_tcp.clear();
  }
  if (scenario.engine_unix == kNone) {
    scenario.engine_unix.clear();
    if (scenario.engine_tcp.empty()) {
      socket.Fail("both unix and tcp are none; an engine needs one of them");
    }
  } else if (!scenario.engine_unix.ends_with(kSocketSuffix) ||
             scenario.engine_unix.find('/') != std::string::npos) {
    socket.Fail("found '" + scenario.engine_unix +
                "'; must be a name in the run directory that ends in .sock, or none");
  }
}

void ReadVersions(const Cursor& root, Scenario& scenario) {
  constexpr std::array<Words, 4> kDriverKeys = {"version", "nvml", "cuda", "accounting"};
  const Cursor driver = root.Key("driver");
  if (driver.ExpectKeys(kDriverKeys)) {
    scenario.driver = driver.Key("version").Text(scenario.driver);
    scenario.nvml = driver.Key("nvml").Text("12." + scenario.driver);
    scenario.cuda = static_cast<int>(driver.Key("cuda").Integer(scenario.cuda, 9'000, 99'990));
    scenario.accounting = driver.Key("accounting").Flag(false);
  }
  constexpr std::array<Words, 3> kDcgmKeys = {"version", "profiling", "engine"};
  constexpr std::array<Words, 2> kProfiling = {"none", "module"};
  constexpr std::array<Words, 2> kEngineKeys = {"tcp", "unix"};
  const Cursor dcgm = root.Key("dcgm");
  if (dcgm.ExpectKeys(kDcgmKeys)) {
    scenario.dcgm = dcgm.Key("version").Text(scenario.dcgm);
    scenario.profiling_module = dcgm.Key("profiling").Choice(kProfiling, 0) == 1;
    const Cursor engine = dcgm.Key("engine");
    if (engine.ExpectKeys(kEngineKeys)) {
      ReadEngine(engine, scenario);
    }
  }
}

void ReadNode(const Cursor& root, Scenario& scenario) {
  constexpr std::array<Words, 2> kNodeKeys = {"name", "boot_id"};
  constexpr std::array<Words, 1> kBootIds = {"from-seed"};
  const Cursor node = root.Key("node");
  if (node.ExpectKeys(kNodeKeys)) {
    scenario.node_name = node.Key("name").Name(scenario.node_name);
    node.Key("boot_id").Choice(kBootIds, 0);
  }
  constexpr std::array<Words, 1> kPids = {"virtual"};
  root.Key("pids").Choice(kPids, 0);
}

// Returns the pod in `seen_from`, or an empty string and an error if the scenario has no such pod.
std::string ReadSeenFrom(const Cursor& seen_from, const Scenario& scenario) {
  std::string name = seen_from.Text("");
  const bool is_there = std::ranges::any_of(scenario.pods, [&name](const PodSpec& pod) {
    return pod.pod_namespace + "/" + pod.name == name;
  });
  if (is_there || !seen_from.present()) {
    return name;
  }
  seen_from.Fail("found '" + Printable(name) + "'; must be the namespace/name of one of the pods");
  return {};
}

// After the pods.
void ReadCgroup(const Cursor& cgroup, Scenario& scenario) {
  constexpr std::array<Words, 4> kCgroupKeys = {"version", "driver", "runtime", "seen_from"};
  constexpr std::array<Words, 2> kDrivers = {"systemd", "cgroupfs"};
  constexpr std::array<Words, 3> kRuntimes = {"containerd", "crio", "docker"};
  if (cgroup.ExpectKeys(kCgroupKeys)) {
    scenario.cgroup_version = static_cast<int>(cgroup.Key("version").Integer(2, 1, 2));
    scenario.cgroup_driver = kDrivers.at(cgroup.Key("driver").Choice(kDrivers, 0));
    scenario.cgroup_runtime = kRuntimes.at(cgroup.Key("runtime").Choice(kRuntimes, 0));
    scenario.cgroup_seen_from = ReadSeenFrom(cgroup.Key("seen_from"), scenario);
  }
}

void ReadKubelet(const Cursor& kubelet, Scenario& scenario) {
  constexpr std::array<Words, 7> kKubeletKeys = {"allocator",     "versions",      "inventory",
                                                 "mig_strategy",  "rename_shared", "keeps_finished",
                                                 "two_numa_nodes"};
  constexpr std::array<Words, 6> kAllocators = {"nvidia", "gke",     "hami",
                                                "dra",    "volcano", "gpushare"};
  constexpr std::array<Words, 2> kVersions = {"v1", "v1alpha1"};
  constexpr std::array<Words, 2> kStrategies = {"mixed", "single"};
  if (!kubelet.ExpectKeys(kKubeletKeys)) {
    return;
  }
  scenario.allocator = static_cast<Allocator>(kubelet.Key("allocator").Choice(kAllocators, 0));
  scenario.inventory = kubelet.Key("inventory").Flag(true);
  scenario.mig_single = kubelet.Key("mig_strategy").Choice(kStrategies, 0) == 1;
  scenario.rename_shared = kubelet.Key("rename_shared").Flag(false);
  scenario.keeps_finished = kubelet.Key("keeps_finished").Flag(false);
  scenario.two_numa_nodes = kubelet.Key("two_numa_nodes").Flag(false);
  const Cursor versions = kubelet.Key("versions");
  if (versions.present()) {
    scenario.v1 = scenario.v1alpha1 = false;
    for (const Cursor& version : versions.Elements()) {
      (version.Choice(kVersions, 0) == 0 ? scenario.v1 : scenario.v1alpha1) = true;
    }
  }
}

void ReadSensors(const Cursor& root, Scenario& scenario) {
  constexpr int64_t kMostNoiseMw = 100'000;
  scenario.noise_mw = root.Key("noise_mw").Integer(scenario.noise_mw, 0, kMostNoiseMw);
  const Cursor phase = root.Key("refresh_phase");
  if (phase.IsScalar() && phase.Text("") != "from-seed") {
    scenario.refresh_phase_us = phase.DurationUs(0);
    if (scenario.refresh_phase_us >= kRefreshUs) {
      phase.Fail("must be 'from-seed' or a time below 100ms");
    }
  }
}

// Reports the errors of the YAML parser as errors of the file.
bool Report(const std::vector<YamlError>& problems, ScenarioErrors& errors) {
  for (const YamlError& problem : problems) {
    errors.Add(problem.line, problem.column, "", Printable(problem.what));
  }
  return !problems.empty();
}

}  // namespace

int ReadGpuIndex(const Cursor& gpu, const Scenario& scenario) {
  if (scenario.gpus.empty()) {
    gpu.Fail("this scenario has no GPU");
    return 0;
  }
  return static_cast<int>(gpu.Integer(0, 0, static_cast<int64_t>(scenario.gpus.size()) - 1));
}

Scenario ReadScenario(std::string_view text, ScenarioErrors& errors) {
  Scenario scenario;
  std::vector<YamlError> problems;
  const YamlNode tree = ReadYaml(text, problems);
  if (Report(problems, errors)) {
    return scenario;
  }
  const Cursor root(&tree, "", errors);
  if (!root.IsMap()) {
    root.Fail("a scenario is a map that begins with 'format: 1'");
    return scenario;
  }
  root.ExpectKeys(kRootKeys);
  root.Need("format").Integer(1, 1, 1);
  scenario.name = root.Need("name").Name("unnamed");
  root.Key("description").Text("");
  scenario.seed = static_cast<uint64_t>(root.Key("seed").Integer(1, 0, 999'999'999'999'999));
  ReadEpoch(root.Key("epoch"), scenario);
  ReadVersions(root, scenario);
  ReadNode(root, scenario);
  ReadKubelet(root.Key("kubelet"), scenario);
  ReadSensors(root, scenario);
  ReadClasses(root.Key("classes"), scenario);
  ReadGpus(root.Need("gpus"), scenario);
  ReadLinks(root.Key("links"), scenario);
  ReadCpus(root.Key("cpus"), scenario);
  scenario.quirks = ReadQuirks(root.Key("quirks"));
  ReadLoads(root.Key("loads"), scenario);
  ReadPods(root.Key("pods"), scenario);
  ReadCgroup(root.Key("cgroup"), scenario);
  ReadChurns(root.Key("churn"), scenario);
  ReadOrphans(root.Key("orphans"), scenario);
  ReadFaults(root.Key("faults"), false, scenario);
  return scenario;
}

void ReadControlLog(std::string_view text, ScenarioErrors& errors, Scenario& scenario) {
  std::vector<YamlError> problems;
  const YamlNode tree = ReadYaml(text, problems);
  if (!Report(problems, errors)) {
    ReadFaults(Cursor(&tree, "", errors), true, scenario);
  }
}

}  // namespace podgpu::sim
