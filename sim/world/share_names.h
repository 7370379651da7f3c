// The resources of device plugins of which the kubelet's ids do not name the true GPU.
//
// The compiler of scenarios gives such devices; the API server's face adds the annotations in which
// the schedulers of Volcano and gpushare name the GPU.  Constants; any thread, also inside other
// programs.
#pragma once

#include <string_view>

namespace podgpu::sim {

inline constexpr std::string_view kVolcanoResource = "volcano.sh/vgpu-number";
inline constexpr std::string_view kGpushareResource = "aliyun.com/gpu-mem";

}  // namespace podgpu::sim
