// Device names of NVIDIA's driver for dynamic resource allocation: "gpu-0" by the minor number,
// "gpu-0-mig-1g10gb-19-4" by minor number, profile, profile id and first slice of the instance.
//
// Kubelet, API server and compiler all use it, so they agree.  Pure functions.  Standard library
// only.
#pragma once

#include <string>
#include <string_view>

namespace podgpu::sim {

inline constexpr std::string_view kDraDriver = "gpu.nvidia.com";

inline std::string DraDeviceName(int minor_number) { return "gpu-" + std::to_string(minor_number); }

inline std::string DraDeviceName(int minor_number, std::string_view profile, int profile_id,
                                 int placement_start) {
  std::string name = DraDeviceName(minor_number) + "-mig-";
  for (const char c : profile) {
    if (c != '.' && c != '+') {
      name += c;
    }
  }
  return name + "-" + std::to_string(profile_id) + "-" + std::to_string(placement_start);
}

}  // namespace podgpu::sim
