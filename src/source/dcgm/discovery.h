// Which GPUs and MIG instances an engine has, and which it once had.
//
// Builds a Topology from the engine's lists.  Identity is read live, which costs the driver some 26
// queries a GPU, so it is kept while the engine, the device's state and its instances stay the
// same. A GPU that was seen once stays in the topology as lost, with its last identity, until it
// returns: also when a restarted engine no longer lists it.  A GPU is known by its UUID, which an
// engine tells of a detached one as well; numbers are those of one engine alone.  Source thread
// only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/status.h"
#include "source/seen_gpus.h"
#include "topology/mig.h"
#include "topology/topology.h"

namespace podgpu {

class DcgmDiscovery {
 public:
  // Borrows `library`, which outlives this.
  explicit DcgmDiscovery(const abi::DcgmLibrary& library);

  // Without `nvml` facts.  kUnavailable when the connection is gone.
  StatusOr<Topology> Discover(abi::dcgmHandle_t handle);

  // To be called when the engine may be another one: its ids mean nothing any more.
  void ForgetEngine();

 private:
  struct Known {
    Gpu gpu;
    std::string driver_version;
  };

  Status ReadGpus(abi::dcgmHandle_t handle, Topology& topology);
  StatusOr<Gpu> ReadGpu(abi::dcgmHandle_t handle, uint32_t gpu_id);
  Status ReadIdentity(abi::dcgmHandle_t handle, uint32_t gpu_id, bool is_lost, Known& known) const;
  Status ReadInstances(abi::dcgmHandle_t handle, Topology& topology);
  Status ReadMissingProfiles(abi::dcgmHandle_t handle, Topology& topology);
  Status ReadProfiles(abi::dcgmHandle_t handle, Topology& topology) const;
  // Says why an engine lists no GPU; in the log once.
  void NoteDriver(bool is_absent, Topology& topology);
  // Marks the instances that the engine takes for another GPU's, and says so.
  void MarkMisread(Topology& topology);

  const abi::DcgmLibrary& library_;
  std::map<uint32_t, Known> by_id_;  // Of this engine.
  SeenGpus seen_;
  std::unique_ptr<abi::dcgmMigHierarchy_v2> reply_;  // 73 KB, allocated once.
  std::vector<MigNode> nodes_;                       // The layout that `instances_` stand for.
  std::vector<uint32_t> profile_ids_;                // NVML's, per node: part of the layout.
  std::vector<GpuInstance> instances_;
  bool lacks_driver_ = false;  // As of the last look at an engine without a GPU.
  std::string misread_;        // What MarkMisread has said in the log; empty: nothing.
};

}  // namespace podgpu
