#include "ui/testing/sample_status.h"

namespace podgpu::testing {
namespace {

constexpr uint64_t kMib = 1024 * 1024;
constexpr int64_t kSecond = 1'000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr uint32_t kLargeGpus = 8;

NodeStatus Node() {
  NodeStatus status;
  status.version = "1.0.0";
  status.node = "gpu-node-07";
  status.source = "nvml";
  status.driver_version = "570.133.20";
  status.ready = true;
  status.verdict = "ready: 2 of 2 GPUs have fresh samples";
  status.owners_known = true;
  status.sampled_at_ms = kSampleNowMs - 400;
  status.interval_ms = kSecond;
  status.stale_after_ms = 10 * kSecond;
  status.history_step_ms = kSecond;
  status.parts = {{"driver", "ok", "nvml 570.133.20"},
                  {"kubelet", "ok", "pod-resources v1, 41 pods"},
                  {"config", "ok", "26 metrics of the default list"}};
  status.self = {.resident_bytes = 14'889'779,
                 .cpu_ratio = 0.0003,
                 .series = 3'214,
                 .slowest_scrape_seconds = 0.0006};
  return status;
}

StatusGpu BusyGpu(uint32_t index) {
  StatusGpu gpu;
  gpu.index = index;
  gpu.uuid = "GPU-2f1c9a04-0000-0000-0000-00000000000" + std::to_string(index);
  gpu.model = "NVIDIA H100 80GB HBM3";
  gpu.pci_bus_id = "00000000:3B:00.0";
  gpu.state = "ok";
  gpu.owners = "research/llama-train-0";
  gpu.holders = {{"research", "llama-train-0", "trainer"}};
  gpu.utilization_ratio = 1.0;
  gpu.sm_active_ratio = 0.96;
  gpu.memory_used_bytes = 68'812 * kMib;
  gpu.memory_total_bytes = 81'559 * kMib;
  gpu.temperature_celsius = 64;
  gpu.slowdown_celsius = 87;
  gpu.power_watts = 652;
  gpu.power_limit_watts = 700;
  gpu.energy_joules = 25'344'000;
  return gpu;
}

StatusHistory HistoryOfBusyGpu(uint32_t index) {
  return {index,
          {-1, 2, 50, 98, 96, 96, 96, 96},
          {-1, 84, 84, 84, 84, 84, 84, 84},
          {-1, 20, 80, 93, 93, 93, 93, 93}};
}

StatusGpu SharedGpu(uint32_t index) {
  StatusGpu gpu = BusyGpu(index);
  gpu.owners = "2 pods, shared";
  gpu.holders = {{"infer", "chat-a-5d4f", "server"}, {"infer", "rerank-0", "server"}};
  gpu.sm_active_ratio = 0.71;
  gpu.power_watts = 388;
  const StatusUse chat{0.31, 12'288 * kMib, 300.4, 1'512.0, true, "sm_share"};
  const StatusUse rerank{0.04, 8'294 * kMib, 45.6, 180.0, true, "sm_share"};
  const StatusUse rest{std::nullopt, 205 * kMib, 42, 432'000.0, false, "unattributed"};
  gpu.shares = {{gpu.holders[0], chat, std::nullopt},
                {gpu.holders[1], rerank, kSampleNowMs - 41 * kMinute},
                {std::nullopt, rest, std::nullopt}};
  return gpu;
}

}  // namespace

NodeStatus HealthyNode() {
  NodeStatus status = Node();
  StatusGpu idle = BusyGpu(1);
  idle.owners = "team-b/<notebook>&7c9f";
  idle.holders = {{"team-b", "<notebook>&7c9f", "jupyter"}};
  idle.sm_active_ratio = 0;
  idle.power_watts = 121;
  idle.idle_since_ms = kSampleNowMs - 134 * kMinute;
  status.gpus = {BusyGpu(0), idle};
  status.history = {HistoryOfBusyGpu(0), {1, {0, 0, 0}, {84, 84, 84}, {17, 17, 17}}};
  status.missing = {{"NVLink errors", "0-1", "the driver says \"not supported\"", "metric=nvlink"}};
  return status;
}

NodeStatus SharedNode() {
  NodeStatus status = Node();
  status.gpus = {SharedGpu(0)};
  const auto process = [&status](uint32_t pid, const std::string& name, size_t share) {
    const StatusShare& owner = status.gpus[0].shares[share];
    status.processes.push_back(
        {pid, 0, "C", name, owner.holder, owner.use, kSampleNowMs - kMinute});
  };
  process(51'201, "vllm", 0);
  process(4'190, "rerank", 1);
  status.history = {HistoryOfBusyGpu(0)};
  return status;
}

NodeStatus MigNode() {
  NodeStatus status = Node();
  StatusGpu gpu = BusyGpu(0);
  gpu.model = "NVIDIA A100-SXM4-40GB";
  gpu.owners = "1 pod, MIG";
  gpu.instances = {
      {1, "3g.20gb", 0.5, 4'096 * kMib, 20'096 * kMib, {{"vision", "batch-0", "main"}}, 1},
      {5, "1g.5gb", std::nullopt, 12 * kMib, 4'864 * kMib, {}, 0}};
  status.gpus = {gpu};
  return status;
}

NodeStatus FaultyNode() {
  NodeStatus status = Node();
  StatusGpu lost = BusyGpu(3);
  lost.state = "lost";
  lost.since_ms = kSampleNowMs - 135 * kSecond;
  lost.utilization_ratio = lost.sm_active_ratio = std::nullopt;
  lost.memory_used_bytes = lost.memory_total_bytes = std::nullopt;
  lost.power_watts = lost.power_limit_watts = lost.temperature_celsius = std::nullopt;
  lost.energy_joules.reset();
  StatusGpu hot = BusyGpu(6);
  hot.state = "degraded";
  hot.since_ms = kSampleNowMs - 30 * kSecond;
  hot.throttle_reasons = {"sw_thermal"};
  hot.temperature_celsius = 84;
  status.gpus = {BusyGpu(0), lost, hot};
  status.history = {{3, {90, 91, 92, -1, -1}, {84, 84, 84, -1, -1}, {90, 90, 90, -1, -1}}};
  status.faults = {{"lost", 3, "GPU 3 is lost since 14:01:07: XID 79, it left the PCIe bus",
                    "reboot the node", "gpu=3"},
                   {"degraded", 6, "GPU 6 is slowed down: sw_thermal.", "", "gpu=6"}};
  return status;
}

NodeStatus NodeWithoutKubelet() {
  NodeStatus status = Node();
  status.owners_known = false;
  StatusGpu gpu = BusyGpu(0);
  gpu.owners = "not known: the kubelet does not answer";
  gpu.holders.clear();
  gpu.sm_active_ratio = std::nullopt;
  status.gpus = {gpu};
  status.parts[1] = {"kubelet", "degraded",
                     "/var/lib/kubelet/pod-resources/kubelet.sock does not exist"};
  status.faults = {{"degraded", std::nullopt, "The kubelet does not answer.",
                    "Mount the folder of the socket.", ""}};
  return status;
}

NodeStatus WaitingNode() {
  NodeStatus status = Node();
  status.ready = false;
  status.verdict = "waiting: libnvidia-ml.so.1 is in none of 6 paths; next look in 10 s";
  status.sampled_at_ms = std::nullopt;
  status.driver_version.clear();
  status.parts[0] = {"driver", "waiting", "libnvidia-ml.so.1 is in none of 6 paths"};
  status.self.cpu_ratio = std::nullopt;
  status.self.slowest_scrape_seconds = std::nullopt;
  return status;
}

NodeStatus LargeNode() {
  NodeStatus status = Node();
  for (uint32_t i = 0; i < kLargeGpus; ++i) {
    status.gpus.push_back(SharedGpu(i));
  }
  status.gpus[5].state = "degraded";
  return status;
}

}  // namespace podgpu::testing
