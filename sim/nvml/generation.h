// Which driver's libnvidia-ml this build of the face is: R570's, or R470's.
//
// The build compiles the face twice, with PODGPU_NVML_DRIVER 570 and 470; the older exports fewer
// names (later_names.txt).  What differs besides stands here.  Constants; any thread.
#pragma once

#include <cstdint>

#ifndef PODGPU_NVML_DRIVER
#error "the build says of which driver the face is: PODGPU_NVML_DRIVER 570 or 470"
#endif

namespace podgpu::sim {

inline constexpr int kNvmlDriver = PODGPU_NVML_DRIVER;
static_assert(kNvmlDriver == 470 || kNvmlDriver == 570);

// Field values from this id on are not known yet.
inline constexpr uint32_t kFieldValuesEnd = kNvmlDriver == 470 ? 161 : UINT32_MAX;

}  // namespace podgpu::sim
