// One GPU of the topology that is watched, and the device that stands there now.  Made by Watch,
// tied anew to the devices by each look; belongs to the source thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sample/value.h"
#include "source/nvml/device.h"

namespace podgpu {

struct NvmlSlot {
  std::string uuid;
  std::shared_ptr<NvmlDevice> device;            // Null: lost, or hung.
  Absence absence = Absence::kDeviceLost;        // Of all its values, where it was not read.
  bool is_read = false;                          // By this reading.
  bool tells_clocks = false;                     // Why they are held back, by the last sample.
  std::vector<uint32_t> gpu_instance_ids;        // Of its instances in the topology.
  std::vector<std::optional<size_t>> instances;  // Where the device has each.
};

}  // namespace podgpu
