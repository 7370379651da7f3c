// What a scenario accepts: each rule with its exact message.
#include "sim/scenario/scenario.h"

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "sim/scenario/compile.h"

namespace podgpu::sim {
namespace {

// Lines 1 to 4 of every case; the case's own text begins at line 5.
constexpr std::string_view kHead =
    "format: 1\n"
    "name: case\n"
    "gpus: [{class: h100-sxm5-80gb}, {class: h100-sxm5-80gb, mig: [3g.40gb, 1g.10gb]}, "
    "{class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 2}}]\n"
    "loads: {train: {phases: [{for: 4s, sm: 60%}, {for: 2s}]}}\n";

std::vector<std::string> ErrorsOf(const std::string& text) {
  return CompileScenario(text, "case.yaml").errors;
}

struct Rule {
  const char* label;
  std::string text;
  std::vector<std::string> errors;
};

void Check(const std::vector<Rule>& rules, std::string_view head) {
  for (const Rule& rule : rules) {
    EXPECT_EQ(ErrorsOf(std::string(head) + rule.text), rule.errors) << rule.label;
  }
}

TEST(ScenarioRules, RequireAnEngineSocketInTheRunDirectory) {
  Check(
      {{"a path",
        "dcgm: {engine: {unix: /run/engine.sock}}\n",
        {"case.yaml:5:23: dcgm.engine.unix: found '/run/engine.sock'; must be a name in the run "
         "directory that ends in .sock, or none"}},
       {"another file",
        "dcgm: {engine: {unix: world.bin}}\n",
        {"case.yaml:5:23: dcgm.engine.unix: found 'world.bin'; must be a name in the run directory "
         "that ends in .sock, or none"}},
       {"nowhere",
        "dcgm: {engine: {tcp: none, unix: none}}\n",
        {"case.yaml:5:34: dcgm.engine.unix: both unix and tcp are none; an engine needs one of "
         "them"}},
       {"one of the two is enough", "dcgm: {engine: {unix: none}}\n", {}}},
      kHead);
}

TEST(ScenarioRules, RequireThePodThatSeesTheCgroups) {
  const std::string pods = "pods: [{name: a, namespace: ml}]\n";
  Check({{"one of the pods", "cgroup: {seen_from: ml/a}\n" + pods, {}},
         {"another namespace",
          "cgroup: {seen_from: default/a}\n" + pods,
          {"case.yaml:5:21: cgroup.seen_from: found 'default/a'; must be the namespace/name of one "
           "of the pods"}}},
        kHead);
}

TEST(ScenarioRules, ReportTheKeyAndTheNearestKnownOne) {
  Check({{"unknown key with a neighbour",
          "podz: []\n",
          {"case.yaml:5:1: unknown key 'podz'; nearest is 'pods'"}},
         {"unknown key within a map",
          "node: {nane: a}\n",
          {"case.yaml:5:8: node: unknown key 'nane'; nearest is 'name'"}},
         {"unknown key without a neighbour",
          "node: {hardware: a}\n",
          {"case.yaml:5:8: node: unknown key 'hardware'; allowed: name, boot_id"}},
         {"key twice", "seed: 1\nseed: 2\n", {"case.yaml:6:1: key 'seed' is written twice"}},
         {"load twice",
          "orphans: []\nclasses: {x: {base: t4}, x: {base: t4}}\n",
          {"case.yaml:6:26: classes: key 'x' is written twice"}},
         {"list instead of map",
          "node: [a]\n",
          {"case.yaml:5:7: node: must be a map with keys name, boot_id"}},
         {"map instead of list", "pods: {a: 1}\n", {"case.yaml:5:7: pods: must be a list"}},
         {"key that must be there",
          "pods: [{namespace: a}]\n",
          {"case.yaml:5:8: pods[0]: key 'name' is missing"}},
         {"name of a load",
          "orphans: []\nclasses: {\"a\\nb\": {base: t4}}\n",
          {"case.yaml:6:11: classes: a name must consist of letters, digits, '-', '_' and '.', at "
           "most 63 "
           "long"}},
         {"choice", "pids: reel\n", {"case.yaml:5:7: pids: found 'reel'; must be one of virtual"}}},
        kHead);
}

TEST(ScenarioRules, RequireUnits) {
  constexpr const char* kTime =
      "; must be a time with its unit (us, ms, s, min, h), at most 100 years";
  const auto orphan = [](const std::string& rest) {
    return "orphans: [{pid: 7, gpu: 0, load: train, " + rest + "}]\n";
  };
  Check(
      {{"time",
        orphan("start: 10"),
        {"case.yaml:5:48: orphans[0].start: found '10'" + std::string(kTime)}},
       {"time with another's unit",
        orphan("start: 10GiB"),
        {"case.yaml:5:48: orphans[0].start: found '10GiB'" + std::string(kTime)}},
       {"memory",
        orphan("memory: 10"),
        {"case.yaml:5:49: orphans[0].memory: found '10'; must be a size with its unit (KiB, MiB, "
         "GiB, TiB), at most 1024TiB"}},
       {"percentage",
        "orphans: [{pid: 7, gpu: 0, load: {sm: 60}}]\n",
        {"case.yaml:5:39: orphans[0].load.sm: found '60'; must be a percentage from 0% to 100%, "
         "with its sign"}},
       {"percentage above the whole",
        "orphans: [{pid: 7, gpu: 0, load: {sm: 101%}}]\n",
        {"case.yaml:5:39: orphans[0].load.sm: found '101%'; must be a percentage from 0% to 100%, "
         "with its sign"}},
       {"rate",
        "orphans: [{pid: 7, gpu: 0, load: {pcie: 2GiB}}]\n",
        {"case.yaml:5:41: orphans[0].load.pcie: found '2GiB'; must be a rate with its unit (KB/s, "
         "MB/s, GB/s), at most 1000GB/s"}},
       {"watts outside their range",
        orphan("k_w: 9999"),
        {"case.yaml:5:46: orphans[0].k_w: found '9999'; must be a number from 0 to 3000"}}},
      kHead);
}

TEST(ScenarioRules, RequireUniqueIdentities) {
  Check(
      {{"pid",
        "orphans:\n  - {pid: 7, gpu: 0, load: train}\n  - {pid: 7, gpu: 0, start: 5s, load: "
        "train}\n",
        {"case.yaml:7:5: orphans[1]: pid 7 is already in use at 5 s; pids are unique at any time"}},
       {"pid out of range",
        "orphans: [{pid: 0, gpu: 0, load: train}]\n",
        {"case.yaml:5:17: orphans[0].pid: found '0'; must be a whole number from 1 to 4194304"}},
       {"pod",
        "pods:\n  - {name: a, namespace: n}\n  - {name: a, namespace: n, start: 5s}\n",
        {"case.yaml:7:5: pods[1]: pod n/a is already alive at 5 s; rename one or stop the first "
         "before"}},
       {"container",
        "pods: [{name: a, containers: [{name: c}, {name: c}]}]\n",
        {"case.yaml:5:42: pods[0].containers[1]: container 'c' is in this pod twice"}},
       {"pid of a churn",
        "orphans: [{pid: 1000000, gpu: 0, load: train}]\n"
        "churn: [{template: t, every: 2s, life: 1s, gpus: [0], load: train}]\n",
        {"case.yaml:5:11: orphans[0]: pid 1000000: from 1000000 on, pids belong to 'churn'"}}},
      kHead);
  Check({{"uuid",
          "format: 1\nname: case\ngpus:\n"
          "  - {class: t4, uuid: GPU-00000000-0000-4000-8000-000000000001}\n"
          "  - {class: t4, uuid: GPU-00000000-0000-4000-8000-000000000001}\n",
          {"case.yaml:4:3: gpus: GPUs 0 and 1 have the same uuid "
           "GPU-00000000-0000-4000-8000-000000000001"}},
         {"PCI address",
          "format: 1\nname: case\ngpus:\n  - {class: t4, first_bus: \"00000000:43:00.0\"}\n"
          "  - {class: t4}\n",
          {"case.yaml:4:3: gpus: GPUs 0 and 1 have the same PCI address 00000000:43:00.0"}}},
        "");
}

TEST(ScenarioRules, RequireTimesInOrder) {
  Check(
      {{"pod that stops before it starts",
        "pods: [{name: a, start: 5s, stop: 5s}]\n",
        {"case.yaml:5:35: pods[0].stop: must be after start"}},
       {"process that stops before it starts",
        "orphans: [{pid: 7, gpu: 0, load: train, start: 5s, stop: 4s}]\n",
        {"case.yaml:5:11: orphans[0]: stops at 4 s, which is not after its start at 5 s"}},
       {"process that outlives its pod",
        "pods: [{name: a, stop: 9s, containers: [{name: c, gpus: [0], processes: "
        "[{pid: 7, load: train, stop: 10s}]}]}]\n",
        {"case.yaml:5:74: pods[0].containers[0].processes[0]: lives from 0 s to 10 s, its pod only "
         "from 0 s to 9 s"}},
       {"phase of no length",
        "orphans: [{pid: 7, gpu: 0, load: {phases: [{for: 0s}]}}]\n",
        {"case.yaml:5:50: orphans[0].load.phases[0].for: must be a multiple of 100ms above 0, at "
         "most 24h"}},
       {"phase between the steps",
        "orphans: [{pid: 7, gpu: 0, load: {phases: [{for: 150ms}]}}]\n",
        {"case.yaml:5:50: orphans[0].load.phases[0].for: must be a multiple of 100ms above 0, at "
         "most 24h"}},
       {"no phase",
        "orphans: [{pid: 7, gpu: 0, load: {phases: []}}]\n",
        {"case.yaml:5:43: orphans[0].load.phases: must have at least one phase"}},
       {"life longer than its cycle",
        "churn: [{template: t, every: 2s, life: 3s, gpus: [0], load: train}]\n",
        {"case.yaml:5:40: churn[0].life: must not be longer than 'every': a pod ends before the "
         "next begins"}},
       {"epoch",
        "epoch: 2025-02-30T00:00:00Z\n",
        {"case.yaml:5:8: epoch: must be 'start' or a time such as 2025-03-01T12:00:00Z"}}},
      kHead);
}

TEST(ScenarioRules, NameTheTwoLoadsThatGiveTooManySegments) {
  Check(
      {{"hyperperiod",
        "orphans:\n"
        "  - {pid: 7, gpu: 0, load: {phases: [{for: 2000.1s, sm: 1%}, {for: 1s}]}}\n"
        "  - {pid: 8, gpu: 0, load: {phases: [{for: 2000.3s, sm: 1%}, {for: 1s}]}}\n"
        "  - {pid: 9, gpu: 0, load: train}\n",
        {"case.yaml:7:5: orphans[1]: on GPU 0 from 0 s on, load 'inline' (2001.1 s) of pid 7 and "
         "load 'inline' (2001.3 s) of pid 8 repeat together only after more than 24 h; choose "
         "periods with a small common multiple"}},
       {"segments",
        "orphans:\n"
        "  - {pid: 7, gpu: 0, load: {phases: [{for: 100ms, sm: 1%}, {for: 100ms}]}}\n"
        "  - {pid: 8, gpu: 0, load: {phases: [{for: 500s, sm: 1%}, {for: 1s}]}}\n",
        {"case.yaml:7:5: orphans[1]: on GPU 0 from 0 s on, load 'inline' (0.2 s) of pid 7 and load "
         "'inline' (501 s) of pid 8 give more than 4096 segments; choose longer phases or "
         "periods with a small common multiple"}},
       {"one list",
        "churn: [{template: t, every: 3000s, life: 3000s, gpus: [0], load: "
        "{phases: [{for: 100ms, sm: 1%}, {for: 100ms}]}}]\n",
        {"case.yaml:5:9: churn[0]: a life of 3000 s with load 'inline' (0.2 s) has more than 4096 "
         "phases; shorten the life or lengthen the phases"}},
       {"a short era may hold any lists",
        "orphans:\n"
        "  - {pid: 7, gpu: 0, stop: 60s, load: {phases: [{for: 2000.1s, sm: 1%}, {for: 1s}]}}\n"
        "  - {pid: 8, gpu: 0, stop: 60s, load: {phases: [{for: 2000.3s, sm: 1%}, {for: 1s}]}}\n",
        {}}},
      kHead);
}

TEST(ScenarioRules, RequireDevicesThatExist) {
  const auto pod = [](const std::string& rest) {
    return "pods: [{name: a, containers: [{name: c, " + rest + "}]}]\n";
  };
  Check(
      {{"GPU",
        pod("gpus: [3]"),
        {"case.yaml:5:48: pods[0].containers[0].gpus[0]: found '3'; must be a whole number from 0 "
         "to 2"}},
       {"GPU by name",
        pod("devices: [gpu9]"),
        {"case.yaml:5:51: pods[0].containers[0].devices[0]: found 'gpu9'; this scenario has 3 "
         "GPUs"}},
       {"nonsense",
        pod("devices: [gpu1/slice0]"),
        {"case.yaml:5:51: pods[0].containers[0].devices[0]: found 'gpu1/slice0'; must be gpu<n>, "
         "gpu<n>::<replica>, gpu<n>/mig<m> or gpu<n>/mig<m>/ci<c>"}},
       {"whole GPU in MIG mode",
        pod("gpus: [1]"),
        {"case.yaml:5:48: pods[0].containers[0].gpus[0]: gpu1 is in MIG mode at 0 s; name an "
         "instance such as gpu1/mig0"}},
       {"instance",
        pod("devices: [gpu1/mig2]"),
        {"case.yaml:5:51: pods[0].containers[0].devices[0]: gpu1 has 2 MIG instances at 0 s; found "
         "mig2"}},
       {"compute instance",
        pod("devices: [gpu1/mig0/ci1]"),
        {"case.yaml:5:51: pods[0].containers[0].devices[0]: gpu1/mig0 has 1 compute instances; "
         "name one, from ci0"}},
       {"whole GPU that is shared",
        pod("gpus: [2]"),
        {"case.yaml:5:48: pods[0].containers[0].gpus[0]: gpu2 is shared; name a replica such as "
         "gpu2::0"}},
       {"replica",
        pod("devices: [\"gpu2::2\"]"),
        {"case.yaml:5:51: pods[0].containers[0].devices[0]: gpu2 has 2 replicas; found replica 2"}},
       {"replica of a GPU that is not shared",
        pod("devices: [\"gpu0::0\"]"),
        {"case.yaml:5:51: pods[0].containers[0].devices[0]: gpu0 has 0 replicas; found replica 0"}},
       {"process elsewhere",
        pod("gpus: [0], processes: [{pid: 7, device: gpu1/mig0, load: train}]"),
        {"case.yaml:5:81: pods[0].containers[0].processes[0].device: the container does not hold "
         "this device; give it the device, or set 'escape: true' for a process that runs where it "
         "should not"}},
       {"process that may be elsewhere",
        pod("gpus: [0], processes: [{pid: 7, device: gpu1/mig0, escape: true, load: train}]"),
        {}},
       {"process of a container without a device",
        pod("processes: [{pid: 7, load: train}]"),
        {"case.yaml:5:53: pods[0].containers[0].processes[0]: the container holds 0 devices; "
         "choose one with 'gpu' or 'device'"}},
       {"load",
        pod("gpus: [0], processes: [{pid: 7, load: trains}]"),
        {"case.yaml:5:79: pods[0].containers[0].processes[0].load: unknown load 'trains'; "
         "nearest is 'train'"}},
       {"threads without MPS",
        pod("gpus: [0], processes: [{pid: 7, load: train, threads: 50%}]"),
        {"case.yaml:5:64: pods[0].containers[0].processes[0]: 'threads' is for a GPU shared by "
         "mps"}}},
      kHead);
}

TEST(ScenarioRules, RequireMigLayoutsThatFit) {
  const auto gpu = [](const std::string& rest) {
    return "format: 1\nname: case\ngpus: [{class: " + rest + "}]\n";
  };
  Check({{"class without MIG",
          gpu("t4, mig: [1g.10gb]"),
          {"case.yaml:3:26: gpus[0].mig[0]: class 't4' has no MIG"}},
         {"profile",
          gpu("a100-sxm4-40gb, mig: [1g.10g]"),
          {"case.yaml:3:38: gpus[0].mig[0]: no profile '1g.10g' on this class; it has 1g.5gb, "
           "2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb, 1g.5gb+me, 1g.10gb"}},
         {"too many",
          gpu("h100-sxm5-80gb, mig: [4g.40gb, 4g.40gb]"),
          {"case.yaml:3:38: gpus[0].mig[0]: the instances do not fit together on the chip (seven "
           "compute and eight memory slices, fixed starts); drop or shrink one"}},
         {"start that the profile does not allow",
          gpu("h100-sxm5-80gb, mig: [{profile: 3g.40gb, start: 2}]"),
          {"case.yaml:3:38: gpus[0].mig[0]: the instances do not fit together on the chip (seven "
           "compute and eight memory slices, fixed starts); drop or shrink one"}},
         {"media extensions twice",
          gpu("h100-sxm5-80gb, mig: [1g.10gb+me, 1g.10gb+me]"),
          {"case.yaml:3:50: gpus[0].mig[1]: at most one instance with +me per GPU"}},
         {"compute instance that does not fit",
          gpu("h100-sxm5-80gb, mig: [{profile: 2g.20gb, ci: [3c.2g.20gb]}]"),
          {"case.yaml:3:38: gpus[0].mig[0]: compute instance '3c.2g.20gb' is not part of 2g.20gb "
           "or does not fit: 2 compute slices are left; write <slices>c.2g.20gb"}},
         {"MIG and sharing",
          gpu("h100-sxm5-80gb, mig: [1g.10gb], sharing: {kind: mps, replicas: 2}"),
          {"case.yaml:3:57: gpus[0].sharing: a GPU in MIG mode cannot be shared as a whole; drop "
           "'mig' or 'sharing'"}}},
        "");
}

TEST(ScenarioRules, LimitMemoryAndPowerToTheBoard) {
  Check(
      {{"memory of a GPU",
        "orphans:\n  - {pid: 7, gpu: 0, load: train, memory: 50GiB}\n"
        "  - {pid: 8, gpu: 0, start: 5s, load: train, memory: 40GiB}\n",
        {"case.yaml:7:5: orphans[1]: at 5 s 92160 MiB are in use on GPU 0 by pid 7, pid 8; at most "
         "81008 MiB"}},
       {"memory of an instance",
        "orphans: [{pid: 7, device: gpu1/mig1, load: train, memory: 11GiB}]\n",
        {"case.yaml:5:11: orphans[0]: at 0 s 11264 MiB are in use on GPU 1 instance 0 by pid 7; at "
         "most 9971 MiB"}},
       {"noise",
        "noise_mw: 70000\n",
        {"case.yaml:3:8: gpus[0]: idle power 70000 mW must be above noise_mw 70000",
         "case.yaml:3:33: gpus[1]: idle power 70000 mW must be above noise_mw 70000",
         "case.yaml:3:83: gpus[2]: idle power 70000 mW must be above noise_mw 70000"}},
       {"idle power of a class",
        "classes: {x: {base: t4, idle_w: 70}}\n",
        {"case.yaml:5:14: classes.x: idle_w must be below limit_w; found 70000 mW and 70000 mW"}},
       {"memory of a class",
        "classes: {x: {base: t4, memory: 449MiB}}\n",
        {"case.yaml:5:33: classes.x.memory: must be more than the 449 MiB reserved"}}},
      kHead);
}

TEST(ScenarioRules, ReportWhatIsNotSimulated) {
  Check(
      {{"MIG on a shared GPU",
        "faults: [{at: 60s, kind: mig_set, gpu: 2, layout: [7g.80gb]}]\n",
        {"case.yaml:5:10: faults[0]: GPU 2 is shared as a whole; it cannot enter MIG mode"}},
       {"MIG under a churn",
        "churn: [{template: t, every: 2s, life: 1s, gpus: [0], load: train}]\n"
        "faults: [{at: 60s, kind: mig_set, gpu: 0, layout: [7g.80gb]}]\n",
        {"case.yaml:5:9: churn[0]: GPU 0 changes its MIG layout later; a churn needs a layout that "
         "does not change"}},
       {"quirks",
        "quirks: [size_10]\n",
        {"case.yaml:5:10: quirks[0]: found 'size_10'; must be one of size_100, dead_pids, "
         "over_100, late_records, mig_records; nearest is 'size_100'"}}},
      kHead);
}

TEST(ScenarioRules, LimitCpusCoresAndSwitches) {
  Check(
      {{"as many as DCGM knows", "cpus: [{cores: 512}, {cores: 512}]\nlinks: {switches: 12}\n", {}},
       {"one core over the limit",
        "cpus: [{cores: 512}, {cores: 513}]\n",
        {"case.yaml:5:7: cpus: a node has at most 1024 cores; found 1025"}},
       {"one CPU over the limit",
        "cpus: [{}, {}, {}, {}, {}, {}, {}, {}, {}]\n",
        {"case.yaml:5:40: cpus[8]: a node has at most 8 CPUs"}},
       {"switches",
        "links: {switches: 13}\n",
        {"case.yaml:5:19: links.switches: found '13'; must be a whole number from 0 to 12"}}},
      kHead);
}

TEST(ScenarioRules, RefuseYamlFeaturesThatCouldGrow) {
  std::string deep = "format: 1\nname: ";
  deep += std::string(17, '[') + std::string(17, ']');
  Check({{"anchor",
          "format: 1\nname: &a b\ngpus: []\n",
          {"case.yaml:2:7: anchors are not allowed; write the value out"}},
         {"alias",
          "format: 1\nname: b\ngpus: [*a]\n",
          {"case.yaml:3:8: not YAML: the referenced anchor is not defined"}},
         {"tag",
          "format: 1\nname: !secret b\ngpus: []\n",
          {"case.yaml:2:7: tags are not allowed; leave them out"}},
         {"nesting", deep, {"case.yaml:2:22: nesting is deeper than 16 levels"}},
         {"size",
          std::string((size_t{1} << 20) + 1, ' '),
          {"case.yaml:1:1: 1048577 bytes; at most 1048576 are allowed"}},
         {"two documents",
          "format: 1\nname: b\ngpus: []\n---\nformat: 1\n",
          {"case.yaml:5:1: one document is allowed; found a second"}},
         {"not YAML",
          "format: [1\nname: b\n",
          {"case.yaml:2:5: not YAML: end of sequence flow not found"}},
         {"not even text",
          "format: 1\nname: \"\\\x01\"\n",
          {"case.yaml:2:10: not YAML: unknown escape character: ?"}},
         {"nothing", "", {"case.yaml:1:1: a scenario is a map that begins with 'format: 1'"}},
         {"another format",
          "format: 2\nname: b\ngpus: []\n",
          {"case.yaml:1:9: format: found '2'; must be a whole number from 1 to 1"}}},
        "");
}

TEST(ScenarioRules, ReportAllErrorsAtOnceInTheOrderOfTheFile) {
  const auto errors = ErrorsOf(
      "format: 1\nname: Case\nseed: x\ngpus: [{class: h200}, {class: t4, count: 0}]\nnoise_mw: "
      "-1\n");
  EXPECT_EQ(errors.size(), 5U);
  EXPECT_TRUE(errors.at(0).starts_with("case.yaml:2:7: name: found 'Case'"));
  EXPECT_TRUE(errors.at(1).starts_with("case.yaml:3:7: seed: found 'x'"));
  EXPECT_TRUE(errors.at(2).starts_with("case.yaml:4:16: gpus[0].class: found 'h200'"));
  EXPECT_TRUE(errors.at(3).starts_with("case.yaml:4:42: gpus[1].count: found '0'"));
  EXPECT_TRUE(errors.at(4).starts_with("case.yaml:5:11: noise_mw: found '-1'"));
}

}  // namespace
}  // namespace podgpu::sim
