// FakeNvml's answers about processes (fake_nvml_table.h): lists of a GPU or of one of its MIG
// devices, utilization samples, and accounting.  Functions of what the test has set; called under
// the fake's lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "source/testing/fake_nvml_table.h"

namespace podgpu {

// Like the vendor: when the array is too small, returns the needed size.
template <typename Entry>
abi::nvmlReturn_t PutFakeList(const std::vector<Entry>& told, uint32_t* count, Entry* entries) {
  const bool fits = entries != nullptr && told.size() <= *count;
  *count = static_cast<uint32_t>(told.size());
  if (!fits) {
    return abi::NVML_ERROR_INSUFFICIENT_SIZE;
  }
  std::ranges::copy(told, entries);
  return abi::NVML_SUCCESS;
}

inline std::vector<abi::nvmlProcessInfo_t> ListedOn(const FakeNvmlGpu& gpu,
                                                    const FakeMigDevice* mig, bool mps) {
  std::vector<abi::nvmlProcessInfo_t> told;
  for (const FakeNvmlProcess& process : gpu.processes) {
    const bool is_on = mig == nullptr || process.gpu_instance_id == mig->gpu_instance_id;
    if (is_on && process.mps_client == mps) {
      told.push_back({process.pid, process.memory_bytes, process.gpu_instance_id, 0});
    }
  }
  return told;
}

inline std::vector<abi::nvmlProcessUtilizationInfo_v1_t> RecordsSince(const FakeNvmlGpu& gpu,
                                                                      uint64_t last_seen_us) {
  std::vector<abi::nvmlProcessUtilizationInfo_v1_t> records;
  for (const FakeNvmlProcess& process : gpu.processes) {
    std::ranges::copy_if(process.records, std::back_inserter(records),
                         [&](const auto& record) { return record.timeStamp > last_seen_us; });
  }
  return records;
}

// The same for the older call.
inline std::vector<abi::nvmlProcessUtilizationSample_t> SamplesSince(const FakeNvmlGpu& gpu,
                                                                     uint64_t last_seen_us) {
  std::vector<abi::nvmlProcessUtilizationSample_t> samples;
  for (const abi::nvmlProcessUtilizationInfo_v1_t& record : RecordsSince(gpu, last_seen_us)) {
    samples.push_back({record.pid, record.timeStamp, record.smUtil, record.memUtil, 0, 0});
  }
  return samples;
}

// Like the vendor: always off in MIG mode.
inline abi::nvmlReturn_t SetFakeAccounting(FakeNvmlGpu& gpu, int mode) {
  if (gpu.mig_enabled) {
    return abi::NVML_ERROR_NOT_SUPPORTED;
  }
  gpu.accounting.is_on = gpu.accounting.obeys ? mode == 1 : gpu.accounting.is_on;
  return abi::NVML_SUCCESS;
}

inline abi::nvmlReturn_t PutFakeAccounted(const FakeNvmlGpu& gpu, uint32_t* count, uint32_t* pids) {
  if (!gpu.accounting.is_on) {
    return abi::NVML_ERROR_NOT_SUPPORTED;
  }
  std::vector<uint32_t> told;
  for (const abi::nvmlAccountingStats_v2_t& life : gpu.accounting.lives) {
    told.push_back(life.pid);
  }
  return PutFakeList(told, count, pids);
}

// Fills the struct of either version of the call.
template <typename Stats>
abi::nvmlReturn_t PutFakeLife(const FakeNvmlGpu& gpu, uint32_t pid, Stats& stats) {
  const auto life =
      std::ranges::find(gpu.accounting.lives, pid, &abi::nvmlAccountingStats_v2_t::pid);
  if (!gpu.accounting.is_on || life == gpu.accounting.lives.end()) {
    return gpu.accounting.is_on ? abi::NVML_ERROR_NOT_FOUND : abi::NVML_ERROR_NOT_SUPPORTED;
  }
  stats.isRunning = life->isRunning;
  stats.gpuUtilization = life->gpuUtilization;
  stats.memoryUtilization = life->memoryUtilization;
  stats.maxMemoryUsage = life->maxMemoryUsage;
  stats.time = life->time;
  stats.startTime = life->startTime;
  return abi::NVML_SUCCESS;
}

}  // namespace podgpu
