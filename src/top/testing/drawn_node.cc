#include "top/testing/drawn_node.h"

#include <cmath>
#include <string_view>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr double kJoulesPerKwh = 3.6e6;
constexpr int64_t kMinuteMs = 60'000, kHourMs = 60 * kMinuteMs;

uint64_t Gib(double gib) { return static_cast<uint64_t>(std::llround(gib * kGib)); }

// One drawn letter stands for two samples of a second.
std::vector<int8_t> Samples(std::string_view levels) {
  constexpr int kPercent = 100, kHighest = 7;
  std::vector<int8_t> samples;
  for (const char level : levels) {
    const int8_t sample =
        level == ' ' ? int8_t{-1} : static_cast<int8_t>((level - '1') * kPercent / kHighest);
    samples.insert(samples.end(), 2, sample);
  }
  return samples;
}

StatusGpu MakeGpu(uint32_t index, double sm, double tensor, double dram, double gib, double celsius,
                  double watts, double mhz) {
  StatusGpu gpu;
  gpu.index = index;
  gpu.uuid = absl::StrFormat("GPU-2f1c9a0%d-0000-4000-8000-000000000000", index);
  gpu.model = "NVIDIA H100 80GB HBM3";
  gpu.pci_bus_id = absl::StrFormat("00000000:%02X:00.0", 3 + index);
  gpu.state = "ok";
  gpu.utilization_ratio = gpu.sm_active_ratio = sm;
  gpu.tensor_active_ratio = tensor;
  gpu.dram_active_ratio = dram;
  gpu.memory_used_bytes = Gib(gib);
  gpu.memory_total_bytes = Gib(80);
  gpu.temperature_celsius = celsius;
  gpu.slowdown_celsius = 87;
  gpu.power_watts = watts;
  gpu.power_limit_watts = 700;
  gpu.sm_clock_mhz = mhz;
  return gpu;
}

void Hold(StatusGpu& gpu, const char* pod_namespace, const char* pod, const char* container) {
  gpu.holders.push_back({pod_namespace, pod, container});
  gpu.owners = std::string(pod_namespace) + "/" + pod;
}

void AddGpus(NodeStatus& node) {
  node.gpus = {MakeGpu(0, .96, .61, .58, 67.2, 64, 652, 1965),
               MakeGpu(1, .95, .60, .57, 67.2, 66, 648, 1965),
               MakeGpu(2, .97, .62, .58, 67.1, 63, 655, 1965),
               {},
               MakeGpu(4, .71, .08, .33, 41.0, 57, 388, 1800),
               MakeGpu(5, 0, 0, 0, 38.6, 38, 121, 345),
               MakeGpu(6, .88, .52, .49, 60.9, 84, 561, 1410),
               MakeGpu(7, 0, 0, 0, 0.5, 35, 71, 345)};
  StatusGpu& lost = node.gpus[3];
  lost = MakeGpu(3, 0, 0, 0, 0, 0, 0, 0);
  lost.state = "lost";
  lost.since_ms = kDrawnNowMs - 135'000;
  lost.utilization_ratio.reset();
  lost.sm_active_ratio.reset();
  lost.tensor_active_ratio.reset();
  lost.dram_active_ratio.reset();
  lost.memory_used_bytes.reset();
  lost.temperature_celsius.reset();
  lost.power_watts.reset();
  lost.sm_clock_mhz.reset();
  Hold(node.gpus[0], "research", "llama-train-0", "trainer");
  Hold(node.gpus[1], "research", "llama-train-0", "trainer");
  Hold(node.gpus[2], "research", "llama-train-1", "trainer");
  Hold(lost, "research", "llama-train-1", "trainer");
  for (const char* const pod : {"chat-a-5d4f", "chat-b-77aa", "embed-0", "rerank-0"}) {
    Hold(node.gpus[4], "infer", pod, "server");
  }
  node.gpus[4].owners = "4 pods (time-slicing)";
  Hold(node.gpus[5], "team-b", "notebook-7c9f", "jupyter");
  node.gpus[5].idle_since_ms = kDrawnNowMs - 2 * kHourMs - 14 * kMinuteMs;
  Hold(node.gpus[6], "vision", "resnet-sweep-12", "main");
  node.gpus[6].state = "degraded";
  node.gpus[6].since_ms = kDrawnNowMs - 11 * kMinuteMs;
  node.gpus[6].throttle_reasons = {"sw_thermal"};
  node.gpus[7].owners = "free";
}

StatusUse MakeUse(std::optional<double> sm, double gib, double watts, double kwh,
                  const char* method) {
  StatusUse use;
  use.sm_ratio = sm;
  use.memory_bytes = Gib(gib);
  use.power_watts = watts;
  use.energy_joules = kwh * kJoulesPerKwh;
  use.method = method;
  use.is_apportioned = use.method == "sm_share";
  return use;
}

void AddPods(NodeStatus& node) {
  node.pods = {
      {"infer", "chat-a-5d4f", {4}, MakeUse(.31, 12.0, 151, .42, "sm_share"), {}},
      {"infer", "chat-b-77aa", {4}, MakeUse(.24, 11.8, 117, .33, "sm_share"), {}},
      {"infer", "embed-0", {4}, MakeUse(.12, 8.9, 58, .16, "sm_share"), {}},
      {"infer", "rerank-0", {4}, MakeUse(.04, 8.1, 20, .05, "sm_share"), {}},
      {"research", "llama-train-0", {0, 1}, MakeUse(.955, 134.4, 1300, 14.2, "exclusive"), {}},
      {"research", "llama-train-1", {2, 3}, MakeUse(.97, 67.1, 655, 7.0, "exclusive"), {}},
      {"team-b",
       "notebook-7c9f",
       {5},
       MakeUse(0, 38.6, 121, .27, "exclusive"),
       node.gpus[5].idle_since_ms},
      {"vision", "resnet-sweep-12", {6}, MakeUse(.88, 60.9, 561, 1.1, "exclusive"), {}},
      {"", "", {4}, MakeUse({}, 0.2, 42, .12, "unattributed"), {}}};
}

void AddProcesses(NodeStatus& node) {
  struct Drawn {
    uint32_t pid, gpu;
    const char* name;
    size_t pod;
    StatusUse use;
    int64_t age_ms;
  };
  const Drawn drawn[] = {
      {40190, 0, "python3", 4, MakeUse(.96, 66.9, 652, 7.1, "exclusive"), 11 * kHourMs},
      {40191, 1, "python3", 4, MakeUse(.95, 66.9, 648, 7.1, "exclusive"), 11 * kHourMs},
      {40212, 2, "python3", 5, MakeUse(.97, 66.8, 655, 7.0, "exclusive"), 11 * kHourMs},
      {51007, 4, "vllm", 0, MakeUse(.31, 11.9, 151, .42, "sm_share"), 3 * kHourMs},
      {51133, 4, "vllm", 1, MakeUse(.24, 11.7, 117, .33, "sm_share"), 3 * kHourMs},
      {51201, 4, "embed", 2, MakeUse(.12, 8.8, 58, .16, "sm_share"), 3 * kHourMs},
      {51388, 4, "rerank", 3, MakeUse(.04, 8.0, 20, .05, "sm_share"), 3 * kHourMs},
      {60411, 5, "ipykernel", 6, MakeUse(0, 38.3, 121, .27, "exclusive"), 5 * kHourMs},
      {61200, 6, "train", 7, MakeUse(.88, 60.6, 561, 1.1, "exclusive"), 2 * kHourMs},
  };
  for (const Drawn& process : drawn) {
    const StatusPod& pod = node.pods[process.pod];
    node.processes.push_back({process.pid, process.gpu, "C", process.name,
                              StatusHolder{pod.pod_namespace, pod.pod, "main"}, process.use,
                              kDrawnNowMs - process.age_ms});
  }
}

}  // namespace

NodeStatus DrawnNode() {
  NodeStatus node;
  node.version = "1.0.0";
  node.node = "gpu-node-07";
  node.source = "nvml";
  node.driver_version = "570.133.20";
  node.ready = true;
  node.verdict = "ok";
  node.owners_known = true;
  node.sampled_at_ms = kDrawnNowMs - 400;
  node.interval_ms = 1'000;
  node.stale_after_ms = 10'000;
  AddGpus(node);
  AddPods(node);
  AddProcesses(node);
  node.faults = {{"lost", 3, "GPU 3 is lost since 14:01:07: XID 79, left the PCIe bus.",
                  "Reboot the node.", "gpu=3"}};
  node.self = {14'889'779, 0.0003, 3'214, 0.0006};
  node.history_step_ms = 1'000;
  const std::vector<int8_t> busy = Samples("778778887787778877877888778777");
  const std::vector<int8_t> still = Samples("111111111111111111111111111111");
  node.history = {{0, busy, {}, {}},
                  {1, busy, {}, {}},
                  {2, busy, {}, {}},
                  {3, Samples("7787788877877                 "), {}, {}},
                  {4, Samples("656665566566656556656665566566"), {}, {}},
                  {5, still, {}, {}},
                  {6, Samples("676776677667677667766767766776"), {}, {}},
                  {7, still, {}, {}}};
  for (StatusHistory& history : node.history) {  // No frame draws them.
    history.memory = history.power = history.sm;
  }
  return node;
}

}  // namespace podgpu
