// Keys of a process, a device and a pod in this room.
//
// A pid alone is not unique, because the kernel uses pids again; pid and start time are unique
// until the machine reboots. Devices and pods have numbers that the caller assigns permanently (one
// number per UUID, even if the device disappears), so an account survives a new topology. Plain
// data.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace podgpu {

struct ProcessKey {
  uint32_t pid = 0;
  // Field 22 of /proc/PID/stat; 0 when it could not be read. For a process known from accounting
  // alone: microseconds since 1970, a value that the field never reaches.
  uint64_t start_ticks = 0;
  auto operator<=>(const ProcessKey&) const = default;
};

struct DeviceNumber {
  uint32_t value = 0;
  auto operator<=>(const DeviceNumber&) const = default;
};

struct PodNumber {
  uint32_t value = 0;  // 0: no known pod.
  auto operator<=>(const PodNumber&) const = default;
};
inline constexpr PodNumber kNoPod{};

// A process on one of its devices: the subject of one series of the process view.
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
