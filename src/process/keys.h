// What names a process, a device and a pod in this room.
//
// A pid alone names nothing: it is used again.  With the start time of its process it is unique
// until the machine boots anew.  Devices and pods go by numbers that whoever feeds the room gives
// out for good (one number per UUID, whatever becomes of the device), so that an account survives a
// new topology.  Plain data.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace podgpu {

struct ProcessKey {
  uint32_t pid = 0;
  // Field 22 of /proc/PID/stat.  0 where nobody could read it; of one that accounting alone tells,
  // microseconds since 1970, which no such field reaches.
  uint64_t start_ticks = 0;
  auto operator<=>(const ProcessKey&) const = default;
};

struct DeviceNumber {
  uint32_t value = 0;
  auto operator<=>(const DeviceNumber&) const = default;
};

struct PodNumber {
  uint32_t value = 0;  // 0: no pod, or none that is known.
  auto operator<=>(const PodNumber&) const = default;
};
inline constexpr PodNumber kNoPod{};

// A process on one of its devices: what a series of the process view is about.
struct ProcessOnDevice {
  ProcessKey process;
  DeviceNumber device;
  auto operator<=>(const ProcessOnDevice&) const = default;
};

// A pod on one device.
struct PodOnDevice {
  PodNumber pod;
  DeviceNumber device;
  auto operator<=>(const PodOnDevice&) const = default;
};

}  // namespace podgpu
