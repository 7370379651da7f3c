// What the simulated NVML remembers inside a program that loaded it: who initialised it how often,
// the node it looks at, and the handles it gave out.
//
// The faces answer from the world at the present time and keep nothing else.  A handle names a GPU,
// or a MIG device by its UUID: after a new MIG layout the old handle finds nothing and is invalid,
// as with the driver.  Handles stay allocated for ever, so that a stale one is refused and never
// read as something else.  One session per process; any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "abi/nvml.h"
#include "sim/run_directory.h"
#include "sim/world.h"

namespace podgpu::abi {

// What an nvmlDevice_t points to.
struct nvmlDevice_st {
  int gpu = 0;
  std::string mig_uuid;  // Empty for the GPU itself.
};

}  // namespace podgpu::abi

namespace podgpu::sim {

// A handle, looked up: where it points at the time of the call, or why nowhere.
struct NvmlTarget {
  abi::nvmlReturn_t result = abi::NVML_SUCCESS;  // The rest holds only with NVML_SUCCESS.
  const World* world = nullptr;
  TimeUs now = 0;
  DeviceRef device;
  int mig_index = -1;  // Position among the GPU's MIG devices, -1 for a GPU.

  bool is_mig() const { return mig_index >= 0; }
  const GpuFacts& gpu() const { return world->gpu(device.gpu); }
  GpuInstanceFacts instance() const { return world->instance(device.gpu, device.instance, now); }
  ComputeInstanceFacts compute() const {
    return world->compute(device.gpu, device.instance, device.compute, now);
  }
};

class NvmlSession {
 public:
  // The session of this process; never destroyed, since calls may come while the program ends.
  static NvmlSession& Get();

  // Counts one more user.  Without a run directory, and while the driver reloads, it is not loaded.
  abi::nvmlReturn_t Init(uint32_t flags);
  abi::nvmlReturn_t Shutdown();

  // The node, for questions about no device in particular.
  NvmlTarget System();
  // What `handle` points to.
  NvmlTarget Find(abi::nvmlDevice_t handle);
  // The device of `gpu`, or its MIG device with this index: NVML_ERROR_NOT_FOUND when it has none.
  NvmlTarget FindMig(const NvmlTarget& gpu, int mig_index) const;
  // The GPU or MIG device with this UUID, NVML_ERROR_NOT_FOUND when there is none.
  NvmlTarget FindUuid(std::string_view uuid);

  // The handle of `target`, the same one each time.
  abi::nvmlDevice_t Handle(const NvmlTarget& target);

 private:
  std::mutex mutex_;  // Guards all below: the loading program calls from any thread.
  int users_ = 0;
  std::unique_ptr<RunDirectory> directory_;  // Kept over shutdowns; worlds stay readable.
  std::deque<abi::nvmlDevice_st> handles_;
};

}  // namespace podgpu::sim
