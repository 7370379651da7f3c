// The names of the vendors' calls, for checking the `calls` of a fault.
//
// The build makes the lists from the exports of the simulated libraries (sim/nvml/names.txt,
// sim/dcgm/names.txt), without the calls of libdcgm that only look something up in the
// library's own tables and so cannot fail, hang or be slow.  Constants; any thread.
#pragma once

#include <span>
#include <string_view>

namespace podgpu::sim {

std::span<const std::string_view> DcgmCalls();
std::span<const std::string_view> NvmlCalls();

}  // namespace podgpu::sim
