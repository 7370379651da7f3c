// Sizes of MIG instances by profile name: "3g.40gb" has three compute slices.
//
// A whole board has seven slices; A30 and the RTX PRO boards with MIG have four (NVIDIA's MIG user
// guide, r580). Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace podgpu {

// Returns 1 when the name does not tell.
uint32_t ComputeSlicesOf(std::string_view profile);

// Returns the slices of a whole board of this model.
uint32_t ComputeSlicesOfBoard(std::string_view model);

}  // namespace podgpu
