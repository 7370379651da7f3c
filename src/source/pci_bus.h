// The NVIDIA GPUs on the PCI bus of this machine, with or without a driver.
//
// Without the bus, a node whose driver has not loaded yet, or whose driver lost a GPU before podgpu
// started, would look like a smaller node: the bus says how many GPUs to expect.  Read from sysfs
// (bus/pci/devices: vendor, class and the link `driver`; see Documentation/ABI/testing of the
// kernel).  GPUs that another driver holds (vfio-pci, for a virtual machine) do not count.  A
// remote engine may be on another machine, so the count is used only when bus and topology share a
// GPU. Functions without state that read files; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "topology/topology.h"

namespace podgpu {

// Returns the addresses of the GPUs below `sysfs` (its root is /sys) as the kernel writes them
// ("0000:1b:00.0"), sorted; empty when the bus cannot be read.
std::vector<std::string> ListPciGpus(const Files& sysfs);

// The devices on the bus besides the GPUs of ListPciGpus.
struct PciSurvey {
  bool has_bus = false;           // The bus can be read.
  size_t functions = 0;           // Number of functions of all vendors.
  size_t switches = 0;            // NVSwitches.
  size_t other_gpus = 0;          // NVIDIA GPUs that another driver holds, such as vfio-pci.
  std::string other_driver = {};  // The driver of the first of these GPUs.
};
PciSurvey SurveyPci(const Files& sysfs);

// The remedy when a container lacks the device files of its node's GPUs.
inline constexpr std::string_view kGiveDevices =
    "run the container with the NVIDIA runtime (runtimeClassName: nvidia); where the runtime gives "
    "unprivileged containers no GPU, as on Bottlerocket, with the capability SYS_ADMIN or as "
    "privileged";

// The facts that the machine tells about a driver that cannot be used.
struct NoDriver {
  bool has_no_gpu = false;  // The PCI bus has no NVIDIA GPU, and the driver is not loaded.
  std::string remedy;       // Empty if nothing is known.
  // The operator has named the library, so why it cannot be used is told even if none is needed.
  bool library_is_named = false;
};
// `dev` is the folder of device files.
NoDriver ExplainNoDriver(const Files& sysfs, const Files& dev);

// Return whether the kernel may suspend the device at `address` while it is unused, and whether it
// is suspended now (power/control, power/runtime_status).  A driver call about a suspended device
// would wake it.
bool MaySleep(const Files& sysfs, const std::string& address);
bool IsAsleep(const Files& sysfs, const std::string& address);

// Returns the address in the kernel's spelling.  DCGM and NVML write eight digits of domain, and
// capitals.
std::string KernelPciAddress(std::string_view vendor_address);

// Returns how many GPUs to expect in `topology`: 0 when it shares no GPU with the bus, all of
// `on_bus` when it shares one or has no GPU at all.
size_t CountPromised(const std::vector<std::string>& on_bus, const Topology& topology);

}  // namespace podgpu
