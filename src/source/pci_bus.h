// The NVIDIA GPUs that the PCI bus of this machine shows, whether or not a driver knows them.
//
// A GPU that fell off its driver before the start, or a node whose driver has not come yet, would
// otherwise look like a smaller node: the bus says how many GPUs there ought to be.  Read from
// sysfs (bus/pci/devices: vendor, class and the link `driver`, Documentation/ABI/testing of the
// kernel).  GPUs that another driver holds (vfio-pci: handed to a virtual machine) are not meant.
// A remote engine may be on another machine, so the count holds only where the two know a common
// GPU.  Pure but for reading files; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "topology/topology.h"

namespace podgpu {

// Addresses of the GPUs below `sysfs` (its root is /sys), as the kernel writes them
// ("0000:1b:00.0"), sorted.  Empty where the bus cannot be read.
std::vector<std::string> ListPciGpus(const Files& sysfs);

// Whether the kernel may suspend the device at `address` when nobody uses it, and whether it has
// (power/control, power/runtime_status): a call about it would wake it.
bool MaySleep(const Files& sysfs, const std::string& address);
bool IsAsleep(const Files& sysfs, const std::string& address);

// The address in the kernel's spelling: DCGM writes eight digits of domain, and capitals.
std::string KernelPciAddress(std::string_view vendor_address);

// How many GPUs `on_bus` promises for `topology`: none if the two share no GPU, all if the driver
// lists none.
size_t CountPromised(const std::vector<std::string>& on_bus, const Topology& topology);

}  // namespace podgpu
