// The names of the five device states: ok, degraded, unresponsive, lost, recovering.
//
// podgpu_gpu_state{state}, the status page and the log all use these names. Pure; any thread.
#pragma once

#include <string_view>

#include "topology/topology.h"

namespace podgpu {

inline constexpr int kDeviceStateCount = 5;

std::string_view DeviceStateName(DeviceState state);

}  // namespace podgpu
