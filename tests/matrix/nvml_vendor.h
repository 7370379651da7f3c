// NVML as a set of rows of the fault matrix, over the fake library of the source's own tests.
//
// The symbols are those of abi/nvml_table.h.  Every number of the fake follows the clock, so that a
// page shows which reading it comes from.
#pragma once

#include "tests/matrix/vendor.h"

namespace podgpu {

Vendor NvmlVendor();

}  // namespace podgpu
