#include "report/node_status.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

constexpr uint64_t kGibibyte = 1ull << 30;

StatusGpu BusyGpu(uint32_t index) {
  StatusGpu gpu;
  gpu.index = index;
  gpu.uuid = "GPU-2f1c9a04-77aa-4c1e-9d52-00000000000" + std::to_string(index);
  gpu.model = "NVIDIA H100 80GB HBM3";
  gpu.pci_bus_id = "00000000:3" + std::to_string(index) + ":00.0";
  gpu.state = "ok";
  gpu.owners = "research/llama-train-0 (trainer)";
  gpu.holders = {{"research", "llama-train-0", "trainer"}};
  gpu.utilization_ratio = 0.97;
  gpu.sm_active_ratio = 0.9612;
  gpu.tensor_active_ratio = 0.6104;
  gpu.dram_active_ratio = 0.5803;
  gpu.memory_used_bytes = 67 * kGibibyte;
  gpu.memory_total_bytes = 80 * kGibibyte;
  gpu.temperature_celsius = 64;
  gpu.slowdown_celsius = 87;
  gpu.power_watts = 652.31;
  gpu.power_limit_watts = 700;
  gpu.sm_clock_mhz = 1980;
  return gpu;
}

StatusUse Apportioned(double sm, uint64_t memory, double watts) {
  StatusUse use;
  use.sm_ratio = sm;
  use.memory_bytes = memory;
  use.power_watts = watts;
  use.energy_joules = 2214.08;
  use.is_apportioned = true;
  use.method = "sm_share";
  return use;
}

StatusUse Watts(double watts) {
  StatusUse use;
  use.power_watts = watts;
  return use;
}

// Eight GPUs: one is lost, one is shared by three pods, one is idle, one has MIG.
NodeStatus EightGpus() {
  NodeStatus status;
  status.version = "1.2.3";
  status.node = "gpu-node-07";
  status.source = "nvml";
  status.driver_version = "570.133.20";
  status.ready = true;
  status.verdict = "ready: 7 of 8 GPUs have fresh samples; lost: GPU 3";
  status.owners_known = true;
  status.sampled_at_ms = 1'790'000'000'123;
  status.interval_ms = 1000;
  status.stale_after_ms = 10'000;
  status.parts = {{"driver", "ok", "libnvidia-ml.so.1 570.133.20"},
                  {"kubelet", "ok", "41 pods, 8 devices allocated"},
                  {"clients", "ok", "no client was refused since the start"},
                  {"config", "ok", "26 metrics of /etc/podgpu/counters.csv"}};
  for (uint32_t i = 0; i < 8; ++i) {
    status.gpus.push_back(BusyGpu(i));
  }
  StatusGpu& lost = status.gpus[3];
  lost = BusyGpu(3);
  lost.state = "lost";
  lost.since_ms = 1'789'999'865'000;
  lost.utilization_ratio = lost.sm_active_ratio = lost.tensor_active_ratio =
      lost.dram_active_ratio = std::nullopt;
  lost.memory_used_bytes = lost.memory_total_bytes = std::nullopt;
  lost.temperature_celsius = lost.slowdown_celsius = lost.power_watts = lost.power_limit_watts =
      lost.sm_clock_mhz = std::nullopt;
  StatusGpu& shared = status.gpus[4];
  shared.owners = "2 owners, shared";
  shared.holders = {{"infer", "chat-a-5d4f", "server"}, {"infer", "chat-b-77aa", "server"}};
  shared.hidden_holders = 1;
  shared.power_watts = 388;
  shared.throttle_reasons = {"sw_thermal", "hw_power_brake"};
  shared.shares = {{shared.holders[0], Apportioned(0.31, 12 * kGibibyte, 151), std::nullopt},
                   {shared.holders[1], Apportioned(0.4, 28 * kGibibyte, 195), 1'789'999'000'000},
                   {std::nullopt, Watts(42), std::nullopt}};
  StatusGpu& idle = status.gpus[5];
  idle.utilization_ratio = idle.sm_active_ratio = 0;
  idle.idle_since_ms = 1'789'999'160'000;
  idle.idle_for_longer = true;
  StatusInstance instance;
  instance.gpu_instance_id = 9;
  instance.profile = "1g.10gb";
  instance.sm_ratio = 0.25;
  instance.memory_used_bytes = 3 * kGibibyte;
  instance.memory_total_bytes = 10 * kGibibyte;
  instance.holders = {{"vision", "resnet", "main"}};
  instance.hidden_holders = 2;
  status.gpus[6].instances = {instance};
  StatusPod pod;
  pod.pod_namespace = "research";
  pod.pod = "llama-train-0";
  pod.gpus = {0, 1, 2};
  pod.use = {0.96, 201 * kGibibyte, 1956.93, 187'345.52, false, "exclusive"};
  StatusPod rest;
  rest.gpus = {4};
  rest.use.power_watts = 42;
  status.pods = {pod, rest};
  status.faults = {{"lost", 3, "GPU 3 is lost since 14:01:07: XID 79, it left the PCIe bus",
                    "Reboot the node", "gpu=3"},
                   {"degraded", std::nullopt, "kubelet: its list is incomplete", "", ""}};
  status.missing = {{"NVLink errors", "0-7", "the driver says \"not supported\"",
                     "metric=DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL&gpu=0"}};
  status.self = {14'889'779, 0.0003, 3214, 0.000612};
  return status;
}

NodeStatus WithEverything() {
  NodeStatus status = EightGpus();
  StatusProcess process;
  process.pid = 40213;
  process.gpu = 4;
  process.type = "C";
  process.name = "python3 \"x\" \\ \x01 \xC3\xA9";
  process.holder = status.gpus[4].holders[0];
  process.use = Apportioned(0.31, 12 * kGibibyte, 151);
  process.started_ms = 1'789'990'000'000;
  status.processes = {process, StatusProcess()};
  status.history_step_ms = 1000;
  status.history = {{0, {-1, 0, 96, 100}, {1, 2, 3, 4}, {-1, -1, 93, 94}}, {1, {}, {}, {}}};
  return status;
}

TEST(NodeStatus, SurvivesWritingAndReading) {
  const NodeStatus status = WithEverything();
  const StatusOr<NodeStatus> read = ReadNodeStatus(WriteNodeStatus(status));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, status) << WriteNodeStatus(status);
}

TEST(NodeStatus, OfEightGpusFitsInTwelveKilobytes) {
  const std::string json = WriteNodeStatus(EightGpus());
  EXPECT_LE(json.size(), 12'000u) << json;
}

TEST(NodeStatus, RoundsNumbersAndLeavesOutWhatIsAbsent) {
  NodeStatus status;
  status.node = "n";
  StatusGpu gpu;
  gpu.uuid = "GPU-1";
  gpu.state = "ok";
  gpu.sm_active_ratio = 0.123456;
  gpu.tensor_active_ratio = 0;
  gpu.power_watts = 99.999;
  gpu.temperature_celsius = std::numeric_limits<double>::quiet_NaN();
  status.gpus = {gpu};
  EXPECT_EQ(WriteNodeStatus(status),
            "{\"schema\":1,\"version\":\"\",\"node\":\"n\",\"ready\":false,\"verdict\":\"\","
            "\"owners_known\":false,\"interval_ms\":0,\"stale_after_ms\":0,\"parts\":[],"
            "\"devices\":[{\"gpu\":0,\"state\":\"ok\",\"uuid\":\"GPU-1\",\"model\":\"\","
            "\"pci_bus_id\":\"\",\"owners\":\"\",\"sm_active_ratio\":0.1235,"
            "\"tensor_active_ratio\":0,\"power_watts\":100}],"
            "\"self\":{\"series\":0}}\n");
}

// The status of eight GPUs in which the first `part` is replaced by `other`.
std::string StatusWith(std::string_view part, std::string_view other) {
  std::string json = WriteNodeStatus(WithEverything());
  const size_t at = json.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return json.replace(at, part.size(), other);
}

TEST(NodeStatus, AcceptsUnknownKeysAndStates) {
  EXPECT_TRUE(
      ReadNodeStatus(StatusWith("\"schema\":1", R"("more":{"a":[1,null]},"schema":1)")).ok());
  const auto other = ReadNodeStatus(StatusWith("\"state\":\"lost\"", "\"state\":\"molten\""));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->faults[0].state, "molten");
}

TEST(NodeStatus, RefusesInvalidStatuses) {
  struct Row {
    std::string_view part, other, says;
  };
  const Row rows[] = {
      {"{\"schema\"", "[\"schema\"", "it is not a JSON object"},
      {"\"schema\":1", "\"schema\":2", "schema 2 is not supported"},
      {"\"schema\":1", "\"no\":1", "\"schema\" is not a whole number"},
      {"\"node\":\"gpu-node-07\"", "\"node\":\"\"", "\"node\" is empty"},
      {"\"node\":\"gpu-node-07\",", "", "\"node\" is missing"},
      {"\"node\":\"gpu-node-07\"", "\"node\":7", "\"node\" is not a text"},
      {"\"ready\":true", "\"ready\":1", "\"ready\" is neither true nor false"},
      {"\"gpu\":0", "\"gpu\":-1", "\"gpu\" is not a whole number from 0"},
      {"\"gpu\":0", "\"gpu\":4294967296", "\"gpu\" is not a whole number from 0"},
      {"\"sm_active_ratio\":0.9612", "\"sm_active_ratio\":1.2", "not a number from 0 to 1.05"},
      {"\"power_watts\":652.31", "\"power_watts\":-1", "\"power_watts\" is not a number from 0"},
      {"\"devices\":[{", "\"devices\":[1,{", "\"devices\" is not an object"},
      {"\"devices\":[", "\"devices\":0,\"x\":[", "\"devices\" is not a list"},
      {"000000000001\"", "000000000000\"", "two devices have the same UUID"},
      {"\"sm\":[-1,", "\"sm\":[-2,", "\"sm\" is not a whole number from -1 to 100"},
      {"\"sm\":[-1,", "\"sm\":[", "the lists of GPU 0 in \"history\" differ in length"},
      {"\"self\":{", "\"selves\":{", "\"self\" is missing"},
  };
  for (const Row& row : rows) {
    const auto status = ReadNodeStatus(StatusWith(row.part, row.other));
    ASSERT_FALSE(status.ok()) << row.other;
    EXPECT_NE(std::string(status.status().message()).find(row.says), std::string::npos)
        << row.other << ": " << status.status();
  }
}

TEST(NodeStatus, RefusesListsThatAreTooLong) {
  NodeStatus status = EightGpus();
  status.history = {{0, std::vector<int8_t>(301), {}, {}}};
  const auto read = ReadNodeStatus(WriteNodeStatus(status));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().message(), "\"sm\" has 301 members; at most 300 are allowed");
}

}  // namespace
}  // namespace podgpu
