// The columns of the fault matrix for DCGM's calls: all codes, garbage, blanks, hangs.
//
// Codes are every number from -1 down to the lowest that DCGM knows, the two that it never gives,
// and one that is not negative.  Pure.
#pragma once

#include <string>
#include <vector>

#include "tests/matrix/fault_column.h"

namespace podgpu {

// Those that make sense for what `symbol` returns and writes.
std::vector<FaultColumn> DcgmColumns(const std::string& symbol);

}  // namespace podgpu
