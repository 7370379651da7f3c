// What the simulated NVML remembers inside a program that loaded it: who initialised it how often,
// the node it looks at, and the handles it gave out.
//
// The faces answer from the world at the present time and keep nothing else.  A handle names a GPU,
// or a MIG device by its UUID: after a new MIG layout, or a new driver, the old handle finds
// nothing and is invalid, as with the driver.  Handles stay allocated for ever, so that a stale one
// is refused and never read as something else.  GPUs have the numbers that they had when the
// library was initialised: one that was absent then has none.  One session per process; any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "abi/nvml.h"
#include "sim/world/run_directory.h"
#include "sim/world/world.h"

namespace podgpu::abi {

// What an nvmlDevice_t points to.
struct nvmlDevice_st {
  int gpu = 0;           // The world's.
  std::string mig_uuid;  // Empty for the GPU itself.
  int64_t driver_since_us = 0;
};

}  // namespace podgpu::abi

namespace podgpu::sim {

// A handle, looked up: where it points at the time of the call, or why nowhere.
struct NvmlTarget {
  abi::nvmlReturn_t result = abi::NVML_SUCCESS;  // The rest holds only with NVML_SUCCESS.
  const World* world = nullptr;
  TimeUs now = 0;
  DeviceRef device;    // In the world's numbers.
  unsigned index = 0;  // The GPU's number.
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
  // How many GPUs have numbers, and the one with the number `index`: NVML_ERROR_INVALID_ARGUMENT
  // when there is none.
  unsigned GpuCount();
  NvmlTarget ByIndex(unsigned index);
  // Microseconds since 1970 at world time t, by the machine's clock as it is now.
  int64_t StampUs(TimeUs t);
  TimeUs FromStampUs(int64_t stamp_us);
  // The run directory, as a name of the node.
  std::string NodePath();
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
  std::vector<int> gpus_;                    // By number, the world's.
  std::deque<abi::nvmlDevice_st> handles_;
};

}  // namespace podgpu::sim
