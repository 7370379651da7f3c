// DCGM as rows of the fault matrix, with the fake engine of the source's own tests.
//
// The symbols are those of abi/dcgm_table.h.  The values of the fake depend on its clock, so a page
// shows which reading it comes from.
#pragma once

#include "tests/matrix/vendor.h"

namespace podgpu {

Vendor DcgmVendor();

}  // namespace podgpu
