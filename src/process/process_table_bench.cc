// Cost of one reading with many processes: table and ledger together, and the busy meter.
#include <benchmark/benchmark.h>

#include "process/process_accounts.h"

namespace podgpu {
namespace {

// Eight GPUs that share `processes` processes.
ProcessReading ReadingOf(uint32_t processes) {
  ProcessReading reading;
  for (uint32_t i = 0; i < 8; ++i) {
    DeviceReading& device = reading.devices.emplace_back();
    device.device = {i};
    device.counter_mj = 0;
    for (uint32_t pid = 1 + i; pid <= processes; pid += 8) {
      auto identity = std::make_shared<ProcessIdentity>();
      identity->key = {.pid = pid, .start_ticks = 5};
      identity->place = {.pod_uid = "pod-" + std::to_string(pid % 110), .container_id = "c"};
      device.processes.push_back({.pid = pid, .memory_bytes = pid, .identity = identity});
      device.busy.push_back({.pid = pid, .busy_percent_us = pid, .sm_percent = 1});
    }
  }
  return reading;
}

void BM_Take(benchmark::State& state) {
  ProcessReading reading = ReadingOf(static_cast<uint32_t>(state.range(0)));
  ProcessAccounts accounts({}, {});
  for (auto _ : state) {
    reading.at += std::chrono::seconds(1);
    for (DeviceReading& device : reading.devices) {
      device.at = reading.at;
      *device.counter_mj += 400'000;
    }
    accounts.Take(reading);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Take)->Arg(8)->Arg(100)->Arg(1'000)->Arg(10'000);

}  // namespace
}  // namespace podgpu
