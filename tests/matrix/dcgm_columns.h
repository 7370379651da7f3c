// The columns of the fault matrix for DCGM's calls: all codes, garbage, blanks, hangs.
//
// The codes are all numbers from -1 down to DCGM's lowest, the two that DCGM never returns, and a
// positive one.  Pure functions.
#pragma once

#include <string>
#include <vector>

#include "tests/matrix/fault_column.h"

namespace podgpu {

// Returns the columns that fit the return type and the output of `symbol`.
std::vector<FaultColumn> DcgmColumns(const std::string& symbol);

}  // namespace podgpu
