#include "source/nvml/process_device.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "source/nvml/error.h"
#include "topology/mig_profile.h"

namespace podgpu {
namespace {

using abi::nvmlReturn_t;

constexpr double kMostPercent = 100;
// Accounting and /proc use different clocks for the start time of a process.
constexpr std::chrono::seconds kSameBirth{2};
constexpr auto kNoMemory = std::numeric_limits<unsigned long long>::max();
// Pages have signed numbers; a greater counter comes from a GPU that is gone.
constexpr unsigned long long kMostEnergyMj = std::numeric_limits<int64_t>::max();

template <typename Entry>
UtilizationRecord RecordOf(const Entry& entry) {
  return {.pid = entry.pid,
          .stamp_us = entry.timeStamp,
          .sm_percent = entry.smUtil,
          .memory_percent = entry.memUtil};
}

uint64_t MicrosecondsOf(WallTime time) {
  return static_cast<uint64_t>(std::max<int64_t>(ToMicroseconds(time), 0));
}

}  // namespace

NvmlProcessDevice::NvmlProcessDevice(std::shared_ptr<const abi::NvmlLibrary> library,
                                     const std::shared_ptr<NvmlSamples>& samples,
                                     NvmlAddress address, Kept kept)
    : library_(std::move(library)), address_(std::move(address)), kept_(std::move(kept)) {
  for (const NvmlInstanceHandle& instance : address_.instances) {
    parts_.push_back({instance.gpu_instance_id, ComputeSlicesOf(instance.profile),
                      NvmlGpm(library_, samples, address_.gpu.handle, instance.gpu_instance_id)});
  }
}

nvmlReturn_t NvmlProcessDevice::Read(Instant now, WallTime wall, bool profiles) {
  at_ = now;
  wall_us_ = MicrosecondsOf(wall);
  const auto read_energy = library_->api.nvmlDeviceGetTotalEnergyConsumption;
  energy_mj_ = 0;
  energy_code_ = read_energy == nullptr ? abi::NVML_ERROR_FUNCTION_NOT_FOUND
                                        : read_energy(address_.gpu.handle, &energy_mj_);
  ReadUtilization();
  ReadLists();
  ReadLateUtilization();
  const nvmlReturn_t accounting_code = ReadAccounting(now, wall);
  ReadActivity(profiles);
  for (const nvmlReturn_t code : {energy_code_, utilization_code_, lists_code_, accounting_code}) {
    if (MakesPointless(code)) {
      return code;
    }
  }
  return abi::NVML_SUCCESS;
}

void NvmlProcessDevice::ReadLists() {
  processes_.clear();
  lists_code_ = abi::NVML_SUCCESS;
  ReadListsOf(address_.gpu.handle, kWholeGpu);
  if (lists_code_ == abi::NVML_ERROR_NO_PERMISSION && !address_.instances.empty()) {
    processes_.clear();
    lists_code_ = abi::NVML_SUCCESS;
    for (const NvmlInstanceHandle& instance : address_.instances) {
      ReadListsOf(instance.handle, instance.gpu_instance_id);
    }
  }
}

// Called after the lists: a process that accounting knows and the lists lack has started since, or
// has ended.
nvmlReturn_t NvmlProcessDevice::ReadAccounting(Instant now, WallTime wall) {
  const abi::NvmlTable& api = library_->api;
  const nvmlReturn_t code = kept_.accounting.ReadMode(api, address_.gpu.handle, now);
  if (code != abi::NVML_SUCCESS) {
    return code;
  }
  return kept_.accounting.ReadEnded(api, address_.gpu.handle, wall, processes_,
                                    lists_code_ == abi::NVML_SUCCESS);
}

void NvmlProcessDevice::ReadListsOf(abi::nvmlDevice_t device, uint32_t instance) {
  const abi::NvmlTable& api = library_->api;
  const auto newest = [](auto call, auto older) { return call != nullptr ? call : older; };
  const nvmlReturn_t compute = ReadList(device, instance, ListKind::kCompute,
                                        newest(api.nvmlDeviceGetComputeRunningProcesses_v3,
                                               api.nvmlDeviceGetComputeRunningProcesses_v2));
  const nvmlReturn_t graphics = ReadList(device, instance, ListKind::kGraphics,
                                         newest(api.nvmlDeviceGetGraphicsRunningProcesses_v3,
                                                api.nvmlDeviceGetGraphicsRunningProcesses_v2));
  const nvmlReturn_t mps = ReadList(device, instance, ListKind::kMps,
                                    newest(api.nvmlDeviceGetMPSComputeRunningProcesses_v3,
                                           api.nvmlDeviceGetMPSComputeRunningProcesses_v2));
  // Without the calls for the other two lists, these lists are empty.
  for (const nvmlReturn_t code : {compute, IsLacking(graphics) ? abi::NVML_SUCCESS : graphics,
                                  IsLacking(mps) ? abi::NVML_SUCCESS : mps}) {
    lists_code_ = lists_code_ == abi::NVML_SUCCESS ? code : lists_code_;
  }
}

nvmlReturn_t NvmlProcessDevice::ReadList(abi::nvmlDevice_t device, uint32_t instance, ListKind kind,
                                         nvmlReturn_t (*call)(abi::nvmlDevice_t, uint32_t*,
                                                              abi::nvmlProcessInfo_t*)) {
  if (call == nullptr) {
    return abi::NVML_ERROR_FUNCTION_NOT_FOUND;
  }
  const nvmlReturn_t code =
      FillList(listed_, [&](abi::nvmlProcessInfo_t* entries, uint32_t& count) {
        return call(device, &count, entries);
      });
  for (uint32_t i = 0; i < listed_.count; ++i) {
    const abi::nvmlProcessInfo_t& entry = listed_.entries[i];
    const bool has_memory = entry.usedGpuMemory != kNoMemory;
    processes_.push_back(
        {.pid = entry.pid,
         .instance = instance != kWholeGpu ? instance : entry.gpuInstanceId,
         .memory_bytes = has_memory ? std::optional<uint64_t>(entry.usedGpuMemory) : std::nullopt,
         .mps_client = kind == ListKind::kMps,
         .graphics = kind == ListKind::kGraphics});
  }
  return code;
}

void NvmlProcessDevice::ReadUtilization() {
  late_records_.clear();
  records_.clear();
  utilization_code_ = AskUtilization(kept_.meter.Since(wall_us_));
}

// Reads older samples for running processes that the first answer lacks (process/busy_meter.h).
void NvmlProcessDevice::ReadLateUtilization() {
  std::ranges::sort(records_, {}, &UtilizationRecord::pid);
  const bool all_told = std::ranges::all_of(processes_, [&](const ListedProcess& process) {
    return std::ranges::binary_search(records_, process.pid, {}, &UtilizationRecord::pid);
  });
  if (utilization_code_ != abi::NVML_SUCCESS || all_told) {
    return;
  }
  late_records_.swap(records_);
  AskUtilization(kept_.meter.LateSince());
  late_records_.swap(records_);
}

// Appends to records_.
nvmlReturn_t NvmlProcessDevice::AskUtilization(uint64_t since_us) {
  const nvmlReturn_t code = AskUtilizationOf(address_.gpu.handle, since_us);
  told_by_instances_ = IsLacking(code) && !address_.instances.empty() && !instances_lack_samples_;
  return told_by_instances_ ? AskInstances(since_us) : code;
}

// All instances or none: a process without samples would count as idle beside the others.
nvmlReturn_t NvmlProcessDevice::AskInstances(uint64_t since_us) {
  for (const NvmlInstanceHandle& instance : address_.instances) {
    const nvmlReturn_t code = AskUtilizationOf(instance.handle, since_us);
    if (code != abi::NVML_SUCCESS) {
      instances_lack_samples_ = IsLacking(code);
      records_.clear();
      return code;
    }
  }
  return abi::NVML_SUCCESS;
}

// On Blackwell and later the older call returns nothing, so the newer one is tried first.
nvmlReturn_t NvmlProcessDevice::AskUtilizationOf(abi::nvmlDevice_t device, uint64_t since_us) {
  nvmlReturn_t code = ReadUtilizationInfo(device, since_us);
  if (IsLacking(code)) {
    code = ReadUtilizationSamples(device, since_us);
  }
  // "Not found" means that no process was active.
  return code == abi::NVML_ERROR_NOT_FOUND ? static_cast<nvmlReturn_t>(abi::NVML_SUCCESS) : code;
}

nvmlReturn_t NvmlProcessDevice::ReadUtilizationInfo(abi::nvmlDevice_t device, uint64_t since_us) {
  const auto call = library_->api.nvmlDeviceGetProcessesUtilizationInfo;
  if (call == nullptr) {
    return abi::NVML_ERROR_FUNCTION_NOT_FOUND;
  }
  const nvmlReturn_t code =
      FillList(told_, [&](abi::nvmlProcessUtilizationInfo_v1_t* entries, uint32_t& count) {
        abi::nvmlProcessesUtilizationInfo_v1_t info{.version = abi::nvmlProcessesUtilizationInfo_v1,
                                                    .processSamplesCount = count,
                                                    .lastSeenTimeStamp = since_us,
                                                    .procUtilArray = entries};
        const nvmlReturn_t result = call(device, &info);
        count = info.processSamplesCount;
        return result;
      });
  for (uint32_t i = 0; i < told_.count; ++i) {
    records_.push_back(RecordOf(told_.entries[i]));
  }
  return code;
}

nvmlReturn_t NvmlProcessDevice::ReadUtilizationSamples(abi::nvmlDevice_t device,
                                                       uint64_t since_us) {
  const auto call = library_->api.nvmlDeviceGetProcessUtilization;
  if (call == nullptr) {
    return abi::NVML_ERROR_FUNCTION_NOT_FOUND;
  }
  const nvmlReturn_t code =
      FillList(sampled_, [&](abi::nvmlProcessUtilizationSample_t* entries, uint32_t& count) {
        return call(device, entries, &count, since_us);
      });
  for (uint32_t i = 0; i < sampled_.count; ++i) {
    records_.push_back(RecordOf(sampled_.entries[i]));
  }
  return code;
}

void NvmlProcessDevice::PauseProfiling() {
  for (Part& part : parts_) {
    part.gpm.Pause();
  }
  activity_since_.reset();
}

void NvmlProcessDevice::ReadActivity(bool profiles) {
  const bool was_read = activity_since_.has_value();
  if (parts_.empty() || !profiles) {
    PauseProfiling();
    return;
  }
  if (metrics_request_ == nullptr) {
    metrics_request_ = std::make_unique<abi::nvmlGpmMetricsGet_t>();
  }
  constexpr uint32_t kMetrics[] = {2};  // NVML_GPM_METRIC_SM_UTIL
  for (Part& part : parts_) {
    part.gpm.Read(kMetrics, at_, *metrics_request_);
  }
  activity_for_ = was_read ? at_ - *activity_since_ : Duration::zero();
  activity_since_ = at_;
}

// All instances or none: if one were missing, the shares of the others would be too large.
void NvmlProcessDevice::FinishActivity(DeviceReading& reading) const {
  reading.instances.clear();
  const auto is_told = [](const Part& part) {
    return !part.gpm.metrics().empty() && part.gpm.metrics()[0].code == abi::NVML_SUCCESS &&
           part.gpm.metrics()[0].value >= 0 && part.gpm.metrics()[0].value <= kMostPercent;
  };
  if (!activity_since_ || activity_for_ <= Duration::zero() ||
      !std::ranges::all_of(parts_, is_told)) {
    return;
  }
  const double span_us = std::chrono::duration<double, std::micro>(activity_for_).count();
  for (const Part& part : parts_) {
    const double busy = part.gpm.metrics()[0].value * static_cast<double>(part.slices) * span_us;
    reading.instances.push_back(
        {.instance = part.instance, .busy = static_cast<uint64_t>(std::llround(busy))});
  }
}

void NvmlProcessDevice::NoteBirth(const ListedProcess& process) {
  if (process.identity == nullptr || !process.identity->started_at) {
    return;
  }
  const uint64_t born_us = MicrosecondsOf(*process.identity->started_at);
  for (std::vector<UtilizationRecord>* records : {&records_, &late_records_}) {
    for (UtilizationRecord& record :
         std::ranges::equal_range(*records, process.pid, {}, &UtilizationRecord::pid)) {
      record.born_us = born_us;
    }
  }
}

// The pid of an ended process may already belong to another process; the start times tell them
// apart.
void NvmlProcessDevice::FinishAccounting(const Identify& identify, DeviceReading& reading) const {
  reading.accounting = kept_.accounting.mode();
  reading.ended = kept_.accounting.ended();
  for (EndedProcess& process : reading.ended) {
    std::shared_ptr<const ProcessIdentity> now = identify(process.pid);
    const std::optional<WallTime> born = now != nullptr ? now->started_at : std::nullopt;
    const std::optional<WallTime> told = process.started_at;
    const bool is_same = born && told && *born <= *told + kSameBirth;
    process.identity = is_same ? std::move(now) : nullptr;
  }
}

void NvmlProcessDevice::Finish(DeviceNumber number, const Identify& identify,
                               DeviceReading& reading) {
  reading.device = number;
  reading.at = at_;
  const bool has_energy = energy_code_ == abi::NVML_SUCCESS && energy_mj_ <= kMostEnergyMj;
  reading.counter_mj = has_energy ? std::optional<uint64_t>(energy_mj_) : std::nullopt;
  reading.listed = lists_code_ == abi::NVML_SUCCESS;
  reading.processes.clear();
  std::ranges::sort(late_records_, {}, &UtilizationRecord::pid);
  for (ListedProcess& process : processes_) {
    process.identity = identify(process.pid);
    NoteBirth(process);
    reading.processes.push_back(std::move(process));
  }
  processes_.clear();
  FinishAccounting(identify, reading);
  FinishActivity(reading);
  reading.holders.clear();
  FinishUtilization(reading);
}

void NvmlProcessDevice::FinishUtilization(DeviceReading& reading) {
  reading.busy.clear();
  reading.samples =
      IsLacking(utilization_code_) ? BusySamples::kNotSupported : BusySamples::kMissing;
  if (utilization_code_ != abi::NVML_SUCCESS) {
    return;
  }
  const auto busy = kept_.meter.Take(records_, wall_us_, late_records_);
  if (!busy) {
    return;
  }
  reading.busy.assign(busy->begin(), busy->end());
  reading.samples = BusySamples::kMeasured;
  for (ProcessBusy& part : reading.busy) {
    const auto process = std::ranges::find(reading.processes, part.pid, &ListedProcess::pid);
    if (told_by_instances_ && process != reading.processes.end()) {
      const auto of = std::ranges::find(parts_, process->instance, &Part::instance);
      part.busy_percent_us *= of == parts_.end() ? 1 : of->slices;
    }
  }
}

}  // namespace podgpu
