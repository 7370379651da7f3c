// The devices of the fake engine's node (fake_dcgm_table.h): GPUs, instances, switches.
//
// Plain data, set by tests and reported by the fake like the vendor's library.  Test support.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "abi/dcgm_devices.h"

namespace podgpu {

// A GPU of the fake engine.
struct FakeGpu {
  uint32_t gpu_id = 0;
  std::string uuid;
  std::string pci_bus_id;
  std::string model;
  std::string serial;
  std::string vbios_version;
  bool mig_enabled = false;
  abi::DcgmEntityStatus_t status = abi::DcgmEntityStatusOk;
};

// A MIG GPU instance with its compute instances.
struct FakeGpuInstance {
  uint32_t entity_id = 0;
  uint32_t gpu_id = 0;
  uint32_t gpu_instance_id = 0;
  std::string profile;
  // DCGM's entity id and NVML's id of each.
  std::vector<std::pair<uint32_t, uint32_t>> compute_instances;
};

// A switch, with the ports whose links are up.
struct FakeSwitch {
  uint32_t id = 0;
  std::vector<uint32_t> links_up;
};

}  // namespace podgpu
