#include "source/nvml/accounting_switch.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/foreign_call_thread.h"
#include "base/wakeup.h"
#include "source/nvml/error.h"
#include "source/nvml/task.h"

namespace podgpu {
namespace {

using abi::nvmlReturn_t;

constexpr std::chrono::seconds kSwitchPatience{60};
constexpr int kOn = 1;

// Switches accounting on, GPU by GPU.
class Switching final : public NvmlTask {
 public:
  explicit Switching(abi::NvmlLibrary library) : library_(std::move(library)) {}

  void Run() override {
    const abi::NvmlTable& api = library_.api;
    failed = "nvmlInit_v2";
    code = api.nvmlInit_v2();
    if (code != abi::NVML_SUCCESS) {
      return;
    }
    uint32_t count = 0;
    failed = "nvmlDeviceGetCount_v2";
    code = api.nvmlDeviceGetCount_v2(&count);
    for (uint32_t index = 0; code == abi::NVML_SUCCESS && index < count; ++index) {
      if (!GoTo(static_cast<int>(index))) {
        return;
      }
      switched.lines.push_back(SwitchOne(index));
    }
    GoTo(kLibrary);
    api.nvmlShutdown();
  }

  const abi::NvmlTable& api() const { return library_.api; }

  // Results; read after Run has returned.
  nvmlReturn_t code = abi::NVML_SUCCESS;
  const char* failed = "";
  AccountingSwitched switched;

 private:
  std::string SwitchOne(uint32_t index) {
    abi::nvmlDevice_t device = nullptr;
    char uuid[abi::NVML_DEVICE_UUID_V2_BUFFER_SIZE] = "";
    nvmlReturn_t told = library_.api.nvmlDeviceGetHandleByIndex_v2(index, &device);
    if (told == abi::NVML_SUCCESS) {
      library_.api.nvmlDeviceGetUUID(device, uuid, sizeof uuid - 1);
    }
    const std::string gpu = absl::StrFormat("GPU %d%s%s: ", index, uuid[0] != 0 ? " " : "", uuid);
    if (told != abi::NVML_SUCCESS) {
      return gpu + Failed("cannot be reached", told);
    }
    int mode = 0;
    told = GetMode(device, mode);
    if (told == abi::NVML_SUCCESS && mode == kOn) {
      return gpu + "accounting is on already";
    }
    const auto set = library_.api.nvmlDeviceSetAccountingMode;
    if (told == abi::NVML_SUCCESS) {
      told = set == nullptr ? static_cast<nvmlReturn_t>(abi::NVML_ERROR_FUNCTION_NOT_FOUND)
                            : set(device, kOn);
    }
    if (told == abi::NVML_SUCCESS) {
      told = GetMode(device, mode);
      if (told == abi::NVML_SUCCESS && mode == kOn) {
        return gpu + "accounting is on now, until the driver is unloaded";
      }
    }
    return gpu + Refused(told);
  }

  nvmlReturn_t GetMode(abi::nvmlDevice_t device, int& mode) const {
    const auto get = library_.api.nvmlDeviceGetAccountingMode;
    return get == nullptr ? static_cast<nvmlReturn_t>(abi::NVML_ERROR_FUNCTION_NOT_FOUND)
                          : get(device, &mode);
  }

  std::string Refused(nvmlReturn_t told) {
    if (IsLacking(told)) {
      return absl::StrFormat(
          "accounting stays off (%s): in MIG mode the driver has none, nor have some boards",
          NvmlWords(library_.api, told));
    }
    if (told == abi::NVML_ERROR_NO_PERMISSION) {
      return Failed("accounting is refused", told) +
             ": it needs root. Run this as root, in a container with runAsUser: 0";
    }
    return told == abi::NVML_SUCCESS
               ? Failed("the driver reports success, but accounting stays off", told)
               : Failed("accounting cannot be switched on", told);
  }

  std::string Failed(std::string_view what, nvmlReturn_t told) {
    switched.has_failed = true;
    return absl::StrFormat("%s (%s)", what, NvmlWords(library_.api, told));
  }

  const abi::NvmlLibrary library_;
};

}  // namespace

StatusOr<AccountingSwitched> SwitchAccountingOn(abi::NvmlLibrary library, Clock& clock,
                                                const ThreadTally& written_off,
                                                std::chrono::seconds patience) {
  const std::string name = library.name;
  if (!library.Has(abi::NvmlCapability::kDevices)) {
    return absl::FailedPreconditionError(
        name + " is too old to list its GPUs. Install driver R450 or later");
  }
  ForeignCallThread call_thread("doctor", 1, written_off);
  const auto task = std::make_shared<Switching>(std::move(library));
  bool has_returned = false;
  {
    Wakeup never;
    const Instant deadline = clock.Now() + patience;
    const std::jthread watchdog([&](const std::stop_token& stop) {
      if (never.SleepUntil(clock, deadline, stop)) {
        call_thread.GiveUp();
      }
    });
    has_returned = call_thread.Run(task);
  }
  if (!has_returned) {
    const int place = task->GiveUp();
    return absl::DeadlineExceededError(absl::StrFormat(
        "%s has not returned for %d s from a call about %s. See the kernel's log "
        "(dmesg) for NVRM",
        name, patience.count(), place >= 0 ? absl::StrFormat("GPU %d", place) : "the whole node"));
  }
  if (task->code != abi::NVML_SUCCESS) {
    return NvmlStatus(task->api(), task->code, absl::StrFormat("%s: %s fails", name, task->failed));
  }
  return task->switched;
}

StatusOr<AccountingSwitched> SwitchAccountingOn(LibraryLoader& loader, const std::string& path,
                                                Clock& clock, const ThreadTally& written_off) {
  PODGPU_ASSIGN_OR_RETURN(abi::NvmlLibrary library, abi::LoadNvml(loader, path));
  return SwitchAccountingOn(std::move(library), clock, written_off, kSwitchPatience);
}

}  // namespace podgpu
