#include "topology/device_state.h"

#include <array>

namespace podgpu {

std::string_view DeviceStateName(DeviceState state) {
  constexpr std::array<std::string_view, kDeviceStateCount> kNames = {
      "ok", "degraded", "unresponsive", "lost", "recovering"};
  return kNames[static_cast<size_t>(state)];
}

}  // namespace podgpu
