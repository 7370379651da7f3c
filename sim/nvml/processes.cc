// The simulated NVML: which processes run on a device.
//
// A process is in one list: clients of an MPS server in the MPS list, all others in the compute
// list; no simulated process uses graphics.  On a GPU that is shared by MPS the processes of pods
// are clients; a process outside pods is not: it is the server itself, if the scenario has one.
#include <algorithm>
#include <string>

#include "abi/nvml.h"
#include "abi/nvml_processes.h"
#include "sim/nvml/lists.h"

namespace podgpu::sim {

std::vector<ProcessFacts> ProcessesOn(const NvmlTarget& on) {
  std::vector<ProcessFacts> processes;
  for (int i = 0; i < on.world->process_count(on.now); ++i) {
    const ProcessFacts process = on.world->process(i, on.now);
    const bool is_part = process.device.instance == on.device.instance &&
                         process.device.compute == on.device.compute;
    if (process.device.gpu == on.device.gpu && (is_part || !on.is_mig())) {
      processes.push_back(process);
    }
  }
  std::ranges::sort(processes, {}, &ProcessFacts::pid);
  return processes;
}

}  // namespace podgpu::sim

// NOLINTBEGIN(readability-identifier-naming): the names are the vendor's.
namespace {

using namespace podgpu::abi;  // NOLINT(google-build-using-namespace): they are all about it.
using namespace podgpu::sim;  // NOLINT(google-build-using-namespace): and about its answers.

enum class ProcessKind : uint8_t { kCompute, kGraphics, kMps };

bool IsOfKind(ProcessKind kind, const NvmlTarget& on, const ProcessFacts& process) {
  const bool is_client = on.gpu().shared_by_mps && !process.pod_namespace.empty();
  return kind == (is_client ? ProcessKind::kMps : ProcessKind::kCompute);
}

// Gives the instances also where the device is a MIG device.
void NameProcess(const NvmlTarget& on, const ProcessFacts& process, nvmlProcessInfo_t& entry) {
  constexpr uint32_t kNoInstance = 0xffffffff;
  entry.pid = static_cast<uint32_t>(process.pid);
  entry.usedGpuMemory = static_cast<unsigned long long>(process.memory_bytes);
  entry.gpuInstanceId = kNoInstance;
  entry.computeInstanceId = kNoInstance;
  const DeviceRef& device = process.device;
  if (device.instance < 0) {
    return;
  }
  const World& world = *on.world;
  entry.gpuInstanceId =
      static_cast<uint32_t>(world.instance(device.gpu, device.instance, on.now).gpu_instance_id);
  if (device.compute >= 0) {
    entry.computeInstanceId = static_cast<uint32_t>(
        world.compute(device.gpu, device.instance, device.compute, on.now).compute_instance_id);
  }
}

std::vector<nvmlProcessInfo_t> EntriesOf(ProcessKind kind, const NvmlTarget& on) {
  std::vector<nvmlProcessInfo_t> entries;
  for (const ProcessFacts& process : ProcessesOn(on)) {
    if (IsOfKind(kind, on, process)) {
      NameProcess(on, process, entries.emplace_back());
    }
  }
  return entries;
}

nvmlReturn_t TellProcesses(std::string_view name, nvmlDevice_t device, ProcessKind kind,
                           unsigned* count, nvmlProcessInfo_t* entries) {
  return AnswerNvmlList({.name = name, .device = device, .scope = NvmlScope::kAny}, count, entries,
                        [kind](const NvmlTarget& on) { return EntriesOf(kind, on); });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_t* entries) {
  return TellProcesses(__func__, device, ProcessKind::kCompute, count, entries);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_t* entries) {
  return TellProcesses(__func__, device, ProcessKind::kCompute, count, entries);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned* count,
                                                      nvmlProcessInfo_t* entries) {
  return TellProcesses(__func__, device, ProcessKind::kGraphics, count, entries);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                      nvmlProcessInfo_t* entries) {
  return TellProcesses(__func__, device, ProcessKind::kGraphics, count, entries);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count,
                                                        nvmlProcessInfo_t* entries) {
  return TellProcesses(__func__, device, ProcessKind::kMps, count, entries);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                        nvmlProcessInfo_t* entries) {
  return TellProcesses(__func__, device, ProcessKind::kMps, count, entries);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  const NvmlTarget on = BeginNvmlSystemCall(__func__);
  if (on.result != NVML_SUCCESS) {
    return on.result;
  }
  if (name == nullptr || length == 0) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  for (int i = 0; i < on.world->process_count(on.now); ++i) {
    const ProcessFacts process = on.world->process(i, on.now);
    if (static_cast<unsigned>(process.pid) == pid) {
      std::string text(kProgramFolder);
      text += ProcessComm(process);
      name[text.copy(name, length - 1)] = '\0';  // A name that is too long is cut.
      return NVML_SUCCESS;
    }
  }
  return NVML_ERROR_NOT_FOUND;
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
