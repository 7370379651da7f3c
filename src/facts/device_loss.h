// What a GPU loses while it works: speed that the driver takes from it, or memory that waits for a
// repair.  Such a GPU is `degraded`.
//
// Only what an operator can act on counts.  The software power cap does not, since a busy GPU
// reaches its power limit in normal use; nor do the idle state, a chosen clock, sync boost and the
// display.  Plain data and pure functions.  Source of facts: NVML's clocks event reasons, DCGM
// field 112, and its fields 395 and 396 for row remapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sample/grid.h"

namespace podgpu {

// The least severe first.
enum class DeviceLoss : uint8_t {
  kNone,
  kSoftwareThermal,
  kHardwareSlowdown,
  kHardwareThermal,
  kPowerBrake,
  kRemapPending,
  kRemapFailed,
};

// Returns the most severe loss that the values of GPU `index` show; kNone where the fields are not
// read or have no value.
DeviceLoss LossIn(const Grid& grid, size_t index);

// Returns whether the loss is a loss of speed, which may end and begin again within seconds.
constexpr bool IsThrottling(DeviceLoss loss) {
  return loss >= DeviceLoss::kSoftwareThermal && loss <= DeviceLoss::kPowerBrake;
}

// Half sentences; empty for kNone.
std::string_view CauseOf(DeviceLoss loss);
std::string_view RemedyOf(DeviceLoss loss);

}  // namespace podgpu
