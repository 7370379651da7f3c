#include "sim/nvml/session.h"

#include <algorithm>

namespace podgpu::sim {
namespace {

constexpr uint32_t kInitWithoutGpus = 1;  // NVML_INIT_FLAG_NO_GPUS: none is no failure.

NvmlTarget Failure(abi::nvmlReturn_t result) {
  NvmlTarget target;
  target.result = result;
  return target;
}

// The code with which the driver refuses every client at `t`; NVML_SUCCESS when it accepts them.
abi::nvmlReturn_t DriverState(const World& world, TimeUs t) {
  if (world.FaultAt(FaultKind::kNoNvml, t) != nullptr) {
    return abi::NVML_ERROR_LIBRARY_NOT_FOUND;
  }
  if (world.FaultAt(FaultKind::kDriverMismatch, t) != nullptr) {
    return abi::NVML_ERROR_LIB_RM_VERSION_MISMATCH;
  }
  return world.FaultAt(FaultKind::kDriverReload, t) != nullptr ? abi::NVML_ERROR_DRIVER_NOT_LOADED
                                                               : abi::NVML_SUCCESS;
}

// Calls visit(target) for each MIG device of `gpu`, in hierarchy order, until it returns true.
template <typename Visit>
bool AnyMigDevice(const NvmlTarget& gpu, const Visit& visit) {
  NvmlTarget target = gpu;
  target.mig_index = -1;
  const int instances = gpu.world->instance_count(gpu.device.gpu, gpu.now);
  for (int instance = 0; instance < instances; ++instance) {
    const int computes = gpu.world->compute_count(gpu.device.gpu, instance, gpu.now);
    for (int compute = 0; compute < computes; ++compute) {
      target.device = {gpu.device.gpu, instance, compute};
      ++target.mig_index;
      if (visit(target)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

NvmlSession& NvmlSession::Get() {
  // A library has no other place for what its calls share.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static NvmlSession* const session = std::make_unique<NvmlSession>().release();
  return *session;
}

abi::nvmlReturn_t NvmlSession::Init(uint32_t flags) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (users_ > 0) {
    const bool reloads = directory_->world().FaultAt(FaultKind::kDriverReload, directory_->Now());
    users_ += reloads ? 0 : 1;
    return reloads ? abi::NVML_ERROR_DRIVER_NOT_LOADED : abi::NVML_SUCCESS;
  }
  std::string error;  // NVML cannot report it; podgpu-sim reports it.
  std::unique_ptr<RunDirectory> directory = RunDirectory::Open("", error);
  if (directory == nullptr) {
    return abi::NVML_ERROR_DRIVER_NOT_LOADED;
  }
  const World& world = directory->world();
  const TimeUs now = directory->Now();
  if (const abi::nvmlReturn_t state = DriverState(world, now); state != abi::NVML_SUCCESS) {
    return state;
  }
  std::vector<int> gpus;
  for (int gpu = 0; gpu < world.gpu_count(); ++gpu) {
    if (world.FaultAt(FaultKind::kGpuAbsent, gpu, now) == nullptr) {
      gpus.push_back(gpu);
    }
  }
  if (gpus.empty() && (flags & kInitWithoutGpus) == 0) {
    return abi::NVML_ERROR_GPU_NOT_FOUND;
  }
  directory_ = std::move(directory);
  gpus_ = std::move(gpus);
  users_ = 1;
  return abi::NVML_SUCCESS;
}

abi::nvmlReturn_t NvmlSession::Shutdown() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (users_ == 0) {
    return abi::NVML_ERROR_UNINITIALIZED;
  }
  --users_;
  return abi::NVML_SUCCESS;
}

NvmlTarget NvmlSession::System() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (users_ == 0) {
    return Failure(abi::NVML_ERROR_UNINITIALIZED);
  }
  NvmlTarget target;
  target.world = &directory_->world();
  target.now = directory_->Now();
  if (target.world->FaultAt(FaultKind::kDriverReload, target.now) != nullptr) {
    return Failure(abi::NVML_ERROR_UNINITIALIZED);
  }
  return target;
}

unsigned NvmlSession::GpuCount() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<unsigned>(gpus_.size());
}

NvmlTarget NvmlSession::ByIndex(unsigned index) {
  NvmlTarget target = System();
  if (target.result != abi::NVML_SUCCESS) {
    return target;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (index >= gpus_.size()) {
    return Failure(abi::NVML_ERROR_INVALID_ARGUMENT);
  }
  target.device.gpu = gpus_[index];
  target.index = index;
  return target;
}

int64_t NvmlSession::StampUs(TimeUs t) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return directory_->StampUs(t) + directory_->world().ClockJumpUs(directory_->Now());
}

TimeUs NvmlSession::FromStampUs(int64_t stamp_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return directory_->FromStampUs(stamp_us) - directory_->world().ClockJumpUs(directory_->Now());
}

uint64_t NvmlSession::Changes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return directory_->changes();
}

std::chrono::microseconds NvmlSession::Sleep(TimeUs until, uint64_t seen,
                                             std::chrono::microseconds limit) {
  std::shared_ptr<const RunDirectory> directory;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    directory = directory_;
  }
  return directory->Sleep(until, seen, limit);
}

std::string NvmlSession::NodePath() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return directory_->path();
}

NvmlTarget NvmlSession::Find(abi::nvmlDevice_t handle) {
  NvmlTarget target = System();
  if (target.result != abi::NVML_SUCCESS) {
    return target;
  }
  std::string mig_uuid;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = [handle](const abi::nvmlDevice_st& one) { return &one == handle; };
    const auto found = std::find_if(handles_.begin(), handles_.end(), known);
    if (found == handles_.end() ||
        found->driver_since_us != target.world->DriverSince(target.now)) {
      return Failure(abi::NVML_ERROR_INVALID_ARGUMENT);
    }
    const auto numbered = std::ranges::find(gpus_, found->gpu);
    if (numbered == gpus_.end()) {  // Present at an earlier nvmlInit, absent at the latest.
      return Failure(abi::NVML_ERROR_INVALID_ARGUMENT);
    }
    target.device.gpu = found->gpu;
    target.index = static_cast<unsigned>(numbered - gpus_.begin());
    mig_uuid = found->mig_uuid;
  }
  if (mig_uuid.empty()) {
    return target;
  }
  const NvmlTarget gpu = target;
  const bool found = AnyMigDevice(gpu, [&](const NvmlTarget& one) {
    target = one;
    return one.compute().mig_uuid == mig_uuid;
  });
  return found ? target : Failure(abi::NVML_ERROR_INVALID_ARGUMENT);
}

NvmlTarget NvmlSession::FindMig(const NvmlTarget& gpu, int mig_index) const {
  NvmlTarget target;
  const bool found = AnyMigDevice(gpu, [&](const NvmlTarget& one) {
    target = one;
    return one.mig_index == mig_index;
  });
  return found ? target : Failure(abi::NVML_ERROR_NOT_FOUND);
}

NvmlTarget NvmlSession::FindUuid(std::string_view uuid) {
  if (const NvmlTarget system = System(); system.result != abi::NVML_SUCCESS) {
    return system;
  }
  NvmlTarget found;
  for (unsigned index = 0; index < GpuCount(); ++index) {
    const NvmlTarget gpu = ByIndex(index);
    if (gpu.result != abi::NVML_SUCCESS || gpu.gpu().uuid == uuid) {
      return gpu;
    }
    const bool is_mig = AnyMigDevice(gpu, [&](const NvmlTarget& one) {
      found = one;
      return one.compute().mig_uuid == uuid;
    });
    if (is_mig) {
      return found;
    }
  }
  return Failure(abi::NVML_ERROR_NOT_FOUND);
}

abi::nvmlDevice_t NvmlSession::Handle(const NvmlTarget& target) {
  const std::string mig_uuid(target.is_mig() ? target.compute().mig_uuid : std::string_view());
  const TimeUs driver_since_us = target.world->DriverSince(target.now);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (abi::nvmlDevice_st& one : handles_) {
    if (one.gpu == target.device.gpu && one.mig_uuid == mig_uuid &&
        one.driver_since_us == driver_since_us) {
      return &one;
    }
  }
  handles_.push_back({target.device.gpu, mig_uuid, driver_since_us});
  return &handles_.back();
}

}  // namespace podgpu::sim
