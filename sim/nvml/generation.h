// Which driver series this build of the simulated libnvidia-ml belongs to: R570 or R470.
//
// The build compiles the face twice, with PODGPU_NVML_DRIVER 570 and 470.  The older one exports
// fewer names (later_names.txt); all other differences are in this file.  Constants; any thread.
#pragma once

#include <cstdint>

#ifndef PODGPU_NVML_DRIVER
#error "define PODGPU_NVML_DRIVER as 570 or 470"
#endif

namespace podgpu::sim {

inline constexpr int kNvmlDriver = PODGPU_NVML_DRIVER;
static_assert(kNvmlDriver == 470 || kNvmlDriver == 570);

// Field values from this id on are unknown to this driver.
inline constexpr uint32_t kFieldValuesEnd = kNvmlDriver == 470 ? 161 : UINT32_MAX;

}  // namespace podgpu::sim
