#include "source/pci_bus.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

constexpr std::string_view kDevices = "/bus/pci/devices";
constexpr std::string_view kNvidiaVendor = "0x10de";
// Display controllers of the two kinds that GPUs are: VGA compatible, and 3D.
constexpr std::string_view kGpuClasses[] = {"0x0300", "0x0302"};
constexpr std::string_view kNvidiaDriver = "nvidia";
constexpr size_t kDomainDigits = 4;

bool IsGpuClass(std::string_view text) {
  return std::ranges::any_of(kGpuClasses,
                             [&](std::string_view gpu) { return text.starts_with(gpu); });
}

// Whether the NVIDIA driver has the device, or none has.
bool IsForNvidia(const Files& sysfs, const std::string& device) {
  const StatusOr<std::string> driver = sysfs.ReadLink(device + "/driver");
  if (!driver.ok()) {
    return true;
  }
  const std::string_view path = *driver;
  return path.substr(path.rfind('/') + 1) == kNvidiaDriver;
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
