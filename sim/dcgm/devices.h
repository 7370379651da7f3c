// Facts about devices in the simulated libdcgm: attributes, MIG hierarchy, links, paths, profiling.
//
// Each function fills the vendor's struct from the world at the moment of the call and returns the
// vendor's code; the exported functions check version words.  Values for unknown GPUs and MIG GPUs
// are those of DCGM 4.6.0.  Part of the face: standard library only.  Pure functions of the scene;
// any thread that holds it.
#pragma once

#include "abi/dcgm_devices.h"
#include "abi/dcgm_links.h"
#include "sim/dcgm/session.h"

namespace podgpu::sim {

// An unknown GPU has empty texts and blank numbers, except the driver's version.
int FillAttributes(const Scene& scene, uint32_t gpu, abi::dcgmDeviceAttributes_v3& out);
int FillHierarchy(const Scene& scene, abi::dcgmMigHierarchy_v2& out);
int FillTopology(const Scene& scene, uint32_t gpu, abi::dcgmDeviceTopology_v1& out);
int FillTopology(const Scene& scene, uint32_t gpu, abi::dcgmDeviceTopology_v2& out);
int FillP2PStatus(const Scene& scene, abi::dcgmNvLinkP2PStatus_v1& out);
int FillMetricGroups(const Scene& scene, abi::dcgmProfGetMetricGroups_v3& out);

// The state of link `index` of one of the world's GPUs.
abi::dcgmNvLinkLinkState_t LinkState(const Scene& scene, int gpu, size_t index);

// The same for link `index` of a switch.
abi::dcgmNvLinkLinkState_t PortState(const Scene& scene, int nvswitch, size_t index);

// Either layout of CPUs; "module not loaded" when there are none, as on all boards but Grace.
int FillCpus(const Scene& scene, abi::dcgmCpuHierarchy_v1& out);
int FillCpus(const Scene& scene, abi::dcgmCpuHierarchy_v2& out);

// Any of the three layouts of link states.
template <typename Status>
int FillLinkStatus(const Scene& scene, Status& out) {
  const uint32_t version = out.version;
  out = Status{};
  out.version = version;
  const GpuNumbers& gpus = scene.state.start.gpus;
  out.numGpus = static_cast<uint32_t>(gpus.count());
  for (uint32_t id = 0; id < out.numGpus; ++id) {
    auto& links = out.gpus[id];
    links.entityId = id;
    size_t index = 0;
    for (abi::dcgmNvLinkLinkState_t& state : links.linkState) {
      state = LinkState(scene, gpus.WorldGpu(id), index++);
    }
  }
  out.numNvSwitches = static_cast<uint32_t>(scene.world.nvswitch_count());
  for (uint32_t id = 0; id < out.numNvSwitches; ++id) {
    auto& links = out.nvSwitches[id];
    links.entityId = id;
    size_t index = 0;
    for (abi::dcgmNvLinkLinkState_t& state : links.linkState) {
      state = PortState(scene, static_cast<int>(id), index++);
    }
  }
  return abi::DCGM_ST_OK;
}

}  // namespace podgpu::sim
