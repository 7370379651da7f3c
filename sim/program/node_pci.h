// The PCI bus of a simulated node, as the kernel shows it under /sys.
//
// The bus lists a GPU also when its driver has lost it or never found it; from that a program can
// tell how many GPUs a node should have.  The tree has what a reader of bus/pci/devices needs: a
// link per device; vendor, class and device in the kernel's form; and a link to the driver.  Other
// devices are listed too, one of them NVIDIA's, so a reader must check the class.  Written once, at
// the start of a node: the bus does not change while a node runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "sim/world/world.h"

namespace podgpu::sim {

struct PciDevice {
  std::string address;      // "0000:1b:00.0", as the kernel names it.
  uint32_t vendor = 0;      // 0x10de is NVIDIA.
  uint32_t class_code = 0;  // 0x030200 is a 3D controller, 0x030000 one that drives a display.
  uint32_t device = 0;
  std::string driver;  // The bound driver; empty: none.
};

// Every device on the bus of `world`'s node, sorted by address.
std::vector<PciDevice> PciDevices(const World& world);

// Writes `devices` as sys/bus/pci/devices below `directory`; replaces an earlier node's files.
Status WritePciTree(const std::vector<PciDevice>& devices, const std::string& directory);

}  // namespace podgpu::sim
