#include "source/nvml/sleep.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "source/pci_bus.h"

namespace podgpu {

void NvmlSleep::Note(std::vector<NvmlFound>& devices) const {
  for (NvmlFound& device : devices) {
    device.may_sleep =
        sysfs_ != nullptr && MaySleep(*sysfs_, KernelPciAddress(device.gpu.pci_bus_id));
  }
}

bool NvmlSleep::IsAsleep(const NvmlFound& device) const {
  return device.may_sleep && podgpu::IsAsleep(*sysfs_, KernelPciAddress(device.gpu.pci_bus_id));
}

std::vector<NvmlFound> NvmlSleep::Sleepers(const std::vector<NvmlFound>& devices) const {
  std::vector<NvmlFound> sleepers;
  std::ranges::copy_if(devices, std::back_inserter(sleepers),
                       [this](const NvmlFound& device) { return IsAsleep(device); });
  return sleepers;
}

NvmlStrangers NvmlSleep::Strangers(const std::vector<NvmlFound>& known) const {
  NvmlStrangers strangers;
  if (sysfs_ == nullptr) {
    return strangers;
  }
  const std::vector<std::string> on_bus = ListPciGpus(*sysfs_);
  strangers.on_bus = on_bus.size();
  for (uint32_t index = 0; index < on_bus.size(); ++index) {
    const bool is_known = std::ranges::any_of(known, [&](const NvmlFound& device) {
      return KernelPciAddress(device.gpu.pci_bus_id) == on_bus[index];
    });
    if (!is_known && podgpu::IsAsleep(*sysfs_, on_bus[index])) {
      strangers.asleep.push_back(index);
    }
  }
  return strangers;
}

}  // namespace podgpu
