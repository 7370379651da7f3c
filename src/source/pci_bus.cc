#include "source/pci_bus.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/counted.h"

namespace podgpu {
namespace {

constexpr std::string_view kDevices = "/bus/pci/devices";
constexpr std::string_view kNvidiaVendor = "0x10de";
// Display controllers of the two kinds that GPUs are: VGA compatible, and 3D.
constexpr std::string_view kGpuClasses[] = {"0x0300", "0x0302"};
constexpr std::string_view kSwitchClass = "0x0680";  // A bridge: NVIDIA's are NVSwitches.
constexpr std::string_view kNvidiaDriver = "nvidia";
constexpr size_t kDomainDigits = 4;

bool IsGpuClass(std::string_view text) {
  return std::ranges::any_of(kGpuClasses,
                             [&](std::string_view gpu) { return text.starts_with(gpu); });
}

// Returns the name of the driver that has the device; empty when none has.
std::string DriverOf(const Files& sysfs, const std::string& device) {
  const StatusOr<std::string> driver = sysfs.ReadLink(device + "/driver");
  return driver.ok() ? driver->substr(driver->rfind('/') + 1) : "";
}

// Returns whether the NVIDIA driver has the device, or no driver has it.
bool IsForNvidia(const Files& sysfs, const std::string& device) {
  const std::string driver = DriverOf(sysfs, device);
  return driver.empty() || driver == kNvidiaDriver;
}

bool HasDeviceFiles(const Files& dev) {
  const StatusOr<std::vector<std::string>> names = dev.List("");
  return names.ok() && std::ranges::any_of(*names, [](const std::string& name) {
           return name.starts_with(kNvidiaDriver);
         });
}

}  // namespace

std::vector<std::string> ListPciGpus(const Files& sysfs) {
  std::vector<std::string> gpus;
  const StatusOr<std::vector<std::string>> names = sysfs.List(kDevices);
  if (!names.ok()) {
    return gpus;
  }
  for (const std::string& name : *names) {
    const std::string device = absl::StrFormat("%s/%s", kDevices, name);
    const StatusOr<std::string> vendor = sysfs.Read(device + "/vendor");
    if (!vendor.ok() || !std::string_view(*vendor).starts_with(kNvidiaVendor)) {
      continue;
    }
    const StatusOr<std::string> kind = sysfs.Read(device + "/class");
    if (kind.ok() && IsGpuClass(*kind) && IsForNvidia(sysfs, device)) {
      gpus.push_back(name);
    }
  }
  return gpus;
}

PciSurvey SurveyPci(const Files& sysfs) {
  PciSurvey survey;
  const StatusOr<std::vector<std::string>> names = sysfs.List(kDevices);
  if (!names.ok()) {
    return survey;
  }
  survey.has_bus = true;
  survey.functions = names->size();
  for (const std::string& name : *names) {
    const std::string device = absl::StrFormat("%s/%s", kDevices, name);
    const std::string vendor = sysfs.Read(device + "/vendor").value_or("");
    if (!vendor.starts_with(kNvidiaVendor)) {
      continue;
    }
    const std::string kind = sysfs.Read(device + "/class").value_or("");
    survey.switches += kind.starts_with(kSwitchClass) ? 1U : 0U;
    if (IsGpuClass(kind) && !IsForNvidia(sysfs, device)) {
      survey.other_driver = survey.other_gpus == 0 ? DriverOf(sysfs, device) : survey.other_driver;
      ++survey.other_gpus;
    }
  }
  return survey;
}

NoDriver ExplainNoDriver(const Files& sysfs, const Files& dev) {
  const PciSurvey survey = SurveyPci(sysfs);
  const size_t gpus = ListPciGpus(sysfs).size();
  NoDriver told;
  told.has_no_gpu =
      survey.has_bus && gpus + survey.other_gpus == 0 && !sysfs.List("/module/nvidia").ok();
  if (gpus > 0 && !HasDeviceFiles(dev)) {
    told.remedy = absl::StrFormat(
        "the PCI bus has %s, and /dev has no file of them: load the "
        "driver (modprobe nvidia), or %s",
        Counted(gpus, "NVIDIA GPU"), kGiveDevices);
  } else if (gpus == 0 && survey.other_gpus > 0) {
    told.remedy = absl::StrFormat(
        "the driver %s has %s of the PCI bus: give them back to the "
        "driver nvidia, or do not run podgpu here",
        survey.other_driver, Counted(survey.other_gpus, "NVIDIA GPU"));
  }
  return told;
}

bool MaySleep(const Files& sysfs, const std::string& address) {
  return sysfs.Read(absl::StrFormat("%s/%s/power/control", kDevices, address))
      .value_or("")
      .starts_with("auto");
}

bool IsAsleep(const Files& sysfs, const std::string& address) {
  return sysfs.Read(absl::StrFormat("%s/%s/power/runtime_status", kDevices, address))
      .value_or("")
      .starts_with("suspended");
}

std::string KernelPciAddress(std::string_view vendor_address) {
  while (vendor_address.find(':') > kDomainDigits && vendor_address.starts_with('0')) {
    vendor_address.remove_prefix(1);
  }
  std::string address(vendor_address);
  std::ranges::transform(address, address.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return address;
}

size_t CountPromised(const std::vector<std::string>& on_bus, const Topology& topology) {
  const auto is_on_bus = [&](const Gpu& gpu) {
    return std::ranges::binary_search(on_bus, KernelPciAddress(gpu.pci_bus_id));
  };
  const bool same_machine = topology.gpus.empty() || std::ranges::any_of(topology.gpus, is_on_bus);
  return same_machine ? on_bus.size() : 0;
}

}  // namespace podgpu
