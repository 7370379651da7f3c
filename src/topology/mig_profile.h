// What the name of a MIG profile says of an instance's size: "3g.40gb" has three compute slices.
//
// Of how many depends on the board: seven, on A30 and the RTX PRO boards with MIG four (NVIDIA's
// MIG user guide, r580).  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace podgpu {

// 1 where the name does not tell.
uint32_t ComputeSlicesOf(std::string_view profile);

// Of a whole board of this model.
uint32_t ComputeSlicesOfBoard(std::string_view model);

}  // namespace podgpu
