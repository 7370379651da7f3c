// What the simulated NVML remembers inside a program that loaded it: how often it was initialised,
// the node that it reads, and the handles that it returned.
//
// The faces answer from the world at the present time and keep no other state.  A handle names a
// GPU, or a MIG device by its UUID: after a new MIG layout or a driver reload the old handle is
// invalid, as with the real driver.  Handles are never freed, so a stale one is refused and never
// read as something else.  GPUs keep the indices that they had when the library was initialised; a
// GPU that was absent then has none.  One session per process; any thread.
#pragma once

#include <chrono>
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

// The target of an nvmlDevice_t.
struct nvmlDevice_st {
  int gpu = 0;           // The world's index.
  std::string mig_uuid;  // Empty for the GPU itself.
  int64_t driver_since_us = 0;
};

}  // namespace podgpu::abi

namespace podgpu::sim {

// A handle after look-up: its device at the time of the call, or the code to return.
struct NvmlTarget {
  abi::nvmlReturn_t result = abi::NVML_SUCCESS;  // The rest holds only with NVML_SUCCESS.
  const World* world = nullptr;
  TimeUs now = 0;
  DeviceRef device;    // With the world's index.
  unsigned index = 0;  // NVML's index of the GPU.
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

  // Counts one more user.  Fails with "not loaded" without a run directory and during a driver
  // reload.
  abi::nvmlReturn_t Init(uint32_t flags);
  abi::nvmlReturn_t Shutdown();

  // The node, for questions about no device in particular.
  NvmlTarget System();
  // The number of GPUs that have an index, and the GPU with `index`: NVML_ERROR_INVALID_ARGUMENT
  // when there is none.
  unsigned GpuCount();
  NvmlTarget ByIndex(unsigned index);
  // Microseconds since 1970 at world time t, by the machine's clock as it is now.
  int64_t StampUs(TimeUs t);
  TimeUs FromStampUs(int64_t stamp_us);
  // RunDirectory's changes() and Sleep, for calls that wait in the driver.
  uint64_t Changes();
  std::chrono::microseconds Sleep(TimeUs until, uint64_t seen, std::chrono::microseconds limit);
  // The path of the run directory; it identifies the node.
  std::string NodePath();
  // What `handle` points to.
  NvmlTarget Find(abi::nvmlDevice_t handle);
  // The device of `gpu`, or its MIG device with this index: NVML_ERROR_NOT_FOUND when it has none.
  NvmlTarget FindMig(const NvmlTarget& gpu, int mig_index) const;
  // The GPU or MIG device with this UUID, NVML_ERROR_NOT_FOUND when there is none.
  NvmlTarget FindUuid(std::string_view uuid);

  // The handle of `target`; the same handle each time.
  abi::nvmlDevice_t Handle(const NvmlTarget& target);

 private:
  std::mutex mutex_;  // Guards all below: the loading program calls from any thread.
  int users_ = 0;
  std::shared_ptr<RunDirectory> directory_;  // Kept over shutdowns; worlds stay readable.
  std::vector<int> gpus_;                    // The world's index by NVML index.
  std::deque<abi::nvmlDevice_st> handles_;
};

}  // namespace podgpu::sim
