// What `faults:` accepts: each rule with its exact message, and that every kind can be written.
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "sim/scenario/compile.h"
#include "sim/scenario/fault_table.h"
#include "sim/testing/world.h"

namespace podgpu::sim {
namespace {

// Lines 1 to 3 of every case; the faults begin at line 4.
constexpr std::string_view kThreeGpus =
    "format: 1\nname: case\n"
    "gpus: [{class: h100-sxm5-80gb}, {class: h100-sxm5-80gb, mig: [7g.80gb]}, {class: t4}]\n";

std::vector<std::string> FaultErrorsOf(std::string_view faults) {
  return CompileScenario(std::string(kThreeGpus) + "faults: " + std::string(faults) + "\n",
                         "a.yaml")
      .errors;
}

struct FaultRule {
  const char* label;
  const char* faults;
  std::vector<std::string> errors;
};

void CheckFaults(const std::vector<FaultRule>& rules) {
  for (const FaultRule& rule : rules) {
    EXPECT_EQ(FaultErrorsOf(rule.faults), rule.errors) << rule.label;
  }
}

TEST(Faults, ReportUnknownKindsAndKeysWithTheNearestOne) {
  CheckFaults(
      {{"kind",
        "[{at: 1s, kind: gpu_last, gpu: 0}]",
        {"a.yaml:4:25: faults[0].kind: found 'gpu_last'; must be one of api_down, "
         "api_forbidden, api_garbage, api_gone, api_rate_limited, api_silent, api_slow, "
         "api_token_expired, bind_unbind, blank, "
         "clock_jump, driver_mismatch, driver_reload, ecc, engine_hang, engine_kill, "
         "engine_version, error, garbage, gpu_absent, gpu_detached, gpu_lost, hang, heal, "
         "kubelet_denied, kubelet_down, kubelet_garbage, kubelet_https_down, "
         "kubelet_https_forbidden, kubelet_https_unauthorized, kubelet_huge, kubelet_rate_limited, "
         "kubelet_restart, kubelet_slow, kubelet_v1_missing, mig_mode, mig_set, no_nvml, "
         "no_permission, nodata, nvlink, pcie, power_limit, slow, thermal, throttle, "
         "watch_partial, watch_stale, xid; nearest is 'gpu_lost'"}},
       {"key",
        "[{at: 1s, kind: gpu_lost, gpu: 0, xit: 79}]",
        {"a.yaml:4:43: faults[0]: unknown key 'xit'; nearest is 'xid'"}},
       {"key of another kind",
        "[{at: 1s, kind: xid, gpu: 0, number: 79, watts: 300}]",
        {"a.yaml:4:50: faults[0]: unknown key 'watts'; allowed: at, kind, gpu, number"}},
       {"missing keys",
        "[{kind: slow}]",
        {"a.yaml:4:10: faults[0]: key 'at' is missing",
         "a.yaml:4:10: faults[0]: key 'calls' is missing",
         "a.yaml:4:10: faults[0]: key 'ms' is missing"}},
       {"not a map",
        "[5]",
        {"a.yaml:4:10: faults[0]: must be a map with keys at, kind and the keys of "
         "that kind"}},
       {"healing in a scenario",
        "[{at: 1s, kind: heal}]",
        {"a.yaml:4:25: faults[0].kind: heal is for the control log; give the fault its time with "
         "'for'"}}});
}

TEST(Faults, CheckTheValuesOfKeys) {
  CheckFaults(
      {{"GPU",
        "[{at: 1s, kind: gpu_lost, gpu: 3}]",
        {"a.yaml:4:40: faults[0].gpu: found '3'; must be a whole number from 0 to 2"}},
       {"time",
        "[{at: 1s, kind: gpu_lost, gpu: 0, for: 0s}]",
        {"a.yaml:4:48: faults[0].for: must be above 0; leave it out for a fault that lasts until "
         "it is healed"}},
       {"unknown call",
        "[{at: 1s, kind: hang, calls: [dcgmGetAllDevice]}]",
        {"a.yaml:4:39: faults[0].calls[0]: 'dcgmGetAllDevice' matches no call that can fail; "
         "nearest is 'dcgmGetAllDevices'"}},
       {"call that cannot fail",
        "[{at: 1s, kind: error, calls: errorString, code: -3}]",
        {"a.yaml:4:39: faults[0].calls: 'errorString' matches no call that can fail"}},
       {"call of the other library",
        "[{at: 1s, kind: error, calls: nvmlDeviceGet*, code: -3}]",
        {"a.yaml:4:61: faults[0].code: a call of NVML cannot answer this; its codes are above 0"}},
       {"call that asks for no permission",
        "[{at: 1s, kind: no_permission, calls: dcgmInit}]",
        {"a.yaml:4:47: faults[0].calls: only calls of NVML can fail for missing permission"}},
       {"field",
        "[{at: 1s, kind: nodata, fields: [150, 49, DCGM_FI_DEV_GPU_TEMPO]}]",
        {"a.yaml:4:47: faults[0].fields[1]: found '49'; must be the number or the name of a DCGM "
         "field, such as 150 or DCGM_FI_DEV_GPU_TEMP",
         "a.yaml:4:51: faults[0].fields[2]: found 'DCGM_FI_DEV_GPU_TEMPO'; must be the number or "
         "the name of a DCGM field, such as 150 or DCGM_FI_DEV_GPU_TEMP"}},
       {"code",
        "[{at: 1s, kind: error, calls: dcgmInit, code: 15}]",
        {"a.yaml:4:55: faults[0].code: a call of DCGM cannot answer this; its codes are below 0"}},
       {"code of success",
        "[{at: 1s, kind: error, calls: dcgmInit, code: 0}]",
        {"a.yaml:4:55: faults[0].code: 0 is success; write a code below 0 of DCGM, or above of "
         "NVML"}},
       {"an error without calls",
        "[{at: 1s, kind: error, code: -3}]",
        {"a.yaml:4:10: faults[0]: key 'calls' is missing; or write target: value"}},
       {"choice",
        "[{at: 1s, kind: throttle, gpu: 0, why: thermals, factor: 0.5}]",
        {"a.yaml:4:48: faults[0].why: found 'thermals'; must be one of power, thermal, hw, brake; "
         "nearest is 'thermal'"}},
       {"factor",
        "[{at: 1s, kind: throttle, gpu: 0, why: hw, factor: 1.5}]",
        {"a.yaml:4:60: faults[0].factor: found '1.5'; must be a number from 0 to 1"}},
       {"watts",
        "[{at: 1s, kind: power_limit, gpu: 0, watts: 100}]",
        {"a.yaml:4:53: faults[0].watts: found '100'; must be a number from 200 to 700"}},
       {"version",
        "[{at: 1s, kind: engine_version, version: 5.0.0}]",
        {"a.yaml:4:50: faults[0].version: found '5.0.0'; must be 3.x, 4.x or a release such as "
         "4.2.0"}},
       {"link",
        "[{at: 1s, kind: nvlink, gpu: 0, link: 18, crc: 1}, {at: 1s, kind: nvlink, gpu: 0, link: "
        "1}]",
        {"a.yaml:4:10: faults[0]: GPU 0 has 18 links; found link 18",
         "a.yaml:4:60: faults[1]: one of the keys down, crc, replay, recovery is missing"}},
       {"a PCIe fault without a change",
        "[{at: 1s, kind: pcie, gpu: 0}]",
        {"a.yaml:4:10: faults[0]: one of the keys replay, gen, width is missing"}},
       {"ramp",
        "[{at: 1s, kind: thermal, gpu: 0, ambient_c: 60, ramp: 9s, for: 5s}]",
        {"a.yaml:4:10: faults[0]: the ramp is longer than the fault"}},
       {"MIG on a board that lacks it",
        "[{at: 1s, kind: mig_mode, gpu: 2, mode: enabled}]",
        {"a.yaml:4:10: faults[0]: class 't4' has no MIG"}}});
}

TEST(Faults, MustNotContradictEachOther) {
  CheckFaults(
      {{"one GPU twice",
        "[{at: 5s, kind: gpu_lost, gpu: 0, for: 10s}, {at: 14s, kind: gpu_detached, gpu: 0}]",
        {"a.yaml:4:54: faults[1]: faults[0] (gpu_lost) is already in force on GPU 0 from 5 s to 15 "
         "s; end it first"}},
       {"one after the other",
        "[{at: 5s, kind: gpu_lost, gpu: 0, for: 10s}, {at: 15s, kind: gpu_detached, gpu: 0}]",
        {}},
       {"another GPU", "[{at: 5s, kind: gpu_lost, gpu: 0}, {at: 6s, kind: gpu_lost, gpu: 1}]", {}},
       {"all GPUs",
        "[{at: 9s, kind: driver_reload, for: 5s}, {at: 5s, kind: gpu_lost, gpu: 1}]",
        {"a.yaml:4:10: faults[0]: faults[1] (gpu_lost) is already in force on GPU 1 from 5 s to "
         "the end; end it first"}},
       {"different fields",
        "[{at: 5s, kind: blank, fields: [150]}, {at: 5s, kind: nodata, fields: [155]}]",
        {}},
       {"a common field",
        "[{at: 5s, kind: blank, fields: [150, 155]}, {at: 5s, kind: nodata, fields: [155]}]",
        {"a.yaml:4:53: faults[1]: faults[0] (blank) is already in force from 5 s to the end; end "
         "it first"}},
       {"a common call",
        "[{at: 5s, kind: hang, calls: dcgmGet*}, {at: 6s, kind: slow, calls: '*Devices', ms: 5}]",
        {"a.yaml:4:49: faults[1]: faults[0] (hang) is already in force from 5 s to the end; end it "
         "first"}},
       {"different calls",
        "[{at: 5s, kind: hang, calls: dcgmGet*}, {at: 6s, kind: slow, calls: dcgmConnect*, ms: 5}]",
        {}},
       {"links",
        "[{at: 5s, kind: nvlink, gpu: 0, link: 1, down: true}, "
        "{at: 6s, kind: nvlink, gpu: 0, link: 2, down: true}, "
        "{at: 7s, kind: nvlink, gpu: 0, link: 1, crc: 5}]",
        {}},
       {"limits",
        "[{at: 60s, kind: power_limit, gpu: 0, watts: 300, for: 30s}, "
        "{at: 80s, kind: power_limit, gpu: 0, watts: 400}]",
        {"a.yaml:4:70: faults[1]: faults[0] (power_limit) is already in force on GPU 0 from 60 s "
         "to 90 s; "
         "end it first"}},
       {"a limit until the next one",
        "[{at: 60s, kind: power_limit, gpu: 0, watts: 300}, "
        "{at: 80s, kind: power_limit, gpu: 0, watts: 400}]",
        {}}});
}

TEST(Faults, AreLimitedInNumber) {
  std::string many = "[";
  for (int i = 0; i < 4'097; ++i) {
    many += "{at: 1s, kind: ecc, gpu: 0, error: sbe}, ";
  }
  const std::vector<std::string> errors = FaultErrorsOf(many + "]");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors.front().find("4097 faults; the limit is 4096"), std::string::npos);
}

// A valid value of a key.
std::string ValueOf(const FaultRow& row, const FaultKey& key) {
  switch (key.form) {
    case FaultKeyForm::kGpu:
      return "0";
    case FaultKeyForm::kFor:
    case FaultKeyForm::kDuration:
      return "2s";
    case FaultKeyForm::kCalls:
      return row.kind == FaultKind::kNoPermission ? "[nvmlDeviceGet*]" : "[dcgmGet*]";
    case FaultKeyForm::kFields:
      return "[150, DCGM_FI_DEV_POWER_USAGE]";
    case FaultKeyForm::kLayout:
      return "[3g.40gb]";
    case FaultKeyForm::kVersion:
      return "3.x";
    case FaultKeyForm::kOf:
      return "hang";
    case FaultKeyForm::kInteger:
      return std::to_string(key.least);
    case FaultKeyForm::kMillionths:
      return row.kind == FaultKind::kPowerLimit ? "300" : std::to_string(key.most);
    case FaultKeyForm::kBytes:
      return "1MiB";
    case FaultKeyForm::kChoice:
      return std::string(key.words.back());
  }
  return "";
}

TEST(Faults, AcceptAllTheirKeys) {
  for (const FaultRow& row : FaultRows()) {
    std::string entry = "- {at: 1s, kind: " + std::string(row.name);
    for (const FaultKeyUse& use : row.Keys()) {
      entry += ", " + std::string(use.name) + ": " + ValueOf(row, FaultKeyNamed(use.name));
    }
    const CompileResult compiled =
        CompileScenario(kThreeGpus, "a.yaml", entry + "}\n", "control.yaml");
    EXPECT_EQ(compiled.errors, std::vector<std::string>()) << entry;
    EXPECT_LT(row.help.size(), 200U) << row.name;
    EXPECT_NE(FaultHelp().find("\n  " + std::string(row.name)) != std::string::npos,
              row.kind == FaultKind::kHeal)
        << row.name;
  }
}

TEST(Faults, AreAllInTheDocument) {
  std::ifstream file("docs/simulator.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const FaultRow& row : FaultRows()) {
    const std::string name(row.name);
    EXPECT_TRUE(text.find("`" + name + "`") != std::string::npos ||
                text.find("`" + name + " ") != std::string::npos)
        << name;
  }
}

TEST(Faults, HaveShortForms) {
  const TestWorld world(std::string(kThreeGpus) + "faults: [{at: 1s, kind: lost, gpu: 2}]\n");
  ASSERT_EQ(world->faults().size(), 1U);
  EXPECT_EQ(world->faults()[0].kind, FaultKind::kGpuLost);
}

}  // namespace
}  // namespace podgpu::sim
