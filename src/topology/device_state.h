// The words for what a device is: ok, degraded, unresponsive, lost, recovering, and no others.
//
// The same words stand in podgpu_gpu_state{state}, on the status page and in the log, so that a
// reader meets one vocabulary.  Pure; any thread.
#pragma once

#include <string_view>

#include "topology/topology.h"

namespace podgpu {

inline constexpr int kDeviceStateCount = 5;

std::string_view DeviceStateName(DeviceState state);

}  // namespace podgpu
