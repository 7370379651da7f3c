// NVML as rows of the fault matrix, with the fake library of the source's own tests.
//
// The symbols are those of abi/nvml_table.h.  The numbers of the fake depend on its clock, so a
// page shows which reading it comes from.
#pragma once

#include "tests/matrix/vendor.h"

namespace podgpu {

Vendor NvmlVendor();

}  // namespace podgpu
