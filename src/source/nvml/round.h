// One reading of many devices, in turn: a task (task.h) that is kept from reading to reading.
// Whoever gives it up takes another one, since the thread that hangs still uses it.
#pragma once

#include <memory>
#include <vector>

#include "source/nvml/device.h"
#include "source/nvml/task.h"

namespace podgpu {

class NvmlRound final : public NvmlTask {
 public:
  void Run() override;

  // What is to be done; set while the task does not run.
  std::vector<std::shared_ptr<NvmlDevice>> devices;
  std::shared_ptr<const NvmlPlan> plan;
  NvmlDevice::Round round;
  size_t first = 0;  // The device to begin with.

  // By device: what its reading said.
  std::vector<abi::nvmlReturn_t> codes;
};

}  // namespace podgpu
