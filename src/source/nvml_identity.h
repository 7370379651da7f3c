// What only NVML knows of a device: the UUIDs of MIG devices and the minor numbers of GPUs.
//
// The kubelet names a MIG device by a UUID that DCGM does not tell, so attribution needs NVML
// beside DCGM.  It is never fatal: without it the topology says why (nvml_absence), and every MIG
// UUID is empty.  The library is loaded when it is there, at the latest after a later look; the
// driver is held only during a call of Fill, so that it can be unloaded between.  Source thread
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "abi/load.h"
#include "base/status.h"
#include "topology/topology.h"

namespace podgpu {

class NvmlIdentity {
 public:
  // `load` is called until it succeeds once.
  explicit NvmlIdentity(std::function<StatusOr<abi::NvmlLibrary>()> load)
      : load_(std::move(load)) {}

  // Sets minor numbers, MIG UUIDs and nvml_absence of `topology`.
  void Fill(Topology& topology);

 private:
  // Empty, or why something stays unknown.
  std::string FillAll(Topology& topology);
  std::string FillGpu(Topology& topology, size_t gpu_index);
  std::string FillMigDevices(Topology& topology, size_t gpu_index, abi::nvmlDevice_t gpu) const;
  std::string Words(abi::nvmlReturn_t code) const;

  std::function<StatusOr<abi::NvmlLibrary>()> load_;
  bool is_loaded_ = false;
  abi::NvmlLibrary library_;
  std::map<std::string, uint32_t> minor_numbers_;  // By UUID: a lost GPU keeps its own.
};

}  // namespace podgpu
