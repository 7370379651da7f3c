// The names of the vendors' calls, for checking what a fault is to befall.
//
// The build makes the lists from what the simulated libraries export (sim/nvml/names.txt,
// fake_dcgm_*.map), less those of libdcgm that only look something up in the library's own tables
// and so cannot fail, hang or be slow.  Constants; any thread.
#pragma once

#include <span>
#include <string_view>

namespace podgpu::sim {

std::span<const std::string_view> DcgmCalls();
std::span<const std::string_view> NvmlCalls();

}  // namespace podgpu::sim
