// Finds the GPUs and MIG instances that an engine has or once had.
//
// Builds a Topology from the engine's lists.  Reading the identity of a GPU costs the driver about
// 26 queries, so the identity is kept while the engine, the device's state and its instances stay
// the same.  A GPU that was seen once stays in the topology as lost, with its last identity, until
// it returns, even when a restarted engine no longer lists it.  A GPU is identified by its UUID,
// which an engine also reports for a detached GPU; GPU numbers are valid for one engine only.  Used
// on the source thread only.
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
  DcgmDiscovery(const abi::DcgmLibrary& library, bool is_embedded);

  // Returns the topology without the facts that only NVML has.  Returns kUnavailable when the
  // connection is gone.
  StatusOr<Topology> Discover(abi::dcgmHandle_t handle);

  // Must be called when the engine may be a different one: ids of the old engine are invalid.
  void ForgetEngine();

 private:
  struct Known {
    Gpu gpu;
    std::string driver_version;
  };

  Status ReadGpus(abi::dcgmHandle_t handle, Topology& topology);
  StatusOr<Gpu> ReadGpu(abi::dcgmHandle_t handle, uint32_t gpu_id, bool& is_paused);
  Status ReadIdentity(abi::dcgmHandle_t handle, uint32_t gpu_id, bool is_lost, Known& known) const;
  Status ReadInstances(abi::dcgmHandle_t handle, Topology& topology);
  Status ReadMissingProfiles(abi::dcgmHandle_t handle, Topology& topology);
  Status ReadProfiles(abi::dcgmHandle_t handle, Topology& topology) const;
  // Marks the instances if the engine confuses some with those of another GPU.
  void MarkMisread(Topology& topology) const;

  const abi::DcgmLibrary& library_;
  const bool is_embedded_;
  std::map<uint32_t, Known> by_id_;  // The known GPUs by this engine's GPU id.
  SeenGpus seen_;
  std::unique_ptr<abi::dcgmMigHierarchy_v2> reply_;  // 73 KB, allocated once.
  std::vector<MigNode> nodes_;                       // The layout that `instances_` was made for.
  std::vector<uint32_t> profile_ids_;                // NVML's ids, by node; part of the layout.
  std::vector<GpuInstance> instances_;
};

}  // namespace podgpu
